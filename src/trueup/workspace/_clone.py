"""Layer 1: an independent clone that holds a commit's files and its ancestors, and nothing that came later."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from ._git import Git, as_text, split_nul
from ._private_git import lfs_settings, write_git_dir
from ._repository import Repository
from ._trees import GITLINK, read_entries

# What a clone of ours says about itself. Only size and time tell whether a file changed: the same file has another
# number and owner when it is seen through a mount.
CLONE_SETTINGS = {
    "core.bare": "false",
    "core.checkstat": "minimal",
    "core.trustctime": "false",
    "user.name": "trueup",
    "user.email": "trueup@localhost",
}

# Its files are read with the lines that the base's own attributes ask for, by no program and in no encoding.
CLONE_ATTRIBUTES = b"* !filter !ident !working-tree-encoding\n"

# Tools that write zip files refuse anything older.
EARLIEST = 315_705_600


async def write_files(git_dir: Path, objects: Path, commit: str, folder: Path, index: Path) -> None:
    """Check a commit out into a folder, and leave an index that knows its files."""
    git = Git(git_dir, work_tree=folder, index=index, objects=objects)
    await git.output("read-tree", "--reset", "-u", commit)
    # One old time for all of them: which file is newer must not depend on the order of a checkout, and a file that
    # is written in the very second of the checkout must not pass for an untouched one.
    written = min(_committed(await git.output("cat-file", "commit", commit)), int(time.time()))
    await asyncio.to_thread(_age, folder, max(EARLIEST, written - 60))
    await git.output("update-index", "-q", "--refresh")


async def write_clone(
    repository: Repository, mirror: Git, commit: str, folder: Path, settings: Mapping[str, str]
) -> None:
    """Write the .git of a clone whose files are there already: a commit, its ancestors, and the tags among them."""
    tags = await _tags(repository, commit)
    git_dir = write_git_dir(
        folder / ".git",
        {**settings, **CLONE_SETTINGS, **lfs_settings()},
        attributes=CLONE_ATTRIBUTES,
        exclude=repository.exclude_patterns(),
        shallow=await _shallow(repository, mirror, commit),
    )
    (git_dir / "refs" / "heads" / "trueup").write_text(f"{commit}\n")
    (git_dir / "packed-refs").write_text("".join(f"{name} {ref}\n" for ref, name in tags.items()))
    wanted = "".join(f"{name}\n" for name in (commit, *tags.values()))
    await mirror.output(
        *("pack-objects", "--revs", "--delta-base-offset", "-q", str(git_dir / "objects" / "pack" / "pack")),
        stdin=wanted.encode(),
    )


async def write_submodules(repository: Repository, git: Git, commit: str, folder: Path, scratch: Path) -> None:
    """Fill in the files of submodules that the user has; the others stay empty folders."""
    links = {path: entry.id for path, entry in (await read_entries(git, commit)).items() if entry.mode == GITLINK}
    if not links:
        return
    for name, path in (await _submodule_paths(git, commit)).items():
        store = _submodule_store(repository, name, path)
        if path in links and store is not None and await Git(store).ok("cat-file", "-e", f"{links[path]}^{{commit}}"):
            target = write_git_dir(scratch / "submodule", {"core.bare": "true"}, objects=[store / "objects"])
            await write_files(target, target / "objects", links[path], folder / path, target / "index")
            await asyncio.to_thread(shutil.rmtree, target)


async def _submodule_paths(git: Git, commit: str) -> dict[str, str]:
    listed = await git.attempt(
        "config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$"
    )
    items = [as_text(item).partition("\n") for item in split_nul(listed.stdout.data)]
    return {key.removeprefix("submodule.").removesuffix(".path"): path for key, _, path in items}


def _submodule_store(repository: Repository, name: str, path: str) -> Path | None:
    # The name is the commit's to choose, and must not lead out of the repository.
    if ".." in name.split("/") or name.startswith("/") or ".." in path.split("/"):
        return None
    places = (
        repository.git_dir / "modules" / name,
        repository.common_dir / "modules" / name,
        repository.root / path / ".git",
    )
    return next((place for place in places if (place / "objects").is_dir()), None)


async def _tags(repository: Repository, commit: str) -> dict[str, str]:
    listed = await repository.git.text(
        "for-each-ref", f"--merged={commit}", "--format=%(objectname) %(refname)", "refs/tags"
    )
    pairs = [line.split(" ", 1) for line in listed.split("\n") if line]
    return {ref: name for name, ref in pairs}


async def _shallow(repository: Repository, mirror: Git, commit: str) -> bytes:
    """Where history was cut off, among the ancestors of a commit."""
    if not repository.is_shallow:
        return b""
    cut = (repository.common_dir / "shallow").read_text().split()
    ancestors = set((await mirror.text("rev-list", commit)).split())
    return "".join(f"{name}\n" for name in cut if name in ancestors).encode()


def _committed(commit: bytes) -> int:
    """When a commit was made, read from the commit itself: in a shallow clone its parent may not be there."""
    line = next(line for line in commit.split(b"\n") if line.startswith(b"committer "))
    return int(line.rpartition(b"> ")[2].split(b" ")[0])


def _age(folder: Path, when: int) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            os.utime(Path(place, name), (when, when), follow_symlinks=False)
