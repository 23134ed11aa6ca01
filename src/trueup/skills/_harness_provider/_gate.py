"""Mocks as the gate of an agent that asks before it acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trueup.core.protocols import Action, Decision
from trueup.harness import Capabilities, Instead, Mode, Permission

from .._case import Mock
from .._mocks import MockAction, MockDecision, as_command, decide, refusal_of, rewritten, stub_of
from .._model import MockCall

_ALL = frozenset({MockAction.STUB, MockAction.DENY, MockAction.REWRITE})
# An agent that is asked by these ways can be told no; only the first takes something else for an answer.
_POSSIBLE: Mapping[Permission, frozenset[MockAction]] = {
    Permission.STDIO: _ALL,
    Permission.APP_SERVER: frozenset({MockAction.DENY}),
    Permission.ACP: frozenset({MockAction.DENY}),
}


def possible_actions(capabilities: Capabilities, mode: Mode) -> frozenset[MockAction]:
    """What mocks can do on a harness in a mode."""
    if capabilities.permission is Permission.APP_SERVER and mode is Mode.READ_ONLY:
        # There nobody is asked: what its sandbox lets pass is run.
        return frozenset()
    return _POSSIBLE.get(capabilities.permission, frozenset())


def acts(mocks: Sequence[Mock]) -> bool:
    """Whether any of the mocks does something, so that there must be a gate."""
    return any(mock.actions for mock in mocks)


class MockGate:
    """A `Gate` that does what mocks say. `used` counts how often each stub has answered in the cell so far."""

    def __init__(self, mocks: Sequence[Mock], used: Counter[int]) -> None:
        self.notes: list[str] = []
        self._mocks = mocks
        self._used = used
        self._verdicts: list[tuple[str, MockCall]] = []

    async def decide(self, action: Action) -> Decision:
        tool = action.own_name or action.tool
        meant = decide(self._mocks, tool, action.params)
        seen = MockCall(tool=tool, input=action.params, action=meant.action.value, rule=meant.rule, mock=meant.name)
        self._verdicts.append((action.tool, seen))
        return self._answer(meant, tool, action)

    def verdict_on(self, tool: str) -> MockCall | None:
        """The oldest decision about a tool that was not yet asked for here."""
        for number, (name, verdict) in enumerate(self._verdicts):
            if name == tool:
                del self._verdicts[number]
                return verdict
        return None

    def _answer(self, meant: MockDecision, tool: str, action: Action) -> Decision:
        if meant.mock is None:
            return Decision(allowed=True)
        match meant.action:
            case MockAction.DENY:
                return Decision(allowed=False, rule=meant.name, reason=refusal_of(meant.mock))
            case MockAction.REWRITE:
                given = rewritten(meant.mock, action.params)
                return Instead(allowed=False, rule=meant.name, reason="rewritten by a mock", params=given)
        return self._stub(meant.mock, meant, tool, action)

    def _stub(self, mock: Mock, meant: MockDecision, tool: str, action: Action) -> Decision:
        stub = stub_of(mock, self._used[meant.rule or 0])
        self._used[meant.rule or 0] += 1
        if not isinstance(action.params.get("command"), str):
            self.notes.append(
                f"mock {meant.name!r} answered a call of {tool}, which is no shell command: it was refused, with the "
                "stub's output as the reason"
            )
            return Decision(allowed=False, rule=meant.name, reason=stub.output)
        command = {**action.params, "command": as_command(stub)}
        return Instead(allowed=False, rule=meant.name, reason="answered by a mock", params=command)
