"""What Claude Code prints with `--output-format stream-json`: the records and fields that are of use here.

Everything has a default and unknown fields are let pass: the program adds some with every release.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from ._json_lines import decoded_line

# The name of the model under which the program says its own errors, as if they were answers.
SYNTHETIC = "<synthetic>"


class TokenCounts(Struct):
    """Tokens as the Messages API counts them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Block(Struct):
    """A piece of a message: text, thinking, tool_use or tool_result."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class Spoken(Struct):
    """A message of the conversation."""

    id: str = ""
    model: str = ""
    content: str | list[Block] = []
    usage: TokenCounts | None = None

    @property
    def blocks(self) -> list[Block]:
        return [] if isinstance(self.content, str) else self.content


class System(Struct, tag_field="type", tag="system"):
    """The program about itself: init, api_retry, session_state_changed and many more."""

    subtype: str = ""
    session_id: str | None = None
    claude_code_version: str | None = None
    attempt: int | None = None
    error_status: int | None = None
    error: Any = None
    state: str | None = None


class Assistant(Struct, tag_field="type", tag="assistant"):
    """A piece of an answer of the model; one answer comes as several, with the same message id."""

    message: Spoken
    error: Any = None
    timestamp: str | None = None


class User(Struct, tag_field="type", tag="user"):
    """What is told to the model: results of tools, and the program's own admonitions."""

    message: Spoken
    timestamp: str | None = None


class Delta(Struct):
    """An event of the model's stream."""

    type: str = ""
    message: Spoken | None = None
    delta: dict[str, Any] | None = None
    usage: TokenCounts | None = None


class StreamEvent(Struct, tag_field="type", tag="stream_event"):
    """A piece of an answer while it is being given."""

    event: Delta


class ModelUsage(Struct, rename="camel"):
    """What calls of one model used, subagents and asides included."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: float | None = msgspec.field(name="costUSD", default=None)


class Denial(Struct):
    """A call of a tool that was not allowed."""

    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Any = None


class Result(Struct, tag_field="type", tag="result"):
    """How a turn ended. A run has more than one where a subagent ends after the first."""

    subtype: str = ""
    is_error: bool = True
    result: str | None = None
    errors: list[Any] = []
    session_id: str | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    api_error: Any = None
    usage: TokenCounts | None = None
    total_cost_usd: float | None = None
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    permission_denials: list[Denial] = []


class ControlRequest(Struct, tag_field="type", tag="control_request"):
    """The program asks something, and waits for the answer."""

    request_id: str
    request: dict[str, Any]


class ControlResponse(Struct, tag_field="type", tag="control_response"):
    """The program's answer to something that it was asked."""

    response: dict[str, Any]


Record: TypeAlias = System | Assistant | User | StreamEvent | Result | ControlRequest | ControlResponse
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def decode(line: str) -> Record | None:
    """The record of a line; None for one that is none, or of no interest."""
    return decoded_line(line, _DECODER)


def moment(timestamp: str | None) -> float | None:
    """When a record was made."""
    try:
        return datetime.fromisoformat(timestamp or "").timestamp()
    except ValueError:
        return None


def text_of(content: Any) -> str:
    """The words of a tool's result, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(text for text in texts if text and isinstance(text, str))
    return ""
