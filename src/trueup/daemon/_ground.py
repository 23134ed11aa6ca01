"""Where the actions of a proposal happen: the connection that it came by, and the run that was open then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from trueup.core.errors import InfrastructureError
from trueup.core.protocols import Action, Decision
from trueup.policy import PolicyGate
from trueup.runs import Turn

from ._callbacks import ClientGoneError
from ._jsonrpc import Answer, value_of
from ._proposals import ToolAnswer, ToolCall, Tools

if TYPE_CHECKING:
    from ._connection import Connection


_ALLOWED = Decision(allowed=True)
# However many policies there are to ask, others get their turn on the loop.
AT_A_STRETCH_SECS = 0.01


class ToolRequest(Struct, frozen=True):
    """What the client is told of the tool that it should run."""

    action_id: str
    tool: str
    parameters: dict[str, Any]
    timeout_ms: int | None
    attempt: int
    request_id: str
    session_id: str


class ClientGround:
    """A client's tools, state, policies and current run, as one proposal sees them."""

    def __init__(self, connection: Connection, session_id: str | None = None, tenant: str | None = None) -> None:
        self._connection = connection
        self._session_id = session_id
        self._tenant = tenant
        self.run = connection.current_run

    @property
    def tools(self) -> Tools:
        """What can be called."""
        return self._connection.tools

    @property
    def state(self) -> MutableMapping[str, Any]:
        """What is kept by key."""
        return self._connection.state(self._tenant)

    @property
    def _is_bound(self) -> bool:
        """Whether there is any policy to ask; most often there is none."""
        return bool(self._connection.policies.applying(self._session_id))

    @cached_property
    def _gate(self) -> PolicyGate:
        return PolicyGate(self._connection.policies, session_id=self._session_id, state=self.state)

    async def decide(self, actions: Sequence[Action], state: Mapping[str, Any]) -> Sequence[Decision]:
        """What the policies say."""
        if not self._is_bound:
            return [_ALLOWED] * len(actions)
        gates = [each.rehearsal(state) for each in (self._gate, self._connection.daemon.gate)]
        decisions = []
        since = perf_counter()
        for action in actions:
            decisions.append(await _first_refusal(gates, action))
            if perf_counter() - since > AT_A_STRETCH_SECS:
                await asyncio.sleep(0)
                since = perf_counter()
        return decisions

    async def call(self, call: ToolCall) -> ToolAnswer:
        """Ask the client."""
        connection = self._connection
        if self._is_bound:
            # What was allowed when the proposal was judged may have been used up by another since.
            gates = (self._gate, self._connection.daemon.gate)
            decision = await _first_refusal(gates, Action(call.tool, call.parameters))
            if not decision.allowed:
                return ToolAnswer(refused=decision)
        request_id = connection.callbacks.next_id()
        request = ToolRequest(
            call.action_id,
            call.tool,
            call.parameters,
            call.timeout_ms,
            call.attempt,
            request_id,
            self._session_id or connection.client_id,
        )
        try:
            return _read(await connection.callbacks.ask(request_id, "tools.execute", request, call.wait_secs))
        except TimeoutError:
            await self._stop(request, "timeout")
            return ToolAnswer(error=f"no answer within {call.wait_secs:g} s", timed_out=True)
        except asyncio.CancelledError:
            await self._stop(request, "cancelled")
            raise
        except ClientGoneError:
            said = f"the client went away before tool '{call.tool}' had answered"
            raise InfrastructureError(said) from None

    async def _stop(self, request: ToolRequest, reason: str) -> None:
        told = {"request_id": request.request_id, "action_id": request.action_id, "reason": reason}
        with suppress(ClientGoneError):
            await self._connection.callbacks.tell("tools.cancel", told)

    async def record(self, turns: Sequence[Turn]) -> None:
        """Keep turns on the run; one that was ended meanwhile takes none."""
        if self.run is not None:
            await self._connection.daemon.runs.record(self.run, turns)


async def _first_refusal(gates: Sequence[PolicyGate], action: Action) -> Decision:
    for gate in gates:
        decision = await gate.decide(action)
        if not decision.allowed:
            return decision
    return _ALLOWED


def _read(answer: Answer) -> ToolAnswer:
    try:
        error = None if answer.error is UNSET else value_of(answer.error)
        if error is None:
            return ToolAnswer(None if answer.result is UNSET else value_of(answer.result))
    except ValueError as unreadable:
        return ToolAnswer(error=f"the tool's answer cannot be read: {unreadable}")
    if not isinstance(error, dict):
        return ToolAnswer(error=str(error))
    data = error.get("data")
    terminal = isinstance(data, dict) and data.get("terminal") is True
    return ToolAnswer(error=str(error.get("message") or "the tool failed"), terminal=terminal)
