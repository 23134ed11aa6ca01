"""What trueup keeps of a base commit: how its files are read, where its submodules are, and an index of its files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from ._attributes import flatten
from ._git import Git, as_bytes, join_nul
from ._private_git import lfs_settings, write_git_dir
from ._repository import Repository
from ._trees import GITLINK, Entry, index_line, read_blobs, read_entries


async def write_base(
    repository: Repository, mirror: Git, objects: Path, commit: str, home: Path, settings: Mapping[str, str]
) -> None:
    """Write the git folder of a base commit. Its index is the last of it: where that is, all is."""
    entries = await read_entries(mirror, commit)
    store = Path(repository.config.get("lfs.storage") or "lfs")
    write_git_dir(
        home,
        {"core.bare": "true", **settings, **lfs_settings(repository.common_dir / store / "objects")},
        attributes=await _attributes(repository, mirror, entries),
        objects=[objects],
    )
    links = [index_line(entry, path) for path, entry in entries.items() if entry.mode == GITLINK]
    (home / "gitlinks").write_bytes(join_nul(links))
    (home / "base-tree").write_text(await mirror.text("rev-parse", "--verify", f"{commit}^{{tree}}"))
    cold = home / "index.cold"
    await Git(home, index=cold).output("read-tree", commit)
    cold.replace(home / "index")


def derive_git_dir(
    home: Path, folder: Path, repository: Repository, settings: Mapping[str, str], objects: Path
) -> None:
    """Write a git folder that reads files as the base does."""
    write_git_dir(
        folder,
        {"core.bare": "true", **settings, **lfs_settings()},
        attributes=(home / "info" / "attributes").read_bytes(),
        exclude=repository.exclude_patterns(),
        objects=[objects],
    )
    for name in ("gitlinks", "base-tree"):
        shutil.copy2(home / name, folder / name)


def copy_warm_index(home: Path, folder: Path) -> None:
    """Copy the index with its time, by which git knows which of its entries to doubt."""
    shutil.copy2(home / "index", folder / "index")
    if (home / "warm").exists():
        shutil.copy2(home / "warm", folder / "warm")


async def _attributes(repository: Repository, mirror: Git, entries: Mapping[str, Entry]) -> bytes:
    files = [
        (path, entry.id)
        for path, entry in entries.items()
        if path.rpartition("/")[2] == ".gitattributes" and entry.mode.startswith("100")
    ]
    contents = await read_blobs(mirror, [blob for _, blob in files])
    below, above = await asyncio.to_thread(repository.attribute_files)
    # The closest file has the last word.
    files.sort(key=lambda file: file[0].count("/"))
    tree = [(as_bytes(path.rpartition("/")[0]), contents[blob]) for path, blob in files]
    return flatten([(b"", below), *tree, (b"", above)])
