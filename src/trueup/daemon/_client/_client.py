"""What a program can ask of a daemon, with types."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import UNSET

from .._methods._policy import (
    ListedPolicies,
    ListPolicies,
    PolicyRegistered,
    PolicyUnregistered,
    RegisterPolicy,
    UnregisterPolicy,
)
from .._methods._proposal import SubmitProposal, VerifyProposal
from .._methods._runs import RunStarted, StartRun
from .._methods._state import Key, KeyAndValue
from .._methods._tools import ListedTools, OneTool, ToolUnregistered
from .._methods._traces import OneRun, Resumed
from .._proposals import Proposal, ProposalResult, ToolInfo, Verification
from ._incoming import Incoming
from ._link import Link
from ._runs import Run, Runs, TraceEvent, written
from ._tools import Tool

if TYPE_CHECKING:
    from trueup.policy import Listed

    from ._sessions import Sessions

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Client:
    """A program's side of a connection. `connect` makes one."""

    def __init__(self, link: Link, incoming: Incoming) -> None:
        self._link = link
        self._toolbox = incoming.toolbox
        self._inboxes = incoming.inboxes
        self._open_runs: list[Run] = []

    @overload
    async def call(self, method: str, params: Any = ...) -> Any: ...
    @overload
    async def call(self, method: str, params: Any, result_type: type[T]) -> T: ...
    async def call(self, method: str, params: Any = None, result_type: Any = Any) -> Any:
        """The result of any method of the wire; an `RpcError` where it is refused."""
        unannounced = self._toolbox.take_unannounced()
        if unannounced:
            await self._link.ask("tools.register", unannounced, int)
        return await self._link.ask(method, {} if params is None else params, result_type)

    @overload
    def tool(self, function: F) -> F: ...
    @overload
    def tool(self, *, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...
    def tool(
        self, function: F | None = None, *, name: str | None = None, description: str | None = None
    ) -> F | Callable[[F], F]:
        """Make a function a tool: `@client.tool`. The daemon hears of it with whatever is asked next."""

        def register(function: F) -> F:
            self._toolbox.add(Tool(function, name, description))
            return function

        return register if function is None else register(function)

    async def tools(self) -> list[ToolInfo]:
        """The tools that the daemon knows of this client, by name."""
        return (await self.call("tools.list", {}, ListedTools)).tools

    async def forget_tool(self, name: str) -> bool:
        """Have a tool no more; whether there was one."""
        return (await self.call("tools.unregister", OneTool(name), ToolUnregistered)).removed > 0

    async def verify(
        self, proposal: Proposal, *, initial_state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Verification:
        """What `submit` would refuse of a proposal."""
        return await self.call("verify", VerifyProposal(proposal, initial_state, session_id), Verification)

    async def submit(self, proposal: Proposal, *, session_id: str | None = None) -> ProposalResult:
        """Have a proposal done, and recorded on the run that was opened last. A refused action is a result."""
        return await self.call("proposal.submit", SubmitProposal(proposal, session_id), ProposalResult)

    @asynccontextmanager
    async def run(
        self,
        intent: str,
        *,
        agent_id: str | None = None,
        agent_name: str | None = None,
        outcome_description: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[Run]:
        """Begin a run, which ends with the block: completed, or cancelled where something went wrong in it."""
        asked = StartRun(intent, agent_id, agent_name, outcome_description, idempotency_key)
        started = await self.call("runs.start", asked, RunStarted)
        run = Run(self, started.run_id, started.agent_id, self._open_runs)
        async with written(run, self._open_runs, self.runs):
            yield run

    @asynccontextmanager
    async def resume(self, run_id: str) -> AsyncIterator[Run]:
        """Go on with a run whose connection was lost a moment ago; it ends with the block."""
        resumed = await self.call("runs.resume", OneRun(run_id), Resumed)
        run = Run(self, resumed.run_id, resumed.agent_id, self._open_runs)
        async with written(run, self._open_runs, self.runs):
            yield run

    def follow(self, run_id: str, *, cursor: int = 0) -> AsyncGenerator[TraceEvent]:
        """Every record of a run, once and in order, until it has ended; after the first `cursor` of them."""
        return self.runs.follow(run_id, cursor=cursor)

    @cached_property
    def runs(self) -> Runs:
        """Runs that anybody wrote."""
        return Runs(self, self._inboxes)

    @cached_property
    def policies(self) -> Policies:
        """What this client's proposals are held to."""
        return Policies(self)

    @cached_property
    def state(self) -> State:
        """What is kept by key for as long as the connection lasts."""
        return State(self)

    @cached_property
    def sessions(self) -> Sessions:
        """Coder sessions."""
        # Whoever only records runs need not wait for the whole coder to load.
        from ._sessions import Sessions

        return Sessions(self, self._inboxes)


class Policies:
    """Policies of the connection, or with `session_id` of one of its sessions."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def register(
        self,
        name: str,
        rule: str,
        *,
        target: str | None = None,
        key: str | None = None,
        pattern: str | list[str] | None = None,
        value: Any = UNSET,
        session_id: str | None = None,
    ) -> None:
        """Hold every later proposal to a rule; one of the same name is replaced."""
        asked = RegisterPolicy(name, rule, target, key, pattern, value, session_id)
        await self._client.call("policy.register", asked, PolicyRegistered)

    async def unregister(self, name: str, *, session_id: str | None = None) -> bool:
        """Take a policy away; whether there was one."""
        asked = UnregisterPolicy(name, session_id)
        return (await self._client.call("policy.unregister", asked, PolicyUnregistered)).removed > 0

    async def list(self, *, session_id: str | None = None) -> list[Listed]:
        """The policies, in the order in which they are asked."""
        return (await self._client.call("policy.list", ListPolicies(session_id), ListedPolicies)).policies


class State:
    """What proposals read and write."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, key: str) -> Any:
        """The value of a key; None where there is none."""
        return await self._client.call("state.get", Key(key))

    async def set(self, key: str, value: Any) -> None:
        """Keep a value."""
        await self._client.call("state.set", KeyAndValue(key, value))

    async def exists(self, key: str) -> bool:
        """Whether a key has a value."""
        return await self._client.call("state.exists", Key(key), bool)

    async def keys(self) -> list[str]:
        """Every key, sorted."""
        return await self._client.call("state.keys", {}, list[str])

    async def snapshot(self) -> dict[str, Any]:
        """Everything that is kept."""
        return await self._client.call("state.snapshot", {}, dict[str, Any])
