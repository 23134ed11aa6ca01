"""The two secrets of a daemon: one for the programs of the user, one for the human who confirms and approves.

Each is a file that only the user can read. It is made once and kept: a program that has read it need not read it again
when the daemon was restarted.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import stat
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import InfrastructureError, InputError

TOKEN_BYTES = 32
TOKEN_FILE = "auth-token"  # noqa: S105
HUMAN_TOKEN_FILE = "host-token"  # noqa: S105


class Tokens(Struct, frozen=True):
    """What a client can show."""

    token: str
    human_token: str

    def is_token(self, shown: str) -> bool:
        """Whether this is the token of the programs; takes as long whichever way it is wrong."""
        return _same(shown, self.token)

    def is_human_token(self, shown: str) -> bool:
        """Whether this is the token of the human."""
        return _same(shown, self.human_token)


def _same(shown: str, known: str) -> bool:
    return hmac.compare_digest(shown.encode(errors="surrogatepass"), known.encode())


def keep_tokens(folder: Path) -> Tokens:
    """Read the tokens of a folder, made where there are none. Blocks."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Tokens(_keep(folder / TOKEN_FILE), _keep(folder / HUMAN_TOKEN_FILE))
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename or folder}: {error.strerror}; the daemon needs its tokens there"
        ) from None


def _keep(path: Path) -> str:
    try:
        return _read(path)
    except FileNotFoundError:
        _make(path)
        return _read(path)


def _read(path: Path) -> str:
    # A link could have the daemon take for its secret what somebody else wrote.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise InputError(f"{path}: others could read or write this secret; remove it, and a new one is made")
        content = os.read(descriptor, 1024)
    finally:
        os.close(descriptor)
    token = content.decode("ascii", errors="replace").strip()
    if not _is_token(token):
        raise InputError(f"{path}: this is no token; remove it, and a new one is made")
    return token


def _is_token(text: str) -> bool:
    try:
        return len(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)) == TOKEN_BYTES
    except (binascii.Error, ValueError):
        return False


def _make(path: Path) -> None:
    """Make the file whole or not at all; of two daemons that try, one wins and both read what it made."""
    scratch = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(descriptor)
        os.link(scratch, path)
    except FileExistsError:
        pass
    finally:
        scratch.unlink(missing_ok=True)
