"""`trueup runs`"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import click
import msgspec

from trueup.core.text import visible
from trueup.runs import (
    AnyRecord,
    CheckRecord,
    Ended,
    EventRecord,
    ModelTurn,
    RunInfo,
    RunStore,
    Started,
    StoredRecord,
    Turn,
    Verification,
)

from ._main import EXIT_NO
from ._shared import T, json_option, run_async, show

LINE_WIDTH = 100


@click.group()
def command() -> None:
    """What happened: recorded runs, their records, and whether they are whole.

    A RUN is named by its id or the beginning of it.
    """


@command.command("list")
@click.option("--kind", help="Only runs of this kind.")
@click.option("--agent", metavar="ID", help="Only runs of this agent.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most.")
@json_option
def list_command(kind: str | None, agent: str | None, limit: int, as_json: bool) -> None:
    """List runs, newest first.

    \b
    Examples:
      trueup runs list
      trueup runs list --kind code --limit 5
    """
    found = _with_store(lambda store: store.list(kind=kind, agent_id=agent, limit=limit))
    text = "\n".join(_run_line(run) for run in found) or "no runs"
    show(msgspec.to_builtins(found), text, as_json=as_json)


@command.command("show")
@click.argument("run")
@click.option("--full", is_flag=True, help="Print every record whole.")
@json_option
def show_command(run: str, full: bool, as_json: bool) -> None:
    """Show what happened in RUN, one line a record.

    \b
    Examples:
      trueup runs show 0v0r
      trueup runs show 0v0r --full
    """

    async def read(store: RunStore) -> tuple[RunInfo, list[StoredRecord]]:
        info = await store.find(run)
        return info, await store.trace(info.run_id)

    info, records = _with_store(read)
    lines = [_run_line(info), *(_whole_text(each) if full else _record_line(each) for each in records)]
    show({"run": msgspec.to_builtins(info), "records": _data(records)}, "\n".join(lines), as_json=as_json)


@command.command("tail")
@click.argument("run")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="Begin with the last N records; default: all.")
@json_option
def tail_command(run: str, lines: int | None, as_json: bool) -> None:
    """Follow RUN until it ends, one line a record, whichever process writes it.

    \b
    Examples:
      trueup runs tail 0v0r
      trueup runs tail 0v0r -n 0 --json
    """

    async def follow(store: RunStore) -> None:
        info = await store.find(run)
        after = -1 if lines is None else max(-1, info.record_count - lines - 1)
        async for each in store.follow(info.run_id, after=after):
            # Printing can block as long as a reader likes.
            await asyncio.to_thread(click.echo, _json_line(each) if as_json else visible(_record_line(each)))

    _with_store(follow)


@command.command("verify")
@click.argument("run")
@json_option
def verify_command(run: str, as_json: bool) -> None:
    """Say whether RUN is as it was written: exit 0, or 1 with where it breaks.

    Every record carries the hash of the one before it, and the run remembers the last. A record or payload that was
    altered, removed, added or moved since is found.

    \b
    Example:
      trueup runs verify 0v0r
    """

    async def verify(store: RunStore) -> tuple[str, Verification]:
        info = await store.find(run)
        return info.run_id, await store.verify(info.run_id)

    run_id, found = _with_store(verify)
    text = f"{run_id}: whole, {_count(found.records)}" if found.ok else f"{run_id}: broken: {found.problem}"
    show({"run_id": run_id, **msgspec.to_builtins(found)}, text, as_json=as_json)
    if not found.ok:
        raise click.exceptions.Exit(EXIT_NO)


def _with_store(work: Callable[[RunStore], Coroutine[Any, Any, T]]) -> T:
    async def inside() -> T:
        async with await RunStore.open() as store:
            return await work(store)

    return run_async(inside())


def _data(records: list[StoredRecord]) -> list[Any]:
    return [msgspec.to_builtins(each) for each in records]


def _json_line(stored: StoredRecord) -> str:
    return json.dumps(msgspec.to_builtins(stored), ensure_ascii=False)


def _run_line(run: RunInfo) -> str:
    turns = f"{run.turn_count} turn{'' if run.turn_count == 1 else 's'}"
    return f"{run.run_id}  {run.started_at[:19]}Z  {run.kind}  {run.status:<11}  {turns:>9}  {_short(run.intent)}"


def _record_line(stored: StoredRecord) -> str:
    return f"{stored.seq:>5}  {stored.at[:23]}Z  {_short(_sentence(stored.record))}"


def _whole_text(stored: StoredRecord) -> str:
    whole = json.dumps(msgspec.to_builtins(stored.record), indent=2, ensure_ascii=False)
    return f"{stored.seq:>5}  {stored.at}  {stored.hash}\n{whole}"


def _sentence(record: AnyRecord) -> str:
    match record:
        case Started():
            return f"started: {record.intent}"
        case Turn():
            return f"turn {record.index}: {record.tool or 'no tool'}{_outcome(record)} {record.prompt or ''}"
        case ModelTurn():
            return f"model turn {record.index}: {record.model_id or 'a model'}: {record.assistant_text}"
        case CheckRecord(result=result):
            colour = "green" if result.get("passed") else "red"
            return f"check: {result.get('name', 'unnamed')}: {colour} {result.get('reason') or ''}"
        case EventRecord():
            return f"{record.type}: {json.dumps(record.data, ensure_ascii=False)}" if record.data else record.type
        case Ended():
            return f"ended: {record.status} {record.summary}"


def _outcome(turn: Turn) -> str:
    if turn.policy_rejected is not None:
        return f" (refused by {turn.policy_rejected.get('rule')})"
    return "" if turn.verifier_verdict == "not_run" else f" ({turn.verifier_verdict})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_WIDTH else f"{line[: LINE_WIDTH - 1]}…"


def _count(records: int) -> str:
    return f"{records} record{'' if records == 1 else 's'}"
