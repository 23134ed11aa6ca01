"""Finding skills: every SKILL.md in or below a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from trueup.core.errors import InputError

SKILL_FILE = "SKILL.md"
LOWER_CASE = "skill.md"
# What tools keep beside the files of a person: other people's skills, or none at all.
NOT_SEARCHED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})


def find_skills(paths: Iterable[Path]) -> list[Path]:
    """Every SKILL.md that the paths are, or that is below them, once. A path without any is bad input.

    Links are not followed below a path, so that nothing outside is looked at, and no loop is gone round.
    """
    found: dict[Path, None] = {}
    for path in paths:
        skills = list(_skills_of(path))
        if not skills:
            raise InputError(f"{path}: no {SKILL_FILE} in it or below it; name the folder of a skill, or one above it")
        found.update(dict.fromkeys(skills))
    return list(found)


def skill_file(folder: Path) -> Path | None:
    """The SKILL.md of a folder; by a lower case name where there is no other."""
    return _file_among(_entries(str(folder)))


def _skills_of(path: Path) -> Iterator[Path]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {_reason(error)}") from None
    if stat.S_ISDIR(mode):
        yield from _skills_below(path)
    elif path.name in (SKILL_FILE, LOWER_CASE):
        yield path
    else:
        raise InputError(f"{path}: is no folder and no {SKILL_FILE}")


def _skills_below(path: Path) -> Iterator[Path]:
    waiting = [str(path)]
    while waiting:
        entries = _entries(waiting.pop())
        file = _file_among(entries)
        if file is not None:
            yield file
        folders = (entry for entry in entries if entry.name not in NOT_SEARCHED)
        waiting += sorted((entry.path for entry in folders if entry.is_dir(follow_symlinks=False)), reverse=True)


def _file_among(entries: list[os.DirEntry[str]]) -> Path | None:
    files = {entry.name: entry.path for entry in entries if not entry.is_dir(follow_symlinks=False)}
    found = files.get(SKILL_FILE) or files.get(LOWER_CASE)
    return Path(found) if found else None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError as error:
        raise InputError(f"{folder}: cannot be searched: {_reason(error)}") from None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
