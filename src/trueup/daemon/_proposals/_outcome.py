"""What came of trying an action, before the rest of its proposal is known."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from trueup.runs import encode_json

from ._ground import ToolAnswer, ToolCall
from ._model import Issue, StateChange, Status

LONGEST_VALUE = 200


class Outcome(Struct, frozen=True, kw_only=True):
    """How one action ended."""

    status: Status
    output: Any = UNSET
    error: str | None = None
    terminal: bool = False
    timed_out: bool = False
    changes: dict[str, StateChange] = {}
    duration_ms: float | None = None
    issues: list[Issue] = []


def outcome_of(call: ToolCall, answer: ToolAnswer) -> Outcome:
    """A tool's answer as an outcome. A payload that says it is an error is a failure, and still the output."""
    if answer.timed_out:
        waited = "no answer in time" if call.timeout_ms is None else f"timed out after {call.timeout_ms} ms"
        return Outcome(status="failed", error=waited, timed_out=True)
    if answer.error is not None:
        return Outcome(status="failed", output=answer.output, error=answer.error, terminal=answer.terminal)
    if (error := _error_in(answer.output)) is not None:
        return Outcome(status="failed", output=answer.output, error=error)
    return Outcome(status="succeeded", output=answer.output)


def shown(value: Any) -> str:
    """A value in an error text."""
    text = encode_json(value).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} …"


def _error_in(output: Any) -> str | None:
    if not isinstance(output, dict):
        return None
    # An empty error is how many programs say that there was none.
    if error := output.get("error"):
        return _said(error)
    if output.get("isError") is True:
        return _text_of(output.get("content")) or "the tool says that it failed"
    return None


def _said(error: Any) -> str:
    if isinstance(error, str):
        return error
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else shown(error)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
