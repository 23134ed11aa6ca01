"""Folders that a stack writes into, thrown away with it, and found again if their owner died."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from trueup.core.errors import InputError
from trueup.core.files import remove_tree

PARTS = ("root", "upper", "work", "home", "home-work", "tmp")
OWNER = "owner"
COPIED = "copied"
A_MOMENT_SECS = 0.1


class Scratch:
    """A private top: what an evaluation or an agent writes. Locked while its owner lives."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock: int | None = lock
        self._copied_bytes: int | None = None

    @classmethod
    def create(cls, parent: Path) -> Scratch:
        """Make a new one below a folder."""
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="top-", dir=parent))
        lock = os.open(folder / OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        _take(lock)
        _sign(lock)
        for name in PARTS:
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        return cls(folder, lock)

    @classmethod
    def adopt(cls, folder: Path) -> Scratch:
        """Take over one that its owner left; an `InputError` where it lives, or where nothing was left."""
        try:
            lock = os.open(folder / OWNER, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            raise InputError(f"{folder.name} is gone: nothing is left of it in {folder.parent}") from None
        try:
            _take(lock)
            # Whoever had the lock until now may have removed everything.
            is_still_there = os.path.samestat(os.fstat(lock), (folder / OWNER).stat())
        except BlockingIOError:
            owner = os.read(lock, 100).decode(errors="replace").strip()
            os.close(lock)
            raise InputError(f"{folder.name} is in use by process {owner}: wait until it ends, or end it") from None
        except OSError:
            is_still_there = False
        if not is_still_there:
            os.close(lock)
            raise InputError(f"{folder.name} is gone: somebody removed it just now") from None
        _sign(lock)
        return cls(folder, lock)

    def release(self) -> None:
        """Let go of it and leave it on disk, for whoever adopts it next. It cannot be used or discarded any more."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def discard(self) -> None:
        """Remove it with everything that was written into it, unless it was let go of before."""
        if self._lock is not None:
            remove_tree(self.folder)
            self.release()

    def mark_copied(self) -> None:
        """Remember that the layers were copied into it, and how much of it they are."""
        (self.folder / COPIED).write_text(f"{disk_use(self.folder)}\n")

    @property
    def is_copied(self) -> bool:
        return (self.folder / COPIED).exists()

    def written_bytes(self) -> int:
        """How much disk was taken since it was made, as far as it can be seen while somebody writes."""
        if self._copied_bytes is None:
            self._copied_bytes = int((self.folder / COPIED).read_text()) if self.is_copied else 0
        return disk_use(self.folder) - self._copied_bytes


def abandoned(parent: Path) -> list[Path]:
    """Tops whose owner is gone: the kernel released its lock."""
    return [folder for folder in sorted(parent.glob("top-*")) if _is_unlocked(folder / OWNER)]


def inhabitants(folder: Path) -> list[int]:
    """Processes that still work in a top, and end a moment after their owner: they see it mounted, or stand in it."""
    ours = _link("/proc/self/ns/mnt")
    return [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if _stands_in(process, folder) or (_link(f"{process}/ns/mnt") != ours and _mounts(process, folder))
    ]


def _take(lock: int) -> None:
    """Lock a top, or a `BlockingIOError`. Whoever only looks whether it is free holds it for less than a moment."""
    deadline = time.monotonic() + A_MOMENT_SECS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _sign(lock: int) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _stands_in(process: Path, folder: Path) -> bool:
    where = _link(f"{process}/cwd")
    return where == str(folder) or where.startswith(f"{folder}/")


def _mounts(process: Path, folder: Path) -> bool:
    """By its name alone, which is like no other: a mount says its source as the file system below it knows it."""
    with suppress(OSError):
        return os.fsencode(folder.name) in (process / "mountinfo").read_bytes()
    return False


def _link(path: str) -> str:
    with suppress(OSError):
        return os.readlink(path)  # noqa: PTH115 - a Path would lose what is special about these
    return ""


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
                    total += _own_use(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            # Gone meanwhile, or closed to us: what cannot be seen is not counted.
            continue
    return total


def _own_use(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0
