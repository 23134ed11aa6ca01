"""What the readers of all vendors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._values import arguments_of, decoded, flat

# What is said beyond that flows by, and is not kept.
MOST_CHARS = 8 << 20
MOST_OF_A_COMPLAINT = 2000


class Heard(Struct, frozen=True):
    """What an answer said. `finished` says that it came to its own end; `pieces` and `chars` how much came until then."""

    model: str | None = None
    text: str = ""
    tool_calls: list[dict[str, Any]] = []
    usage: Usage = Usage()
    finished: bool = False
    error: str = ""
    pieces: int = 0
    chars: int = 0


class Reading(Protocol):
    """Reads one answer: event by event where it is streamed, or all at once."""

    def take(self, data: bytes) -> None: ...

    def take_whole(self, answer: Any) -> None: ...

    def heard(self) -> Heard: ...


class Gathered(ABC):
    """What the readers have in common: parts that come one by one."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._texts: list[str] = []
        self._calls: dict[object, Call] = {}
        self._usage = Usage()
        self._finished = False
        self._error = ""
        self._pieces = 0
        self._chars = 0

    def heard(self) -> Heard:
        calls = [call.told() for call in self._calls.values()]
        return Heard(
            model=self._model,
            text="".join(self._texts),
            tool_calls=calls,
            usage=self._usage,
            finished=self._finished,
            error=self._error,
            pieces=self._pieces,
            chars=self._chars + sum(call.chars for call in self._calls.values()),
        )

    def take(self, data: bytes) -> None:
        """One event as it was sent. Most are a few words of text: those are read by a decoder that knows their form."""
        self._pieces += 1
        if not self._take_text(data):
            self._take_event(decoded(data))

    def _take_text(self, data: bytes) -> bool:
        """Whether it was only a piece of text, and has been taken."""
        return False

    @abstractmethod
    def _take_event(self, event: Any) -> None:
        """Take any event."""

    def _say(self, text: str) -> None:
        self._chars += len(text)
        if self._chars <= MOST_CHARS:
            self._texts.append(text)

    def _name_model(self, model: Any) -> None:
        if isinstance(model, str) and model:
            self._model = model

    def _complain(self, error: Any) -> None:
        match error:
            case {"message": str(message)}:
                self._error = message
            case str():
                self._error = error
            case None:
                pass
            case _:
                self._error = _shown(error)[:MOST_OF_A_COMPLAINT]


class Call:
    """A tool call whose arguments may come in pieces."""

    def __init__(self, id_: Any, name: Any, arguments: Any = None) -> None:
        self._id = id_ if isinstance(id_, str) else ""
        self._name = name if isinstance(name, str) else ""
        self._arguments = arguments
        self._pieces: list[str] = []
        self.chars = 0

    def add(self, piece: Any) -> None:
        if isinstance(piece, str):
            self.chars += len(piece)
            if self.chars <= MOST_CHARS:
                self._pieces.append(piece)

    def told(self) -> dict[str, Any]:
        arguments = arguments_of("".join(self._pieces)) if self._pieces else flat(self._arguments)
        return {"id": self._id, "name": self._name, "arguments": {} if arguments is None else arguments}


def _shown(error: Any) -> str:
    try:
        return msgspec.json.encode(error).decode()
    except RecursionError:
        return "an error that is nested too deeply to be read"
