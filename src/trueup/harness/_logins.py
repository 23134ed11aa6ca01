"""An agent's own login, carried into its sandbox and back.

An agent sees a copy of its credentials in a folder of its own: a file that was bound alone could not be renamed over
when a token is renewed. There is one copy for each harness, which all its runs share: parallel copies of a token that
rotates would log people out. It goes back only if it can be read, is of the same account, and lasts longer.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.files import write_whole

MOST_BYTES = 1 << 20


class Login(Struct, frozen=True):
    """Whose login it is, and how fresh."""

    account: str
    freshness: str


class LoginFile(Struct, frozen=True, kw_only=True):
    """Where a harness keeps its login: a file in a folder below HOME, which a variable may name instead.

    Of the same folder `configuration` is what a person set up for the agent: hooks, servers, plugins, instructions.
    """

    harness: str
    folder: str
    variable: str
    name: str
    read: Callable[[dict[str, Any]], Login]
    configuration: tuple[str, ...] = ()

    def home(self, environ: Mapping[str, str]) -> Path:
        named = environ.get(self.variable)
        return Path(named) if named else Path(environ.get("HOME", "/"), self.folder)

    def source(self, environ: Mapping[str, str]) -> Path:
        return self.home(environ) / self.name

    def configured(self, environ: Mapping[str, str]) -> list[str]:
        """What a person has set up, by the paths that they know."""
        home = self.home(environ)
        return [str(home / name) for name in self.configuration if (home / name).exists()]


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
            configuration=tuple("settings.json CLAUDE.md agents commands skills plugins hooks".split()),
        ),
        LoginFile(
            harness="codex",
            folder=".codex",
            variable="CODEX_HOME",
            name="auth.json",
            read=_codex,
            configuration=tuple("config.toml AGENTS.md prompts rules skills".split()),
        ),
    )
}


class CarriedLogin:
    """One harness's login in a folder that its runs share."""

    def __init__(self, file: LoginFile, environ: Mapping[str, str], folder: Path) -> None:
        self._file = file
        self._source = file.source(environ)
        self._folder = folder
        self._configured = [Path(path) for path in file.configured(environ)]

    @property
    def folder(self) -> Path:
        """What an agent sees in place of the user's own folder."""
        return self._folder / "home"

    def fetch(self) -> bool:
        """Bring the copy up to the user's login; whether there is one."""
        with self._locked():
            mine, theirs = self._login(self._copy), self._login(self._source)
            if theirs is None:
                return False
            if mine is None or mine.account != theirs.account or theirs.freshness > mine.freshness:
                self._put(self._source.read_bytes())
            return True

    def configure(self, *, as_the_user: bool) -> None:
        """Have the agent find what the user set up for it, or nothing of that."""
        with self._locked():
            for name in self._file.configuration:
                _remove(self.folder / name)
            for path in self._configured if as_the_user else ():
                _copy(path, self.folder / path.name)

    def give_back(self) -> None:
        """Bring the user's login up to the copy, where an agent renewed it."""
        with self._locked():
            mine, theirs = self._login(self._copy), self._login(self._source)
            if mine is None or theirs is None or mine.account != theirs.account:
                return
            if mine.freshness > theirs.freshness:
                write_whole(self._source, _read_no_link(self._copy).decode())

    def _put(self, content: bytes) -> None:
        """In place of whatever an agent left there: a link is replaced, and not followed."""
        fresh = self._folder / "fresh"
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        fresh.replace(self._copy)

    @property
    def _copy(self) -> Path:
        return self.folder / self._file.name

    def _login(self, path: Path) -> Login | None:
        with suppress(OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError):
            return self._file.read(
                msgspec.json.decode(_read_no_link(path) if path == self._copy else path.read_bytes())
            )
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


def _read_no_link(path: Path) -> bytes:
    """A file that an agent could have put a link in place of, to have something else read and kept."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        return file.read(MOST_BYTES)


def _remove(path: Path) -> None:
    """Whatever is there; a link itself, and not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)
