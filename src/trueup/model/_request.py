"""What a model is asked and what it answers, in one vocabulary for all vendors."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.usage import Usage

MAX_TOKENS = 16_384


class Role(StrEnum):
    """Who said something in a conversation."""

    USER = "user"
    ASSISTANT = "assistant"


class Tool(Struct, frozen=True):
    """Something that a model may ask for; `parameters` is the JSON Schema of its input."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolUse(Struct, frozen=True):
    """A model asks for a tool. `error` says why the input could not be read; it is then empty."""

    id: str
    name: str
    input: dict[str, Any] = {}
    error: str = ""


class ToolOutput(Struct, frozen=True):
    """What came of a tool that a model asked for, by the id of its `ToolUse`."""

    id: str
    text: str
    ok: bool = True


class Native(Struct, frozen=True):
    """An answer as its vendor wrote it, sealed reasoning included, for the same model over the same wire only.

    The seal is of the conversation so far: once an earlier turn is rewritten, the later ones must go on as `plain`.
    """

    wire: str
    model: str
    items: list[Any]


class Message(Struct, frozen=True, kw_only=True):
    """One turn of a conversation: words, and tools asked for (assistant) or their results (user)."""

    role: Role = Role.USER
    text: str = ""
    tool_calls: Sequence[ToolUse] = ()
    tool_results: Sequence[ToolOutput] = ()
    native: Native | None = None

    @property
    def plain(self) -> Message:
        """The same turn without the vendor's own form of it."""
        return replace(self, native=None)


class Request(Struct, frozen=True, kw_only=True):
    """One question to a model. With `schema`, the answer is JSON that fits it, and is given as `data` too.

    Where the schema does not bind, an answer that does not fit is given all the same, without `data`.
    """

    model: str
    messages: Sequence[Message]
    system: str | None = None
    tools: Sequence[Tool] = ()
    schema: dict[str, Any] | None = None
    schema_name: str = "answer"
    schema_binds: bool = True
    max_tokens: int = MAX_TOKENS
    temperature: float | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """What a model answered. `stop_reason` is `end_turn`, `tool_use`, `max_tokens`, or another word of the vendor's.

    `model` is the name by which the server calls itself.
    """

    text: str
    model: str
    stop_reason: str
    tool_calls: list[ToolUse] = []
    usage: Usage = Usage()
    data: Any = None
    native: Native | None = None

    @property
    def message(self) -> Message:
        """This answer as a turn of the conversation that goes on."""
        return Message(role=Role.ASSISTANT, text=self.text, tool_calls=self.tool_calls, native=self.native)
