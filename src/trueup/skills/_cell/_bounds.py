"""How much of what an agent's tools took and gave is kept.

In a turn, every text of a tool's input or output is cut to `LONGEST_TEXT` characters, its beginning and its end: that is
what evals look at and judges read. When a cell is finished, its report keeps `MOST_OUTPUT` characters of all outputs
together, shared equally. A recorded run has what the harness told in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from trueup.core.text import written

from .._model import Message, MockCall, ToolEvent

LONGEST_TEXT = 4000
MOST_OUTPUT = 20_000
SHORTEST_TEXT = 60
_DEEPEST = 20


def bounded_events(events: Iterable[ToolEvent]) -> tuple[ToolEvent, ...]:
    """Tool events of a turn, without the middle of long texts."""
    return tuple(replace(event, input=_bounded(event.input), output=_bounded(event.output)) for event in events)


def bounded_calls(calls: Iterable[MockCall]) -> list[MockCall]:
    """Calls that mocks saw, without the middle of long texts."""
    return [replace(call, input=_bounded(call.input)) for call in calls]


def kept(messages: Iterable[Message]) -> tuple[list[Message], bool]:
    """Messages as a report keeps them, and whether something of the tools' outputs was left out for it."""
    messages = list(messages)
    lengths = [len(event.output) for message in messages for event in message.events if event.output]
    if sum(lengths) <= MOST_OUTPUT:
        return messages, False
    limit = max(SHORTEST_TEXT, MOST_OUTPUT // len(lengths))
    return [_with_short_outputs(message, limit) for message in messages], True


def cut(text: str, limit: int = LONGEST_TEXT) -> str:
    """The beginning and the end of a text, with how much is missing between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    # In ASCII: one character beyond Latin-1 would double what the whole text takes in memory.
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters left out ...] {text[-half:]}"


def _with_short_outputs(message: Message, limit: int) -> Message:
    events = tuple(replace(each, output=cut(each.output, limit)) if each.output else each for each in message.events)
    return replace(message, events=events)


def _bounded(value: Any, level: int = 0) -> Any:
    if isinstance(value, str):
        return cut(written(value))
    if level == _DEEPEST and isinstance(value, list | dict):
        return "[... nested too deep ...]"
    if isinstance(value, list | tuple):
        return [_bounded(each, level + 1) for each in value]
    if isinstance(value, dict):
        return {_bounded(name): _bounded(each, level + 1) for name, each in value.items()}
    return value
