"""Folders that a stack writes into, thrown away with it, and found again if their owner died."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PARTS = ("root", "upper", "work", "home", "home-work", "tmp")


class Scratch:
    """A private top: what an evaluation or an agent writes. Locked while its owner lives."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    @classmethod
    def create(cls, parent: Path) -> Scratch:
        """Make a new one below a folder."""
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="top-", dir=parent))
        lock = os.open(folder / "owner", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(lock, f"{os.getpid()}\n".encode())
        for name in PARTS:
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        return cls(folder, lock)

    def discard(self) -> None:
        """Remove it with everything that was written into it."""
        remove_tree(self.folder)
        os.close(self._lock)

    def size_bytes(self) -> int:
        """How much disk it takes, as far as it can be seen while somebody writes."""
        return disk_use(self.folder)


def abandoned(parent: Path) -> list[Path]:
    """Tops whose owner is gone: the kernel released its lock."""
    return [folder for folder in sorted(parent.glob("top-*")) if _is_unlocked(folder / "owner")]


def remove_tree(folder: Path) -> None:
    """Remove a folder even if what is in it forbids that: overlay, and hostile programs, leave closed folders."""
    for inside, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(inside, name)
            if not path.is_symlink() and path.stat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
                path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder)


def _is_unlocked(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def disk_use(folder: Path) -> int:
    """Bytes on disk below a folder, links not followed."""
    total = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            # Gone meanwhile, or closed to us: what cannot be seen is not counted.
            continue
    return total
