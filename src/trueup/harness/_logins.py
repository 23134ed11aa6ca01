"""An agent's own login, carried into its sandbox and back.

An agent sees a copy of its credentials in a folder of its own: a file that was bound alone could not be renamed over
when a token is renewed. There is one copy for each harness, which all its runs share: parallel copies of a token that
rotates would log people out. It goes back only if it can be read, is of the same account, and lasts longer.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.files import write_whole


class Login(Struct, frozen=True):
    """Whose login it is, and how fresh."""

    account: str
    freshness: str


class LoginFile(Struct, frozen=True, kw_only=True):
    """Where a harness keeps its login: a file in a folder below HOME, which a variable may name instead."""

    harness: str
    folder: str
    variable: str
    name: str
    read: Callable[[dict[str, Any]], Login]

    def source(self, environ: Mapping[str, str]) -> Path:
        named = environ.get(self.variable)
        return (Path(named) if named else Path(environ.get("HOME", "/"), self.folder)) / self.name


def _claude(data: dict[str, Any]) -> Login:
    token = data["claudeAiOauth"]
    volatile = {"accessToken", "refreshToken", "expiresAt", "scopes"}
    who = {name: value for name, value in token.items() if name not in volatile}
    return Login(msgspec.json.encode(who, order="deterministic").decode(), f"{int(token['expiresAt']):020d}")


def _codex(data: dict[str, Any]) -> Login:
    return Login(str(data["tokens"]["account_id"]), str(data["last_refresh"]))


LOGINS = {
    each.harness: each
    for each in (
        LoginFile(
            harness="claude-code",
            folder=".claude",
            variable="CLAUDE_CONFIG_DIR",
            name=".credentials.json",
            read=_claude,
        ),
        LoginFile(harness="codex", folder=".codex", variable="CODEX_HOME", name="auth.json", read=_codex),
    )
}


class CarriedLogin:
    """One harness's login in a folder that its runs share."""

    def __init__(self, file: LoginFile, environ: Mapping[str, str], folder: Path) -> None:
        self._file = file
        self._source = file.source(environ)
        self._folder = folder

    @property
    def folder(self) -> Path:
        """What an agent sees in place of the user's own folder."""
        return self._folder / "home"

    def fetch(self) -> bool:
        """Bring the copy up to the user's login; whether there is one."""
        with self._locked():
            mine, theirs = self._login(self._copy), self._login(self._source)
            if theirs is not None and (
                mine is None or mine.account != theirs.account or theirs.freshness > mine.freshness
            ):
                write_whole(self._copy, self._source.read_text())
                self._copy.chmod(0o600)
            return theirs is not None

    def give_back(self) -> None:
        """Bring the user's login up to the copy, where an agent renewed it."""
        with self._locked():
            mine, theirs = self._login(self._copy), self._login(self._source)
            if (
                mine is not None
                and theirs is not None
                and mine.account == theirs.account
                and mine.freshness > theirs.freshness
            ):
                write_whole(self._source, self._copy.read_text())

    @property
    def _copy(self) -> Path:
        return self.folder / self._file.name

    def _login(self, path: Path) -> Login | None:
        with suppress(OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError):
            # An agent could have put a link there, to have something else read and kept.
            if not path.is_symlink():
                return self._file.read(msgspec.json.decode(path.read_bytes()))
        return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
