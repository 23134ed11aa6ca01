"""A repository of trueup's own beside the user's: it borrows their objects, and no agent can write to it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from trueup.core.errors import InputError
from trueup.core.process import Command

from ._base import copy_warm_index, derive_git_dir, write_base
from ._clone import write_clone, write_files, write_submodules
from ._diff import DiffStat, read_diff_stat, read_patch
from ._git import Git, GitError, as_bytes, join_nul, last_words, start
from ._incoming import receive_pack
from ._locks import locked
from ._outgoing import is_whole, write_pack
from ._private_git import user_settings, write_git_dir
from ._repository import Repository
from ._snapshot_script import snapshot_script
from ._trees import (
    Entry,
    FileChange,
    put_entries,
    read_blobs,
    read_changes,
    read_entries,
    read_sizes,
    scratch_index,
    write_blobs,
)


class Mirror:
    """The host's side of every snapshot, layer and merge of one repository.

    Its folder holds `git`, a bare repository; `bases`, a git folder for each base commit with that base's attributes
    and a warm index of its files; `trees`, the same for each work tree of the user's; and `locks`.
    """

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.repository = repository
        self.folder = folder
        self.git_dir = folder / "git"
        self.objects = self.git_dir / "objects"
        self.git = Git(self.git_dir)
        self._settings = user_settings(repository)
        self._below, self._above = repository.attribute_files()

    @classmethod
    async def open(cls, repository: Repository, folder: Path) -> Self:
        """Open the mirror in a folder, and make it if it is not there."""
        mirror = cls(repository, _absolute(folder))
        async with locked(folder / "locks" / "open"):
            await asyncio.to_thread(mirror._write)
        return mirror

    @property
    def settings_key(self) -> str:
        """Changes with whatever makes the files of one and the same commit look different on disk."""
        parts = (json.dumps(self._settings, sort_keys=True).encode(), self._below, self._above)
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]

    async def tree_of(self, rev: str) -> str:
        """The id of the tree of a commit, or of a tree itself."""
        found = await self.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{tree}}")
        if found.exit_code != 0:
            raise InputError(f"{rev!r} names no tree of {self.repository.root}")
        return found.stdout.data.decode().strip()

    async def commit(self, tree: str, parent: str, message: str) -> str:
        """A commit of a tree that has the same id whenever it is made."""
        by = "trueup <trueup@localhost> 946684800 +0000"
        lines = (f"tree {tree}", f"parent {parent}", f"author {by}", f"committer {by}", "", message, "")
        body = as_bytes("\n".join(lines))
        return await self.git.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=body)

    async def changes(self, old: str, new: str) -> list[FileChange]:
        """Every path at which two trees differ; a rename is a deletion and an addition."""
        return await read_changes(self.git, old, new)

    async def read(self, blob: str) -> bytes:
        """The content of a blob."""
        return (await self.read_many([blob]))[blob]

    async def read_many(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The contents of many blobs by their ids."""
        return await read_blobs(self.git, blobs)

    async def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """How many bytes each of many blobs has."""
        return await read_sizes(self.git, blobs)

    async def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree by its path."""
        return await read_entries(self.git, tree)

    async def paths(self, tree: str) -> list[str]:
        """Every path of a tree, in order."""
        return list(await self.entries(tree))

    async def blob_ids(self, tree: str, paths: Iterable[str]) -> dict[str, str]:
        """The ids of what a tree holds at some paths; at a folder, of all that is in it."""
        wanted = {path.strip("/") for path in paths}
        entries = (await self.entries(tree)).items()
        return {path: entry.id for path, entry in entries if wanted & {path, *_folders_of(path)}}

    async def restored(self, tree: str, base_tree: str, paths: Iterable[str]) -> str:
        """A tree with these paths as they are in another; what that other does not have is removed."""
        base = await read_entries(self.git, base_tree)
        return await self._with_entries(tree, {path: base.get(path) for path in paths})

    async def with_files(self, tree: str, files: Mapping[str, tuple[str, bytes]]) -> str:
        """A tree with these files put in, each given as its mode and content."""
        blobs = await write_blobs(self.git, [content for _, content in files.values()])
        modes = [mode for mode, _ in files.values()]
        entries = {path: Entry(mode, blob) for path, mode, blob in zip(files, modes, blobs, strict=True)}
        return await self._with_entries(tree, entries)

    async def apply_patch(self, base: str, patch: bytes) -> str:
        """The tree that a patch makes of a base."""
        async with scratch_index(base, self.git_dir) as git:
            applied = await git.attempt("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
            if applied.exit_code != 0:
                raise InputError(
                    f"the patch does not apply to {base[:12]}: {last_words(applied)}\n"
                    f"make it with `git diff --binary {base[:12]}`, or name the base that it was made from"
                )
            return await git.text("write-tree")

    async def checkout(self, commit: str, folder: Path) -> None:
        """Write layer 1 into a folder, once: whoever comes second finds it there, or waits until it is."""
        folder = _absolute(folder)
        async with locked(self.folder / "locks" / commit):
            if await asyncio.to_thread(folder.exists):
                return
            scratch = folder.with_name(f".{folder.name}.new")
            # Whoever left this behind is gone, or would hold the lock.
            await asyncio.to_thread(_make_anew, scratch)
            try:
                await self._write_layer(commit, scratch)
                await asyncio.to_thread(scratch.rename, folder)
            finally:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def snapshot(self, work_tree: Path, base: str) -> str:
        """The tree that the user's work tree is: tracked files and untracked ones, but for those that are ignored."""
        home = await self._base(base)
        work_tree = _absolute(work_tree)
        name = hashlib.sha256(os.fsencode(work_tree)).hexdigest()[:12]
        git_dir = self.folder / "trees" / f"{name}-{base}-{self.settings_key}"
        async with locked(self.folder / "locks" / git_dir.name):
            await asyncio.to_thread(derive_git_dir, home, git_dir, self.repository, self._settings, self.objects)
            if not (git_dir / "index").exists():
                await Git(git_dir).output("read-tree", base)
            return await _take_snapshot(git_dir, work_tree, self.objects)

    async def snapshot_gitdir(self, base: str, folder: Path, objects: Path) -> Path:
        """Make the git folder with which `snapshot_script` looks at an agent's tree, inside of its sandbox.

        `objects` is where the sandbox sees the objects of layer 1.
        """
        home = await self._base(base)
        settings = {**self._settings, "core.checkstat": "minimal", "core.trustctime": "false"}
        await asyncio.to_thread(derive_git_dir, home, folder, self.repository, settings, objects)
        await asyncio.to_thread(copy_warm_index, home, folder)
        return folder

    async def export(self, commit: str, base: str, folder: Path) -> None:
        """Write what must be laid over layer 1 of a base to make it a commit.

        As `export_files`, with `pack`, `index` and `head` for the .git folder.
        """
        folder = _absolute(folder)
        await self.export_files(commit, base, folder)
        (folder / "head").write_text(f"{commit}\n")
        (folder / "pack").mkdir()
        await self.git.output(
            *("pack-objects", "--revs", "--non-empty", "-q", str(folder / "pack" / "pack")),
            stdin=f"{commit}\n^{base}\n".encode(),
        )

    async def export_files(self, tree: str, base: str, folder: Path) -> None:
        """Write what must be laid over the files of a base to make them those of a tree.

        First everything in `deleted` goes, then everything in `files` comes.
        """
        home = await self._base(base)
        folder = _absolute(folder)
        files, index = folder / "files", folder / "index"
        files.mkdir(parents=True)
        await asyncio.to_thread(shutil.copy2, home / "index", index)
        changes = await self.changes(base, tree)
        git = Git(home, work_tree=files, index=index, objects=self.objects)
        await put_entries(git, {change.path: _new_entry(change) for change in changes}, len(tree))
        wanted = [as_bytes(change.path) for change in changes if change.new_mode]
        await git.output("checkout-index", "-u", "-z", "--stdin", stdin=join_nul(wanted))
        gone = [change.path for change in changes if change.status in {"deleted", "type_changed"}]
        (folder / "deleted").write_bytes(join_nul([as_bytes(path) for path in gone]))

    async def diff(self, old: str, new: str) -> bytes:
        """The patch that makes one tree of another, for `apply_patch` and for people; empty where they are the same."""
        return await read_patch(self.git, old, new)

    async def diff_stat(self, old: str, new: str) -> DiffStat:
        """How much differs between two trees."""
        return await read_diff_stat(self.git, old, new)

    async def has(self, tree: str, base: str | None = None) -> bool:
        """Whether every object of a tree is here; with a base, of what it has beyond that."""
        return await is_whole(self.git, tree, base)

    async def write_pack(self, tree: str, base: str, path: Path) -> None:
        """Write what a tree has beyond its base into a file, all of it or nothing, for `import_pack` to take back."""
        await write_pack(self.git, tree, base, _absolute(path))

    async def import_pack(self, pack: bytes | Path, expected_tree: str, base: str | None = None) -> None:
        """Take in what a sandbox packed, once it is proven to be whole and to hold the tree that was promised."""
        await receive_pack(self.folder, self.git_dir, pack, expected_tree, base)

    def _write(self) -> None:
        cut = self.repository.common_dir / "shallow"
        write_git_dir(
            self.git_dir,
            {"core.bare": "true", **self._settings},
            objects=[self.repository.objects],
            shallow=cut.read_bytes() if cut.exists() else b"",
        )

    async def _with_entries(self, tree: str, entries: Mapping[str, Entry | None]) -> str:
        async with scratch_index(tree, self.git_dir) as git:
            await put_entries(git, entries, len(tree))
            return await git.text("write-tree")

    async def _write_layer(self, commit: str, folder: Path) -> None:
        home = await self._base(commit)
        fresh = home / "index.new"
        fresh.unlink(missing_ok=True)
        await write_files(home, self.objects, commit, folder, fresh)
        await write_submodules(self.repository, self.git, commit, folder, home)
        await write_clone(self.repository, self.git, commit, folder, self._settings)
        shutil.copy2(fresh, folder / ".git" / "index")
        fresh.replace(home / "index")
        # Written after every file of the layer, so that what an agent writes is newer.
        (home / "warm").write_bytes(b"")

    async def _base(self, commit: str) -> Path:
        """The git folder of a base commit. Its index is warm once the base's layer has been written."""
        home = self.folder / "bases" / f"{commit}-{self.settings_key}"
        if not (home / "index").exists():
            async with locked(self.folder / "locks" / home.name):
                await write_base(self.repository, self.git, self.objects, commit, home, self._settings)
        return home


async def _take_snapshot(git_dir: Path, work_tree: Path, objects: Path) -> str:
    """Run the script that sandboxes run, on the user's own work tree, and keep the index that it warmed."""
    index = git_dir / "index.new"
    await asyncio.to_thread(shutil.copy2, git_dir / "index", index)
    script = snapshot_script(git_dir=git_dir, work_tree=work_tree, index=index, objects=objects)
    finished = await start(Command(shell=script, env={"PATH": os.environ.get("PATH", os.defpath)}))
    if finished.exit_code != 0:
        raise GitError(f"{work_tree}: no snapshot can be taken: {last_words(finished)}")
    index.replace(git_dir / "index")
    return finished.stdout.text.strip()


def _absolute(path: Path) -> Path:
    """Git is called in other folders than ours."""
    return path.absolute()


def _make_anew(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _folders_of(path: str) -> list[str]:
    return [path[:place] for place, letter in enumerate(path) if letter == "/"]


def _new_entry(change: FileChange) -> Entry | None:
    if change.new_mode is None or change.new_id is None:
        return None
    return Entry(change.new_mode, change.new_id)
