"""Runs as others see them: listed, read, followed, cancelled, gone on with."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from trueup.runs import Ended, RunInfo, RunStore, StoredRecord, encode_json

from .._errors import Code, RpcError
from .._method import Call, Level, method
from .._subscriptions import run_feed, wire_record

PAGE = 10_000
# As much as goes into the answer itself; the rest follows as events.
SNAPSHOT = 1000
# What an answer holds, unless a single record is larger. The rest is further records, and asked for by its cursor.
MOST_ANSWER_BYTES = 32 << 20
FIRST_STEP = 16

Status = Literal["in_progress", "completed", "incomplete", "cancelled"]
Cursor = Annotated[int, Meta(ge=0, description="How many records are known already.")]


class ListRuns(Struct, frozen=True):
    """Whose runs, and how many of the newest."""

    agent_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE)] = 1000


class ListedRun(Struct, frozen=True):
    """One run. `ended_at` is absent while it goes on."""

    run_id: str
    agent_id: str | None
    intent: str
    started_at: str
    status: Status
    turn_count: int
    kind: str
    ended_at: str | UnsetType = UNSET


class ListedRuns(Struct, frozen=True):
    """Runs, newest first."""

    agent_id: str | None
    runs: list[ListedRun]


@method("runs.list", aside=True)
async def list_runs(call: Call, params: ListRuns) -> ListedRuns:
    """List runs, newest first."""
    found = await call.daemon.store.list(agent_id=params.agent_id, limit=params.limit)
    return ListedRuns(params.agent_id, [_listed(run) for run in found])


def _listed(run: RunInfo) -> ListedRun:
    return ListedRun(
        run.run_id,
        run.agent_id,
        run.intent,
        run.started_at,
        run.status,
        run.turn_count,
        run.kind,
        UNSET if run.ended_at is None else run.ended_at,
    )


class GetTrace(Struct, frozen=True):
    """A run, and where to begin in it."""

    run_id: str
    cursor: Cursor = 0
    limit: Annotated[int, Meta(ge=1, le=PAGE)] = PAGE


class Trace(Struct, frozen=True, kw_only=True):
    """The records of a run from the cursor on. `more` says that there are further ones from the new cursor.

    Of a run that there is not, only that.
    """

    run_id: str
    agent_id: str | UnsetType | None = UNSET
    records: list[dict[str, Any]] | UnsetType = UNSET
    cursor: int | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    more: bool | UnsetType = UNSET
    not_found: bool | UnsetType = UNSET


@method("runs.get_trace", aside=True)
async def get_trace(call: Call, params: GetTrace) -> Trace:
    """Read the records of a run, whoever wrote it."""
    store = call.daemon.store
    run = await store.get(params.run_id)
    if run is None:
        return Trace(run_id=params.run_id, not_found=True)
    last, records = await _read(store, run.run_id, params.cursor, params.limit)
    cursor = last.seq + 1 if last else min(params.cursor, run.record_count)
    return Trace(
        run_id=run.run_id,
        agent_id=run.agent_id,
        records=records,
        cursor=cursor,
        status=run.status,
        more=cursor < run.record_count,
    )


class Subscribe(Struct, frozen=True):
    """A run, and where to begin in it."""

    run_id: str
    cursor: Cursor = 0


class Subscribed(Struct, frozen=True):
    """What there is so far; the record after it comes with the next cursor as `runs.trace.event`."""

    run_id: str
    agent_id: str | None
    turns_so_far: list[dict[str, Any]]
    cursor: int
    status: Status


@method("runs.subscribe")
async def subscribe(call: Call, params: Subscribe) -> Subscribed:
    """Follow a run: what there is now, then every record as `runs.trace.event`, once and in order.

    A subscriber that does not keep up gets `runs.trace.dropped` with the cursor to go on from.
    """
    connection, store = call.connection, call.daemon.store
    run = await store.get(params.run_id)
    if run is None:
        said = f"there is no run {params.run_id}; runs.list shows those that there are"
        raise RpcError(Code.RUN_NOT_FOUND, said, {"run_id": params.run_id})
    last, records = await _read(store, run.run_id, params.cursor, SNAPSHOT)
    cursor = last.seq + 1 if last else min(params.cursor, run.record_count)
    status: Status = run.status if last is None else "in_progress"
    if last is not None and isinstance(last.record, Ended):
        status = last.record.status
    if status == "in_progress":
        call.afterwards = connection.subscriptions.promise(run.run_id, run_feed(run, cursor))
    return Subscribed(run.run_id, run.agent_id, records, cursor, status)


async def _read(store: RunStore, run_id: str, cursor: int, most: int) -> tuple[StoredRecord | None, Any]:
    """As many records as an answer holds, as the JSON that they go out as, and the last of them."""
    last: StoredRecord | None = None
    parts: list[bytes] = []
    count = size = 0
    step = FIRST_STEP
    while count < most and size < MOST_ANSWER_BYTES:
        wanted = min(step, most - count)
        found = await store.trace(run_id, after=last.seq if last else cursor - 1, limit=wanted)
        if found:
            last, count = found[-1], count + len(found)
            parts.append(await asyncio.to_thread(_encoded, found))
            size += len(parts[-1])
        if len(found) < wanted:
            break
        # As many more as will fit if they are as large as those so far; small ones are soon read in few steps.
        step = max(1, min(step * 8, (MOST_ANSWER_BYTES - size) * count // size))
    return last, Raw(b"[" + b",".join(parts) + b"]")


def _encoded(records: list[StoredRecord]) -> bytes:
    return encode_json([wire_record(each) for each in records])[1:-1]


class OneRun(Struct, frozen=True):
    """A run by its id."""

    run_id: str


class Unsubscribed(Struct, frozen=True):
    """Whether there was a subscription."""

    run_id: str
    unsubscribed: bool


@method("runs.unsubscribe")
async def unsubscribe(call: Call, params: OneRun) -> Unsubscribed:
    """Stop following a run."""
    return Unsubscribed(params.run_id, call.connection.subscriptions.end(params.run_id))


class CancelRun(Struct, frozen=True):
    """A run, and why it must end. The same key gives the same receipt."""

    run_id: str
    idempotency_key: str | None = None
    reason: str = ""


class Receipt(Struct, frozen=True):
    """That a run was cancelled, when and why."""

    run_id: str
    agent_id: str | None
    idempotency_key: str | None
    status: Status
    reason: str
    cancelled_at: str | None


@method("runs.cancel")
async def cancel(call: Call, params: CancelRun) -> Receipt:
    """End a run early, with whatever is being done for it. A human may cancel a run of any client of this daemon."""
    data = {"idempotency_key": params.idempotency_key, "reason": params.reason}
    ended = Ended("cancelled", params.reason, data, termination=params.reason or "cancelled")
    any_run = call.connection.level is Level.HUMAN
    try:
        await call.daemon.runs.cancel(params.run_id, ended, call.connection, any_run=any_run)
    except RpcError as error:
        if error.code is not Code.RUN_ENDED or not await _was_cancelled_by(call, params):
            raise
    run = await call.daemon.store.find(params.run_id)
    return Receipt(run.run_id, run.agent_id, params.idempotency_key, run.status, run.summary, run.ended_at)


async def _was_cancelled_by(call: Call, params: CancelRun) -> bool:
    last = await call.daemon.store.trace(params.run_id, types=["ended"])
    outcome = last[-1].record.outcome if last and isinstance(last[-1].record, Ended) else {}
    return params.idempotency_key is not None and outcome.get("idempotency_key") == params.idempotency_key


class Resumed(Struct, frozen=True):
    """The run, which is the connection's current one from now on, and who wrote it before."""

    run_id: str
    agent_id: str
    client_id: str
    resumed_from_client_id: str


@method("runs.resume")
async def resume(call: Call, params: OneRun) -> Resumed:
    """Go on with a run whose client went away a moment ago."""
    run, before = await call.daemon.runs.resume(params.run_id, call.connection)
    return Resumed(run.run_id, run.agent_id, call.connection.client_id, before)
