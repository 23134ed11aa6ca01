"""An agent's own login, carried into its sandbox and back.

An agent sees a copy of its credentials in a folder of its own: a file that was bound alone could not be renamed over
when a token is renewed. There is one copy for each harness, which all its runs share: parallel copies of a token that
rotates would log people out. Of the file only the agent's own login is carried, and not what else is kept there, such
as the tokens of MCP servers.

What an agent leaves in the copy is its word. It goes back only if it can be read, is of the same account, lasts longer
by a time that a login can last, and the user has not logged in anew meanwhile. Of it only the values of what was there
before go back.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import InfrastructureError, TrueupError
from trueup.core.files import remove_tree, write_whole

MOST_BYTES = 1 << 20
DAY_SECS = 86_400
# A login that claims to last longer was not made by a vendor, and would be in the way of every one that comes later.
LONGEST_LOGIN_SECS = 400 * DAY_SECS


class Login(Struct, frozen=True):
    """Whose login it is, as far as the file tells, and how fresh: the later of two is the one in force."""

    account: Mapping[str, Any]
    freshness: float

    def may_follow(self, other: Login) -> bool:
        """Whether it can be the same account's, and is the fresher one."""
        known = self.account.keys() & other.account.keys()
        return self.freshness > other.freshness and all(self.account[name] == other.account[name] for name in known)


class LoginFile(Struct, frozen=True, kw_only=True):
    """Where a harness keeps its login: a file in a folder below HOME, which a variable may name instead.

    `own` are the parts of the file that are the login. `key` is where a key may stand in its place. Of the same folder
    `configuration` is what a person set up for the agent, or an agent could leave for the next one: hooks, servers,
    plugins, instructions.
    """

    harness: str
    folder: str
    variable: str
    name: str
    own: tuple[str, ...]
    read: Callable[[dict[str, Any]], Login]
    key: str | None = None
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

    def stored_key(self, environ: Mapping[str, str]) -> str | None:
        """The key that the person logged in with, where they did so by a key."""
        stored = _decoded(_read(self.source(environ))) if self.key else None
        if stored is None or self._login(stored) is not None:
            return None
        key = stored.get(self.key or "")
        return key if isinstance(key, str) and key else None

    def part(self, data: dict[str, Any] | None) -> tuple[dict[str, Any], Login] | None:
        """The login in a file's content, and whose it is; None where there is none that can be understood."""
        login = None if data is None else self._login(data)
        if data is None or login is None:
            return None
        return {name: data[name] for name in self.own if name in data}, login

    def _login(self, data: dict[str, Any]) -> Login | None:
        with suppress(KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return self.read(data)
        return None


def _claude(data: dict[str, Any]) -> Login:
    token = data["claudeAiOauth"]
    _must_be_text(token["accessToken"])
    account = {name: token[name] for name in ("subscriptionType", "rateLimitTier") if token.get(name) is not None}
    return Login(account, _within((token.get("expiresAt") or 0) / 1000, LONGEST_LOGIN_SECS))


def _codex(data: dict[str, Any]) -> Login:
    tokens = data["tokens"]
    _must_be_text(tokens["access_token"])
    refreshed = datetime.fromisoformat(data.get("last_refresh") or "1970-01-01")
    known_zone = refreshed if refreshed.tzinfo else refreshed.replace(tzinfo=UTC)
    return Login({"id": tokens["account_id"]}, _within(known_zone.timestamp(), DAY_SECS))


def _must_be_text(value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError("no token")


def _within(moment: float, longest_secs: float) -> float:
    if not moment <= time.time() + longest_secs:
        raise ValueError("too late")
    return moment


LOGINS = {
    each.harness: each
    for each in (
        LoginFile(
            harness="claude-code",
            folder=".claude",
            variable="CLAUDE_CONFIG_DIR",
            name=".credentials.json",
            own=("claudeAiOauth",),
            read=_claude,
            configuration=tuple(
                "settings.json settings.local.json CLAUDE.md agents commands skills plugins hooks rules output-styles"
                " workflows".split()
            ),
        ),
        LoginFile(
            harness="codex",
            folder=".codex",
            variable="CODEX_HOME",
            name="auth.json",
            own=("auth_mode", "tokens", "last_refresh"),
            read=_codex,
            key="OPENAI_API_KEY",
            configuration=tuple(
                "config.toml AGENTS.md AGENTS.override.md prompts rules skills agents hooks hooks.json plugins memories"
                " .env".split()
            ),
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
            # A run that died could not give back what it had renewed.
            self._give_back()
            theirs = self._theirs()
            if theirs is None:
                self._remove(self._copy)
                return False
            part, login = theirs
            mine = self._mine()
            if mine is None or self._is_new(part) or not mine[1].may_follow(login):
                self._put(msgspec.json.encode(part))
                self._remember(part)
            return True

    def configure(self, *, as_the_user: bool) -> None:
        """Have the agent find what the user set up for it, or nothing of that."""
        with self._locked():
            for name in self._file.configuration:
                self._remove(self.folder / name)
            for path in self._configured if as_the_user else ():
                self._bring(path)

    def give_back(self) -> None:
        """Bring the user's login up to the copy, where an agent renewed it."""
        with self._locked():
            self._give_back()

    def _give_back(self) -> None:
        mine, theirs = self._mine(), self._theirs()
        if mine is None or theirs is None or self._is_new(theirs[0]) or not mine[1].may_follow(theirs[1]):
            return
        part = _renewed(theirs[0], mine[0])
        whole = {**(_decoded(_read(self._source)) or {}), **part}
        # Where it cannot be written, the copy stays the one in force, and the next run tries again.
        with suppress(TrueupError):
            write_whole(self._source, msgspec.json.encode(whole).decode())
            self._remember(part)

    def _theirs(self) -> tuple[dict[str, Any], Login] | None:
        return self._file.part(_decoded(_read(self._source)))

    def _mine(self) -> tuple[dict[str, Any], Login] | None:
        # An agent could have put a link there, to have something else read and kept.
        return self._file.part(_decoded(_read(self._copy, os.O_NOFOLLOW)))

    def _put(self, content: bytes) -> None:
        """In place of whatever an agent left there: a link is replaced, and not followed."""
        fresh = self._folder / "fresh"
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if self._copy.is_dir():
            self._remove(self._copy)
        fresh.replace(self._copy)

    def _bring(self, path: Path) -> None:
        """Copied aside and then renamed: an agent of another run could put a link where a copy would be written."""
        fresh = self._folder / f"fresh-{secrets.token_hex(8)}"
        if path.is_dir():
            shutil.copytree(path, fresh, symlinks=True)
        else:
            shutil.copy2(path, fresh)
        fresh.rename(self.folder / path.name)

    def _is_new(self, part: dict[str, Any]) -> bool:
        """Whether the user's login is another one than was last fetched, or given back: then it is the one in force."""
        return _read(self._seen) != _digest(part)

    def _remember(self, part: dict[str, Any]) -> None:
        write_whole(self._seen, _digest(part).decode())

    def _remove(self, path: Path) -> None:
        """Whatever is there, out of the reach of agents of other runs."""
        remove_tree(path, aside=self._folder)

    @property
    def _copy(self) -> Path:
        return self.folder / self._file.name

    @property
    def _seen(self) -> Path:
        return self._folder / "seen"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Agents can take away the right to enter it.
        self.folder.chmod(0o700)
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        except OSError as error:
            what = (
                f"{self._folder}: the login of {self._file.harness} cannot be carried: {error}; try again, or remove it"
            )
            raise InfrastructureError(what) from None
        finally:
            os.close(descriptor)


def _renewed(old: Any, new: Any) -> Any:
    """What was there, by its new values; a value that is of another kind is none of them."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {name: _renewed(value, new.get(name, value)) for name, value in old.items()}
    return new if type(new) is type(old) else old


def _digest(part: dict[str, Any]) -> bytes:
    return hashlib.sha256(msgspec.json.encode(part, order="deterministic")).hexdigest().encode()


def _read(path: Path, flags: int = 0) -> bytes:
    """A file's content; nothing where there is none, or too much, or something that is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except OSError:
        return b""
    try:
        content = os.read(descriptor, MOST_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return content if len(content) <= MOST_BYTES else b""


def _decoded(content: bytes) -> dict[str, Any] | None:
    with suppress(msgspec.MsgspecError, RecursionError):
        return msgspec.json.decode(content, type=dict[str, Any])
    return None
