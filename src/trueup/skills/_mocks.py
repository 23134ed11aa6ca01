"""What is done about a tool call by the mocks of a case: decided here, carried out by whoever holds the agent."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ._case import Mock, Stub
from ._matching import call_matches


class MockAction(StrEnum):
    """What becomes of a tool call."""

    ALLOW = "allow"
    STUB = "stub"
    DENY = "deny"
    REWRITE = "rewrite"


class MockDecision(Struct, frozen=True):
    """What is done about one tool call, by which mock, and how many mocks with an action stand before that one."""

    action: MockAction = MockAction.ALLOW
    mock: Mock | None = None
    rule: int | None = None
    name: str | None = None


def action_of(mock: Mock) -> MockAction:
    """What a mock does; a spy allows everything."""
    if mock.stub is not None:
        return MockAction.STUB
    if mock.deny is not None:
        return MockAction.DENY
    return MockAction.ALLOW if mock.rewrite is None else MockAction.REWRITE


def decide(mocks: Sequence[Mock], tool: str, arguments: Any) -> MockDecision:
    """The first mock with an action that means this call decides; what none of them means runs as it is."""
    acting = [(number, mock) for number, mock in enumerate(mocks) if mock.actions]
    for rule, (number, mock) in enumerate(acting):
        if call_matches(mock.match, tool, arguments):
            return MockDecision(action_of(mock), mock, rule, mock.label(number))
    return MockDecision()


def refusal_of(mock: Mock) -> str:
    """What the agent reads instead of the result of a call that is denied."""
    return "" if mock.deny is None else mock.deny if isinstance(mock.deny, str) else mock.deny.message


def stubs_of(mock: Mock) -> list[Stub]:
    """What one call after the other seems to print; nothing where the mock does something else."""
    given = mock.stub if isinstance(mock.stub, list) else [] if mock.stub is None else [mock.stub]
    return [Stub(output=each) if isinstance(each, str) else each for each in given]


def stub_of(mock: Mock, earlier: int) -> Stub:
    """What a call seems to print, after so many earlier ones of the cell: a list is gone through, its last one stays."""
    each = stubs_of(mock)
    return each[min(earlier, len(each) - 1)]


def as_command(stub: Stub) -> str:
    """A shell command that does nothing but print and exit as the stub says."""
    printed = f"printf '%s' {shlex.quote(stub.output)}"
    # In a shell of its own: an `exit` would end one in which more is to come.
    return printed if stub.exit_code == 0 else f"{printed}; (exit {stub.exit_code % 256})"


def rewritten(mock: Mock, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call with those in their place that the mock gives."""
    return {**arguments, **(mock.rewrite or {})}
