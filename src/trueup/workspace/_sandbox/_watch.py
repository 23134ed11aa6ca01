"""Seeing whether a command rewrote files that it should only read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

MOST_BYTES = 256 << 20

# Mode, size, modification and change time, inode; None where there is no such file. The change time cannot be forged.
Fingerprint = tuple[int, int, int, int, int] | None


def fingerprints(root: Path, paths: Iterable[str]) -> dict[str, Fingerprint]:
    """What tells a file from its rewritten self, without reading it."""
    return {path: _fingerprint(root / path) for path in paths}


def is_changed(seen: Path, originals: Iterable[Path]) -> bool:
    """Whether a file differs from the first of its originals that exists."""
    original = next((path for path in originals if os.path.lexists(path)), None)
    return _content(seen) != (None if original is None else _content(original))


def _fingerprint(path: Path) -> Fingerprint:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _content(path: Path) -> tuple[str, bytes] | None:
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return "link", os.fsencode(path.readlink())
        if not stat.S_ISREG(status.st_mode):
            return "special", b""
        kind = "program" if status.st_mode & 0o100 else "file"
        # What no tracked file is as large as; a sparse file costs its writer nothing and would cost us our memory.
        return (kind, path.read_bytes()) if status.st_size <= MOST_BYTES else ("huge", str(status).encode())
    except OSError:
        return None
