"""Cassettes: answers of models that were recorded once, and are given again for the same questions.

A file of JSON lines: the first says what it is, each other one is a question and its answer. Questions are kept in the
form in which they are compared, without headers; of an answer's headers only a few are kept. Secrets are taken out of
both before anything is written; what cannot be read, so that nobody knows what it holds, is not written at all.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from trueup.core.errors import InfrastructureError, InputError, Kind, TrueupError

from ._normal import Places, differences, mapped, normal
from ._redact import Redactor
from ._tap import Tap, unpacked
from ._wires import READINGS, decoded, is_deep

T = TypeVar("T")

VERSION = 1
KEPT_HEADERS = ("Content-Type", "Retry-After", "x-should-retry")


class CassetteMissError(TrueupError):
    """A question that the cassette has no answer for."""

    kind = Kind.PROTOCOL


class Question(Struct, frozen=True):
    """A request: what is asked, and of whom."""

    method: str
    target: str
    body: bytes

    @classmethod
    def of(cls, method: str, target: str, body: bytes) -> Self:
        return cls(method, target, body)


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], body: bytes) -> Self:
        kept = {name: headers[name] for name in KEPT_HEADERS if name in headers}
        return cls(status, kept, unpacked(body, headers.get("Content-Encoding", "")))


class _Head(Struct):
    trueup_cassette: int


class _Asked(Struct):
    method: str
    target: str
    body: Any


class _Answered(Struct, omit_defaults=True):
    """The body as whichever shows best what it is, and gives the same again."""

    status: Annotated[int, Meta(ge=200, le=599)]
    headers: dict[str, Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*$")]]
    json: Any = None
    lines: list[str] | None = None


class _Entry(Struct):
    asked: _Asked
    answered: _Answered


class Cassette:
    """A recording that is being made, or one that is played. `places` are folders that are elsewhere each time.

    Made by `Cassette.record(file)` or `Cassette.replay(file)`, and handed to a `Proxy`. `misses` are the questions that
    it had no answer for, `withheld` is how many answers were not written down, since nobody could say what they hold.
    """

    def __init__(self, path: Path, places: Mapping[str, str], *, is_replay: bool) -> None:
        self.is_replay = is_replay
        self.misses: list[str] = []
        self.withheld = 0
        self._path = path
        self._places = Places(places)
        self._redactor = Redactor()
        self._entries: list[_Entry | None] = []
        self._file: int | None = None
        self._written: int | None = None
        self._is_loaded = False

    @classmethod
    def record(cls, path: str | Path, places: Mapping[str, str] = {}) -> Self:
        """A new recording, in place of what the file held."""
        return cls(Path(path), places, is_replay=False)

    @classmethod
    def replay(cls, path: str | Path, places: Mapping[str, str] = {}) -> Self:
        """A recording that answers instead of the vendors."""
        return cls(Path(path), places, is_replay=True)

    @property
    def unused(self) -> int:
        """How many answers nobody asked for, yet."""
        return sum(entry is not None for entry in self._entries)

    async def open(self, redactor: Redactor) -> None:
        """Begin, or go on where an earlier proxy stopped: read the file once, or lock it, since two would spoil it."""
        self._redactor = redactor
        try:
            await asyncio.to_thread(self._load if self.is_replay else self._lock)
        except BlockingIOError:
            what = f"cassette {self._path}: another run is recording it; wait for its end, or name another file"
            raise InputError(what) from None
        except OSError as error:
            raise InputError(f"cassette {self._path}: {error.strerror}; name a file that can be used") from None

    def close(self) -> None:
        """Let others have the file, until it is opened again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    async def keep(self, question: Question, answer: Answer) -> None:
        """Write a question and its answer down; one at a time."""
        try:
            await asyncio.to_thread(self._append, question, answer)
        except OSError as error:
            raise InfrastructureError(f"cassette {self._path}: cannot be written: {error.strerror}") from None

    async def find(self, question: Question) -> Answer:
        """The first answer to this question that was not given yet; a `CassetteMissError` says what differs."""
        asked = await asyncio.to_thread(self._asked, question)
        for index, entry in enumerate(self._entries):
            if entry is not None and entry.asked == asked:
                self._entries[index] = None
                return self._answer(entry.answered)
        miss = f"cassette {self._path}: no answer to {asked.method} {asked.target}: {self._nearest(asked)}"
        self.misses.append(miss)
        raise CassetteMissError(miss)

    def _nearest(self, asked: _Asked) -> str:
        left = [entry.asked for entry in self._entries if entry is not None]
        if not left:
            return f"all {len(self._entries)} were given"
        near = next((each for each in left if each.target == asked.target), left[0])
        return "; ".join(differences(msgspec.structs.asdict(near), msgspec.structs.asdict(asked)))

    def _asked(self, question: Question) -> _Asked:
        def plain(text: str) -> str:
            return normal(self._places.hide(self._redactor.text(text)))

        return _Asked(question.method, plain(question.target), mapped(_readable(question.body), plain))

    def _lock(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._written is None:
                os.ftruncate(self._file, 0)
                self._write(msgspec.json.encode(_Head(VERSION)))
            elif os.fstat(self._file).st_size != self._written:
                raise InputError(f"cassette {self._path}: somebody else wrote to it meanwhile; record it again")
        except BaseException:
            self.close()
            raise

    def _append(self, question: Question, answer: Answer) -> None:
        asked, answered = self._asked(question), self._answered(answer)
        if isinstance(asked.body, bytes) or answered is None or self._spells_a_secret(answered):
            self.withheld += 1
            return
        self._write(msgspec.json.encode(_Entry(asked, answered), order="deterministic"))

    def _write(self, line: bytes) -> None:
        if self._file is None:
            raise OSError(errno.EBADF, "it is closed")
        with open(self._file, "ab", closefd=False) as file:
            file.write(line + b"\n")
        self._written = os.fstat(self._file).st_size

    def _answered(self, answer: Answer) -> _Answered | None:
        """An answer as it is kept; None where it cannot be read."""

        def plain(text: str) -> str:
            return self._places.hide(self._redactor.text(text))

        head = {"status": answer.status, "headers": mapped(answer.headers, plain)}
        readable = _readable(answer.body)
        if isinstance(readable, bytes):
            return None
        if isinstance(readable, str):
            return _Answered(**head, lines=plain(readable).split("\n"))
        return _Answered(**head, json=mapped(readable, plain))

    def _answer(self, answered: _Answered) -> Answer:
        if answered.lines is not None:
            body = self._places.show("\n".join(answered.lines)).encode(errors="replace")
        else:
            body = msgspec.json.encode(mapped(answered.json, self._places.show))
        return Answer.of(answered.status, answered.headers, body)

    def _spells_a_secret(self, answered: _Answered) -> bool:
        """Whether a streamed answer has a secret in it that only shows once its pieces are put together."""
        stream = "\n".join(answered.lines or []).encode()
        for reading in READINGS:
            tap = Tap(reading(), "text/event-stream")
            tap.feed(stream)
            heard = msgspec.to_builtins(tap.heard())
            if self._redactor.value(heard) != heard:
                return True
        return False

    def _load(self) -> None:
        if self._is_loaded:
            return
        with self._path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            head, *lines = file.read().splitlines() or [b""]
        version = self._decoded(1, head, _Head).trueup_cassette
        if version != VERSION:
            raise InputError(
                f"cassette {self._path}: it is of version {version}, and this trueup plays {VERSION}; record it again"
            )
        self._entries = [self._decoded(number, line, _Entry) for number, line in enumerate(lines, 2)]
        self._is_loaded = True

    def _decoded(self, number: int, line: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            raise InputError(f"cassette {self._path}:{number}: {error}; record it again") from None


def _readable(body: bytes) -> Any:
    """A body as JSON, else as text, else as it is."""
    value = decoded(body)
    if value is not None and not is_deep(value):
        return value
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body
