"""Trees as data: what differs between two, and trees made out of others. No file is checked out for any of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from ._git import Git, GitError, as_bytes, as_text, join_nul, split_nul

GITLINK = "160000"
SYMLINK = "120000"

Status = Literal["added", "modified", "deleted", "type_changed"]

_STATUS: dict[bytes, Status] = {b"A": "added", b"M": "modified", b"D": "deleted", b"T": "type_changed"}


class Entry(Struct, frozen=True):
    """What a tree holds at a path."""

    mode: str
    id: str


class FileChange(Struct, frozen=True, kw_only=True):
    """One path at which two trees differ. A mode and an id are None on the side that has nothing there."""

    path: str
    status: Status
    old_mode: str | None
    new_mode: str | None
    old_id: str | None
    new_id: str | None


async def read_changes(git: Git, old: str, new: str) -> list[FileChange]:
    """Every path at which two trees differ, in order; a rename is a deletion and an addition."""
    raw = split_nul(await git.output("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new))
    return [_change(facts, path) for facts, path in zip(raw[::2], raw[1::2], strict=True)]


async def read_entries(git: Git, tree: str) -> dict[str, Entry]:
    """Every file, link and submodule of a tree by its path."""
    entries = {}
    for line in split_nul(await git.output("ls-tree", "-r", "-z", "--full-tree", tree)):
        facts, _, path = line.partition(b"\t")
        mode, _, name = facts.decode().split(" ")
        entries[as_text(path)] = Entry(mode, name)
    return entries


async def read_blobs(git: Git, ids: Iterable[str]) -> dict[str, bytes]:
    """The contents of many blobs by one process."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    printed = await git.output(
        "cat-file", "--batch", "--buffer", stdin="".join(f"{name}\n" for name in wanted).encode()
    )
    blobs, place = {}, 0
    for name in wanted:
        end = printed.index(b"\n", place)
        header = printed[place:end].decode().split(" ")
        if len(header) != 3:
            raise GitError(f"git has no object {name}")
        size = int(header[2])
        blobs[name] = printed[end + 1 : end + 1 + size]
        place = end + 1 + size + 1
    return blobs


async def read_sizes(git: Git, ids: Iterable[str]) -> dict[str, int]:
    """How many bytes each of many objects has; those that are not there are left out."""
    stdin = "".join(f"{name}\n" for name in dict.fromkeys(ids)).encode()
    lines = (
        (await git.output("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=stdin)).decode().split("\n")
    )
    pairs = [line.split(" ") for line in lines if line]
    return {name: int(size) for name, size in pairs if size != "missing"}


async def write_blobs(git: Git, contents: Iterable[bytes]) -> list[str]:
    """Store many blobs by one process, exactly as they are."""
    with TemporaryDirectory(prefix="trueup-blobs-") as scratch:
        files = await asyncio.to_thread(_write_numbered, Path(scratch), contents)
        stdin = "".join(f"{file}\n" for file in files).encode()
        return (await git.text("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin)).split()


@asynccontextmanager
async def scratch_index(tree: str, git_dir: Path) -> AsyncIterator[Git]:
    """Git on an index of its own that holds a tree."""
    with TemporaryDirectory(prefix="trueup-index-") as scratch:
        git = Git(git_dir, index=Path(scratch, "index"))
        await git.output("read-tree", tree)
        yield git


async def put_entries(git: Git, entries: Mapping[str, Entry | None], hash_length: int) -> None:
    """Set paths of an index, or remove them where there is None; a file takes the place of a folder and vice versa."""
    gone = [index_line(Entry("0", "0" * hash_length), path) for path, entry in entries.items() if entry is None]
    there = [index_line(entry, path) for path, entry in entries.items() if entry is not None]
    if gone or there:
        await git.output("update-index", "-z", "--add", "--replace", "--index-info", stdin=join_nul([*gone, *there]))


def _write_numbered(folder: Path, contents: Iterable[bytes]) -> list[Path]:
    files = []
    for number, content in enumerate(contents):
        files.append(folder / str(number))
        files[-1].write_bytes(content)
    return files


def index_line(entry: Entry, path: str) -> bytes:
    """An entry as `update-index --index-info` reads it."""
    return f"{entry.mode} {entry.id}\t".encode() + as_bytes(path)


def _change(facts: bytes, path: bytes) -> FileChange:
    old_mode, new_mode, old_id, new_id, status = facts.removeprefix(b":").split(b" ")
    return FileChange(
        path=as_text(path),
        status=_STATUS[status[:1]],
        old_mode=_known(old_mode),
        new_mode=_known(new_mode),
        old_id=_known(old_id),
        new_id=_known(new_id),
    )


def _known(value: bytes) -> str | None:
    """A mode or id of zeros stands for nothing."""
    return value.decode() if value.strip(b"0") else None
