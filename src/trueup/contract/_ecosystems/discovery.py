"""Finding the packages of a repository: a bounded walk that follows no links."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from pathlib import PurePosixPath

from .package import Repository, is_encodable, show

DEPTH_LIMIT = 4
ENTRIES_LIMIT = 20_000

_NOT_THE_PROJECTS_OWN = frozenset(
    "node_modules bower_components vendor third_party target dist build out venv env virtualenv site-packages "
    "__pycache__ fixtures fixture __fixtures__ testdata test_data test-data examples example samples".split()
)


def package_folders(repository: Repository, manifests: frozenset[str]) -> list[str]:
    """The folders with a manifest, the nearer to the root the earlier; the root is always one."""
    found = ["."]
    waiting = deque([(".", 0)])
    budget = ENTRIES_LIMIT
    while waiting and budget > 0:
        folder, depth = waiting.popleft()
        names, subfolders, seen = _look_into(repository, folder, budget)
        budget -= seen
        # A virtual environment under any name is nobody's package.
        if folder != "." and "pyvenv.cfg" in names:
            continue
        if folder != "." and names & manifests:
            found.append(folder)
        if depth < DEPTH_LIMIT:
            waiting.extend((subfolder, depth + 1) for subfolder in subfolders)
    if budget <= 0:
        repository.note(
            f"the repository has more than {ENTRIES_LIMIT} entries; packages beyond them were not looked for"
        )
    return found


def _look_into(repository: Repository, folder: str, budget: int) -> tuple[set[str], list[str], int]:
    try:
        with os.scandir(repository.root / folder) as entries:
            seen = list(islice(entries, budget))
            names = {entry.name for entry in seen if _is_file(entry)}
            subfolders = sorted(entry.name for entry in seen if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        repository.note(f"{show(folder)} could not be listed: {error.strerror}")
        return set(), [], 0
    paths = [str(PurePosixPath(folder, name)) for name in subfolders if _may_hold_packages(repository, folder, name)]
    return names, paths, len(seen)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        # A link that leads to itself; the folder's other entries are as good as ever.
        return False


def _may_hold_packages(repository: Repository, folder: str, name: str) -> bool:
    if name.startswith(".") or name.lower() in _NOT_THE_PROJECTS_OWN:
        return False
    if not is_encodable(name):
        repository.note(f"{show(folder)} has a folder whose name is not text; it was left out")
        return False
    return True
