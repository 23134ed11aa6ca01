"""Where a user's own files are, writing files so that a failure half-way loses nothing, and removing whole folders."""

from __future__ import annotations

import errno
import os
import pwd
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .errors import InfrastructureError, InputError


def user_folder(variable: str, default: str, environ: Mapping[str, str]) -> Path:
    """One of the user's folders by the XDG rules: what the variable names, else the default below the home folder.

    A relative path is ignored: it would make a folder of whatever repository is at hand the user's own.
    """
    named = Path(environ.get(variable, ""))
    return named if named.is_absolute() else _home(environ) / default


def write_whole(path: Path, text: str) -> None:
    """Put a text in place of a file, all of it or nothing: what stood there survives a full disk or a crash.

    A link stays and what it leads to is replaced. What holds no content, a device or a pipe, is written to as it is.
    """
    try:
        there = _status(path)
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise InputError(f"{path}: is a folder; name the file to write")
        if there is None or stat.S_ISREG(there.st_mode):
            _replace(path, text, None if there is None else stat.S_IMODE(there.st_mode))
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written: {error.strerror}; nothing was changed") from None


def remove_tree(path: Path, aside: Path | None = None) -> None:
    """Remove whatever is at a path, if anything; of a link the link itself.

    What agents leave can be closed, and nested deeper than a path can name or a process can keep open. Where somebody
    could still write to it, it is first moved into the folder `aside`.
    """
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        if aside is not None:
            _open_up(path)
            path = path.rename(aside / f"left-{secrets.token_hex(8)}")
        removal = _Removal(path)
    except FileNotFoundError:
        return
    try:
        removal.run()
    finally:
        removal.close()
    path.rmdir()


class _Level(NamedTuple):
    """A folder on the way down: its name, which one it is, and the folders in it that are still to be removed."""

    name: str
    identity: tuple[int, int]
    left: list[str]


class _Removal:
    """Empties a folder, with one folder open at a time: down by name, and up by `..`."""

    def __init__(self, path: Path) -> None:
        self._here = _opened(path)
        self._way = [_level(str(path), self._here)]

    def run(self) -> None:
        while True:
            level = self._way[-1]
            if level.left:
                self._descend(level.left.pop())
            elif len(self._way) > 1:
                self._ascend()
                os.rmdir(level.name, dir_fd=self._here)
            else:
                return

    def close(self) -> None:
        os.close(self._here)

    def _descend(self, name: str) -> None:
        self._stand_in(_opened(name, self._here))
        self._way.append(_level(name, self._here))

    def _ascend(self) -> None:
        self._way.pop()
        self._stand_in(_opened("..", self._here))
        if _identity(self._here) != self._way[-1].identity:
            raise OSError(errno.ESTALE, "somebody moves folders while they are removed", self._way[0].name)

    def _stand_in(self, folder: int) -> None:
        os.close(self._here)
        self._here = folder


def _level(name: str, folder: int) -> _Level:
    """A folder whose files are removed already."""
    with os.scandir(folder) as found:
        entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
    for each, is_folder in entries:
        if not is_folder:
            os.unlink(each, dir_fd=folder)
    return _Level(name, _identity(folder), [each for each, is_folder in entries if is_folder])


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _opened(name: str | Path, folder: int | None = None) -> int:
    """A folder that can be changed from here on, and not what a link in its place leads to."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(name, how, dir_fd=folder)
    except PermissionError:
        _open_up(name, folder)
        descriptor = os.open(name, how, dir_fd=folder)
    if os.fstat(descriptor).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, stat.S_IRWXU)
    return descriptor


def _open_up(name: str | Path, folder: int | None = None) -> None:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IRWXU)
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str, mode: int | None) -> None:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {target.parent}; make it first")
    scratch = target.with_name(f".trueup-{secrets.token_hex(8)}")
    # Opened exclusively and by the plain call, so that the user's umask decides about the mode of a new file.
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _home(environ: Mapping[str, str]) -> Path:
    user = os.getuid()
    for home in (environ.get("HOME", ""), _registered_home(user)):
        if Path(home).is_absolute():
            return Path(home)
    raise InputError(f"HOME is not set and user {user} has no home folder: set HOME to an absolute path")


def _registered_home(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_dir
    except KeyError:
        return ""
