"""What a vendor's format must be able to do, and what it is given to say."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from .._steps import Fault, Part, Stop, Text, Thinking, Tokens, Tool

_numbers = itertools.count(1)


class Spoken(Struct, frozen=True, kw_only=True):
    """An answer that is ready to be written: tools by their real names and with ids.

    `free` are the tools that take text instead of JSON.
    """

    id: str
    model: str
    parts: Sequence[Part]
    usage: Tokens
    stop: Stop = "end"
    free: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def tools(self) -> list[Tool]:
        return [part for part in self.parts if isinstance(part, Tool)]


class Wire(Protocol):
    """One vendor's format."""

    def read(self, body: Any, path: str) -> dict[str, Any]:
        """The fields of a `ModelRequest` that the body tells."""
        ...

    def whole(self, spoken: Spoken) -> dict[str, Any]:
        """The answer as one JSON object."""
        ...

    def stream(self, spoken: Spoken, piece: int) -> Iterator[bytes]:
        """The answer as server-sent events, texts in pieces of so many characters."""
        ...

    def error(self, fault: Fault, status: int) -> dict[str, Any]:
        """An error as this vendor writes it."""
        ...

    def broken(self, fault: Fault) -> bytes:
        """The record of an error in the middle of a stream."""
        ...


def new_id(prefix: str) -> str:
    """An id that no other answer of this process has."""
    return f"{prefix}_scripted{next(_numbers):08d}"


def event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces, as it is streamed."""
    return (text[start : start + size] for start in range(0, len(text), size))


def arguments_of(tool: Tool) -> str:
    """A tool's arguments as the JSON text that most formats carry."""
    return json.dumps(dict(tool.arguments))
