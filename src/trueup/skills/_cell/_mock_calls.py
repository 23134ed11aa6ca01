"""Calls that mocks and spies saw: whose they are, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from trueup.core.errors import InputError

from .._case import Mock
from .._matching import call_matches
from .._model import MockCall, ToolEvent


def named(calls: Iterable[MockCall], mocks: Sequence[Mock]) -> list[MockCall]:
    """Calls with the names of the mocks that answered them; a provider tells only which rule that was."""
    names = [mock.label(number) for number, mock in enumerate(mocks) if mock.actions]
    return [
        call if call.rule is None or not 0 <= call.rule < len(names) else replace(call, mock=names[call.rule])
        for call in calls
    ]


def calls_of(name: str, calls: Iterable[MockCall], mocks: Sequence[Mock]) -> list[MockCall]:
    """What a mock answered; for a spy everything that it matches, also what a mock answered."""
    for number, mock in enumerate(mocks):
        if mock.label(number) == name:
            return [call for call in calls if _belongs(call, mock, name)]
    known = ", ".join(mock.label(number) for number, mock in enumerate(mocks)) or "none"
    raise InputError(f"an eval is about the mock {name!r}, which the case does not have; it has: {known}")


def unheard(events: Iterable[ToolEvent], calls: Iterable[MockCall], mocks: Sequence[Mock]) -> str | None:
    """A tool that was called and of which no call was seen, although a mock or spy is about it."""
    heard = {call.tool.casefold() for call in calls}
    for event in events:
        if event.kind != "tool_call" or event.name.casefold() in heard:
            continue
        if any(call_matches(mock.match, event.name, event.input) for mock in mocks):
            return event.name
    return None


def _belongs(call: MockCall, mock: Mock, name: str) -> bool:
    return call.mock == name if mock.actions else call_matches(mock.match, call.tool, call.input)
