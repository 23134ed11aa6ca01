"""Ignored files that an agent left: no snapshot has them, so no check can have seen them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# A size and a time of modification, by which a file is known that was there before.
Known = Mapping[str, list[int]]


def left_behind(
    candidates: Iterable[str], top: Path, dependencies: Path | None, included: Known, *, copied: bool
) -> Iterator[str]:
    """Which of the ignored paths are the agent's own, and not what was there before it came.

    A folder, with a slash at its end, stands for everything in it, unless some of that was there before. A top that was
    mounted holds what was written and nothing else; one that was `copied` holds the dependencies too.
    """
    for candidate in candidates:
        path = candidate.rstrip("/")
        before = None if dependencies is None else dependencies / path
        if path in included and included[path] == _facts(top / path):
            continue
        if before is None or not os.path.lexists(before):
            yield candidate
        else:
            yield from (f"{path}{inside}" for inside in _written(top / path, before, copied=copied))


def facts_of(root: Path, paths: Iterable[str]) -> dict[str, list[int]]:
    """Files as they are now, to be known again later."""
    found = {path: _facts(root / path) for path in paths}
    return {path: facts for path, facts in found.items() if facts is not None}


def _written(path: Path, before: Path, *, copied: bool) -> Iterator[str]:
    """What was written below a path (and itself, as an empty name), as far as it can be looked at."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            mode = Path(f"{path}{inside}").lstat().st_mode
            if stat.S_ISDIR(mode):
                names = sorted((entry.name for entry in Path(f"{path}{inside}").iterdir()), reverse=True)
                waiting += [f"{inside}/{name}" for name in names]
                continue
        except OSError:
            continue
        # Overlay's own mark of a deleted file is a character device.
        if not stat.S_ISCHR(mode) and not (copied and _is_same(f"{path}{inside}", f"{before}{inside}")):
            yield inside


def _is_same(path: str, before: str) -> bool:
    facts = _facts(Path(path))
    return facts is not None and facts == _facts(Path(before))


def _facts(path: Path) -> list[int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
