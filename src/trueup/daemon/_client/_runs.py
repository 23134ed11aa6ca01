"""Runs from a program: one that it writes, and those that it reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from trueup.core.errors import InputError, TrueupError
from trueup.runs import AnyRecord

from .._errors import Code, RpcError
from .._methods._runs import (
    CompleteRun,
    Outcome,
    RecordModelTurn,
    RecordTurns,
    RequestedToolCall,
    RunAcknowledged,
    RunTurn,
    TokenUsage,
    TurnsRecorded,
)
from .._methods._traces import (
    CancelRun,
    GetTrace,
    ListedRun,
    ListedRuns,
    ListRuns,
    OneRun,
    Receipt,
    Status,
    Subscribe,
    Subscribed,
    Trace,
    Unsubscribed,
)
from .._proposals import Proposal, ProposalResult, ToolCallAction
from ._errors import ActionError
from ._following import Inboxes

if TYPE_CHECKING:
    from ._client import Client

# How long the daemon is waited for when a run ends because something went wrong here.
LEAVING_SECS = 5.0


class TraceEvent(Struct, frozen=True, kw_only=True):
    """A record of a run, with its time. `cursor` is where to go on after it, `status` how the run stood then."""

    run_id: str
    cursor: int
    status: Status
    at: str
    record: AnyRecord


class _Event(Struct, frozen=True):
    """A record as the daemon tells of it."""

    run_id: str
    cursor: int
    status: Status
    record: dict[str, Any]

    def typed(self) -> TraceEvent:
        return TraceEvent(
            run_id=self.run_id,
            cursor=self.cursor,
            status=self.status,
            at=self.record["at"],
            record=msgspec.convert(self.record, AnyRecord),
        )


class Run:
    """A run that this program writes. What it submits is recorded on it, on disk before the answer comes."""

    def __init__(self, client: Client, run_id: str, agent_id: str, open_runs: list[Run]) -> None:
        self.id = run_id
        self.agent_id = agent_id
        self._client = client
        # The daemon records on the run that was opened last.
        self._open_runs = open_runs

    async def submit(self, proposal: Proposal) -> ProposalResult:
        """Have a proposal done, and recorded here. A refused action is a result, and no error."""
        self._must_be_current()
        return await self._client.submit(proposal)

    async def call(self, tool: str, /, **parameters: Any) -> Any:
        """The output of one tool; an `ActionError` where it was refused or failed."""
        result = await self.submit(Proposal(actions=[ToolCallAction(tool=tool, parameters=parameters)]))
        action = result.results[0]
        if action.status != "succeeded":
            raise ActionError(tool, action)
        return None if action.output is UNSET else action.output

    async def record_turn(self, *turns: RunTurn) -> int:
        """Record turns that were made elsewhere, all or none; the number of the first."""
        return self._recorded(
            await self._client.call("runs.record_turns", RecordTurns(self.id, list(turns)), TurnsRecorded)
        )

    async def model_turn(
        self,
        text: str,
        *,
        model: str | None = None,
        tool_calls: Sequence[RequestedToolCall] = (),
        usage: TokenUsage | None = None,
        duration_ms: float | None = None,
    ) -> int:
        """Record what a model answered; the number of the turn."""
        turn = RecordModelTurn(
            self.id,
            assistant_text=text,
            requested_tool_calls=list(tool_calls),
            model_id=model,
            token_usage=usage,
            duration_ms=duration_ms,
        )
        return self._recorded(await self._client.call("runs.record_model_turn", turn, TurnsRecorded))

    async def complete(
        self, summary: str = "", *, status: str | None = None, evidence: Any = None, metrics: Any = None
    ) -> None:
        """End the run with its outcome. One that is not ended by the end of its block ends then, without one."""
        outcome = Outcome(
            status=UNSET if status is None else status,
            summary=summary,
            evidence=UNSET if evidence is None else evidence,
            metrics=UNSET if metrics is None else metrics,
        )
        await self._client.call("runs.complete", CompleteRun(self.id, outcome), RunAcknowledged)
        self._open_runs.remove(self)

    @property
    def is_open(self) -> bool:
        """Whether this program can still write to it."""
        return self in self._open_runs

    def _must_be_current(self) -> None:
        if not self.is_open:
            raise RpcError(Code.RUN_ENDED, f"run {self.id} has ended already", {"run_id": self.id})
        current = self._open_runs[-1]
        if current is not self:
            raise InputError(
                f"run {self.id} is not the one that is recorded on: {current.id} was opened after it; "
                f"end that one first, or write it over a connection of its own"
            )

    def _recorded(self, recorded: TurnsRecorded) -> int:
        if recorded.ok:
            return recorded.base_index
        gone = recorded.dropped == "run_not_found"
        said = f"there is no run {self.id}" if gone else f"run {self.id} has ended already"
        raise RpcError(Code.RUN_NOT_FOUND if gone else Code.RUN_ENDED, said, {"run_id": self.id})


@asynccontextmanager
async def written(run: Run, open_runs: list[Run], runs: Runs) -> AsyncIterator[Run]:
    """Write a run in a block; its end is the run's, and what goes wrong in it is why it was cancelled."""
    open_runs.append(run)
    try:
        yield run
        if run.is_open:
            await run.complete()
    except BaseException as error:
        if run.is_open:
            await _give_up(run, runs, error)
        raise
    finally:
        if run.is_open:
            open_runs.remove(run)


async def _give_up(run: Run, runs: Runs, error: BaseException) -> None:
    """Say why a run ends; where nobody can be told, the daemon ends it as incomplete by itself."""
    why = "cancelled" if isinstance(error, asyncio.CancelledError) else f"{type(error).__name__}: {error}"
    with suppress(TrueupError, TimeoutError):
        async with asyncio.timeout(LEAVING_SECS):
            await runs.cancel(run.id, why)


class Runs:
    """Runs that anybody wrote."""

    def __init__(self, client: Client, inboxes: Inboxes) -> None:
        self._client = client
        self._inboxes = inboxes

    async def list(self, *, agent_id: str | None = None, limit: int = 1000) -> list[ListedRun]:
        """The newest runs, the newest first."""
        return (await self._client.call("runs.list", ListRuns(agent_id, limit), ListedRuns)).runs

    async def trace(self, run_id: str, *, cursor: int = 0) -> AsyncGenerator[TraceEvent]:
        """The records that there are now, page by page."""
        while True:
            page = await self._client.call("runs.get_trace", GetTrace(run_id, cursor), Trace)
            if page.records is UNSET or page.status is UNSET:
                raise no_run(run_id)
            for record in page.records:
                cursor += 1
                yield _Event(run_id, cursor, page.status, record).typed()
            if page.more is not True:
                return

    async def cancel(self, run_id: str, reason: str, *, idempotency_key: str | None = None) -> Receipt:
        """End a run early, with whatever is being done for it."""
        return await self._client.call("runs.cancel", CancelRun(run_id, idempotency_key, reason), Receipt)

    async def follow(self, run_id: str, *, cursor: int = 0) -> AsyncGenerator[TraceEvent]:
        """Every record, once and in order: those that there are, and those that come, until the run has ended."""
        with self._inboxes.open("run_id", run_id) as inbox:
            try:
                while True:
                    inbox.renew()
                    found = await self._client.call("runs.subscribe", Subscribe(run_id, cursor), Subscribed)
                    for record in found.turns_so_far:
                        cursor += 1
                        yield _Event(run_id, cursor, _status_at(record), record).typed()
                    if found.status != "in_progress":
                        return
                    event: _Event | None
                    while (event := await inbox.next(_Event)) is not None:
                        cursor = event.cursor
                        yield event.typed()
                        if event.status != "in_progress":
                            return
                    # What is still on its way must not be taken for what the next subscription brings.
                    await self._unsubscribe(run_id)
            finally:
                with suppress(TrueupError):
                    await self._unsubscribe(run_id)

    async def _unsubscribe(self, run_id: str) -> None:
        await self._client.call("runs.unsubscribe", OneRun(run_id), Unsubscribed)


def _status_at(record: dict[str, Any]) -> Status:
    return record["status"] if record["kind"] == "ended" else "in_progress"


def no_run(run_id: str) -> RpcError:
    """What is told of a run that there is not."""
    said = f"there is no run {run_id}; client.runs.list() shows those that there are"
    return RpcError(Code.RUN_NOT_FOUND, said, {"run_id": run_id})
