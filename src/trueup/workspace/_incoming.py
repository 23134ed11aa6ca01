"""Objects from a sandbox: kept apart until they have proven to be what they say they are."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

from ._git import Git, GitError, last_words

# Packs are read into memory.
MOST_BYTES = 2 << 30


async def receive_pack(scratch: Path, git_dir: Path, pack: bytes | Path, tree: str, base: str | None) -> None:
    """Let a pack into a repository if it is sound and completes a tree."""
    content = pack if isinstance(pack, bytes) else await asyncio.to_thread(_read_untrusted, pack)
    with TemporaryDirectory(prefix="incoming-", dir=scratch) as name:
        quarantine = Path(name)
        (quarantine / "pack").mkdir()
        git = Git(git_dir, objects=quarantine, also_objects=[git_dir / "objects"])
        taken = await git.attempt("index-pack", "--strict", "--stdin", "--fix-thin", stdin=content)
        if taken.exit_code != 0:
            raise _distrust(f"its objects are not sound: {last_words(taken)}")
        kind = await git.attempt("cat-file", "-t", tree)
        if kind.stdout.data.strip() != b"tree":
            raise _distrust(f"{tree} is not a tree in it")
        known = [f"^{base}^{{tree}}"] if base else []
        walked = await git.attempt("rev-list", "--objects", "--quiet", tree, *known)
        if walked.exit_code != 0:
            raise _distrust(f"the tree {tree} is not complete: {last_words(walked)}")
        await asyncio.to_thread(_move, quarantine / "pack", git_dir / "objects" / "pack")


def _read_untrusted(path: Path) -> bytes:
    """A file that an agent could have put in place: only a plain one is read, and nothing waits for it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _distrust(f"its pack cannot be opened ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise _distrust("its pack is not a plain file")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise _distrust(f"its pack is larger than {MOST_BYTES >> 30} GiB")
    return content


def _move(source: Path, target: Path) -> None:
    # The index last: a pack is there for git as soon as its index is.
    for file in sorted(source.iterdir(), key=lambda file: file.suffix == ".idx"):
        file.rename(target / file.name)


def _distrust(why: str) -> GitError:
    return GitError(f"the snapshot is not to be trusted, and nothing of it was kept: {why}")
