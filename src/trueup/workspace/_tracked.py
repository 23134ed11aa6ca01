"""What a layer does to tracked files, and undoing it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from trueup.core.files import remove_tree

# What is tracked, as folders in folders; a file says whether the tree has it, or only the base did.
IN_TREE, IN_BASE_ONLY = True, False
Tracked = dict[str, Any]


def tracked_paths(paths: Iterable[str]) -> Tracked:
    """What a tree has, with `.git` beside it."""
    tracked: Tracked = {}
    add_tracked(tracked, (".git", *paths), IN_TREE)
    return tracked


def add_tracked(tracked: Tracked, paths: Iterable[str], where: bool) -> None:
    """Put more paths in, unless they are there."""
    for path in paths:
        *folders, name = path.split("/")
        inner = tracked
        for folder in folders:
            inner = inner.setdefault(folder, {})
            if not isinstance(inner, dict):
                # The tree has a file where the base had a folder.
                break
        else:
            inner.setdefault(name, where)


def _tracked_among(upper: Path, tracked: Tracked) -> Iterator[tuple[Path, int, Tracked | bool]]:
    """What a layer has where something is tracked: its mode and what is tracked there.

    Links are never followed: setup may have put one in place of a folder, and we are not in its sandbox.
    """
    waiting = [(upper, tracked)]
    while waiting:
        folder, inside = waiting.pop()
        for name, what in inside.items():
            path = folder / name
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue
            yield path, mode, what
            if isinstance(what, dict) and stat.S_ISDIR(mode):
                waiting.append((path, what))


def hides_any(upper: Path, tracked: Tracked) -> bool:
    """Whether a layer has something of its own where a tree has a file."""
    return any(
        what is IN_TREE or (isinstance(what, dict) and not stat.S_ISDIR(mode))
        for _, mode, what in _tracked_among(upper, tracked)
    )


def keep_untracked(upper: Path, tracked: Tracked) -> None:
    """Undo what setup did to tracked files and to `.git`: without its copy above them, the base shows through."""
    for path, mode, what in _tracked_among(upper, tracked):
        if isinstance(what, dict) and stat.S_ISDIR(mode):
            _show_what_is_below(path, mode)
        elif stat.S_ISDIR(mode):
            if what is IN_TREE:
                remove_tree(path)
        elif what is not IN_BASE_ONLY or stat.S_ISCHR(mode):
            path.unlink()


def _show_what_is_below(folder: Path, mode: int) -> None:
    """Take back that a tracked folder was closed, or removed and made again (a mark of overlay's)."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    with suppress(OSError):
        os.removexattr(folder, "user.overlay.opaque", follow_symlinks=False)
