"""Where a user's own files are, and writing files so that a failure half-way loses nothing."""

from __future__ import annotations

import os
import pwd
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

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
