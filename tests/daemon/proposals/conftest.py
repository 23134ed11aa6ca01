"""A client in memory, as a small program: tools that are coroutines, a state, rules, and a run that is a list."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from trueup.core.protocols import Action, Decision
from trueup.daemon._proposals import Proposal, ProposalResult, ToolAnswer, ToolCall, Tools, ToolSpec, submit
from trueup.runs import Turn

Body = Callable[[ToolCall], Awaitable[Any]]
Rule = Callable[[Action, Mapping[str, Any]], Decision | None]


class InMemoryGround:
    """A `Ground` whose client is in the same process. Time-outs are the actions' own, without a grace."""

    def __init__(self) -> None:
        self.tools = Tools()
        self.state: dict[str, Any] = {}
        self.rules: list[Rule] = []
        self.calls: list[ToolCall] = []
        self.stopped: list[tuple[str, str]] = []
        self.appends: list[list[Turn]] = []
        self._bodies: dict[str, Body] = {}

    def tool(self, name: str, body: Body | None = None, **parameters: Any) -> None:
        self.tools.register([ToolSpec(name, parameters=parameters)])
        self._bodies[name] = body or _echo

    @property
    def turns(self) -> list[Turn]:
        return [turn for append in self.appends for turn in append]

    async def decide(self, actions: Sequence[Action], state: Mapping[str, Any]) -> Sequence[Decision]:
        return [self._decide(action, state) for action in actions]

    def _decide(self, action: Action, state: Mapping[str, Any]) -> Decision:
        refused = (decision for rule in self.rules if (decision := rule(action, state)) is not None)
        return next(refused, Decision(True))

    async def call(self, call: ToolCall) -> ToolAnswer:
        self.calls.append(call)
        try:
            async with asyncio.timeout(None if call.timeout_ms is None else call.timeout_ms / 1000):
                said = await self._bodies[call.tool](call)
        except TimeoutError:
            self.stopped.append((call.action_id, "timeout"))
            return ToolAnswer(timed_out=True)
        except asyncio.CancelledError:
            self.stopped.append((call.action_id, "cancelled"))
            raise
        return said if isinstance(said, ToolAnswer) else ToolAnswer(said)

    async def record(self, turns: Sequence[Turn]) -> None:
        await asyncio.sleep(0)
        self.appends.append([*turns])


async def _echo(call: ToolCall) -> Any:
    # No client answers before others had a turn.
    await asyncio.sleep(0)
    return {"did": call.action_id}


@pytest.fixture(scope="session")
def new_ground() -> type[InMemoryGround]:
    return InMemoryGround


@pytest.fixture
def ground() -> InMemoryGround:
    return InMemoryGround()


@pytest.fixture(scope="session")
def propose() -> Callable[..., Proposal]:
    """A proposal of these actions, decoded as it comes over the wire."""

    def proposal(*actions: dict[str, Any]) -> Proposal:
        return msgspec.json.decode(msgspec.json.encode({"actions": actions}), type=Proposal)

    return proposal


@pytest.fixture
def submitted(ground: InMemoryGround, propose: Callable[..., Proposal]) -> Callable[..., Awaitable[ProposalResult]]:
    """Submit actions, and nothing hangs for ever."""

    async def submitted(*actions: dict[str, Any]) -> ProposalResult:
        async with asyncio.timeout(30):
            return await submit(propose(*actions), ground)

    return submitted


@pytest.fixture(scope="session")
def statuses() -> Callable[[ProposalResult], dict[str, str]]:
    return lambda result: {one.action_id: one.status for one in result.results}
