"""`trueup runs`"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.core.errors import InputError
from trueup.runs import Pruned, RunInfo, RunStore, StoredRecord, Totals, Verification, encode_json

from ._main import EXIT_NO, tell
from ._runs_export import export, send
from ._runs_view import found_text, left_out, pruned_text, run_line, run_lines, shown, step_line, whole_text
from ._runs_when import moment
from ._shared import T, Verbs, harmless_json, is_terminal, json_option, quiet_option, run_async, show
from ._values import RUN
from ._waiting import Waiting

MOST_SHOWN = 500
MOST = 1_000_000_000
COUNT = click.IntRange(1, MOST)
STATUSES = ["in_progress", "completed", "incomplete", "cancelled"]


@click.group(cls=Verbs)
def command() -> None:
    """What happened: recorded runs, their records, and whether they are whole.

    A RUN is named by its id or the beginning of it.

    \b
    Examples:
      trueup runs list
      trueup runs show 0v0r
    """


@command.command("list")
@click.option("--kind", help="Only runs of this kind: session, race, cell (of a skill test), run (of a program).")
@click.option("--agent", metavar="ID", help="Only runs of this agent.")
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many at most.")
@json_option
def list_command(kind: str | None, agent: str | None, limit: int, as_json: bool) -> None:
    """List runs, newest first.

    \b
    Examples:
      trueup runs list
      trueup runs list --kind session --limit 5
    """
    found = _with_store(lambda store: store.list(kind=kind, agent_id=agent, limit=limit))
    text = "\n".join(run_lines(found)) or "no runs"
    show(msgspec.to_builtins(found), text, as_json=as_json)


@command.command("show")
@click.argument("run", type=RUN)
@click.option("--full", is_flag=True, help="Print every record whole.")
@click.option("--after", type=click.IntRange(-1, MOST), default=-1, metavar="SEQ", help="Begin after this record.")
@click.option("--limit", type=COUNT, help="How many records at most; default: 500, and all for --json.")
@json_option
def show_command(run: str, full: bool, after: int, limit: int | None, as_json: bool) -> None:
    """Draw what happened in RUN: each turn with its tool, outcome, verdict, time, tokens and cost.

    A failed verdict is amber: it is a finding, and no failure of the run.

    \b
    Examples:
      trueup runs show 0v0r
      trueup runs show 0v0r --full --after 120 --limit 1
    """

    async def draw(store: RunStore) -> None:
        info = await store.find(run)
        if as_json:
            await _print_json(store, info, after, limit)
        else:
            await _print_timeline(store, info, after, limit or MOST_SHOWN, full=full)

    _with_store(draw)


@command.command("tail")
@click.argument("run", type=RUN)
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
        totals = Totals()
        async for each in store.follow(info.run_id, after=after):
            await _echo(_json_line(each) if as_json else step_line(each, info, totals))

    _with_store(follow)


@command.command("search")
@click.argument("words")
@click.option("--kind", help="Only in runs of this kind: session, race, cell, run.")
@click.option("--agent", metavar="ID", help="Only in runs of this agent.")
@click.option("--status", type=click.Choice(STATUSES), help="Only in runs that stand so.")
@click.option("--since", callback=moment, metavar="TIME", help="Only records since: 30d, 12h, 2026-01-31.")
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many at most.")
@quiet_option
@json_option
def search_command(
    words: str,
    kind: str | None,
    agent: str | None,
    status: str | None,
    since: str | None,
    limit: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find records that have all WORDS, the latest first: in intents, prompts, tools, outputs, answers, checks, events.

    "Words in quotes" follow each other, and word* is the beginning of one. What was recorded since the last search is
    made findable first, which can take a while.

    \b
    Examples:
      trueup runs search "timeout pytest"
      trueup runs search '"connection refused"' --since 7d
    """
    with Waiting("searching", quiet=quiet or as_json):
        found = _with_store(
            lambda store: store.search(words, kind=kind, agent_id=agent, status=status, since=since, limit=limit)
        )
    text = "\n".join(found_text(each) for each in found) or "nothing found"
    show(msgspec.to_builtins(found), text, as_json=as_json)


@command.command("export")
@click.argument("run", type=RUN)
@click.option("--format", "form", type=click.Choice(["jsonl", "otlp", "html"]), default="jsonl", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of to stdout.")
@click.option("--endpoint", metavar="URL", help="Send OTLP to a collector, as http://HOST:4318, instead of writing it.")
@click.option("--content", is_flag=True, help="OTLP: with prompts, parameters, outputs and answers.")
@quiet_option
def export_command(run: str, form: str, output: Path | None, endpoint: str | None, content: bool, quiet: bool) -> None:
    """Export RUN: every record as a line of JSON, OpenTelemetry spans, or a page that stands alone.

    \b
    Examples:
      trueup runs export 0v0r > run.jsonl
      trueup runs export 0v0r --format html --output run.html
      trueup runs export 0v0r --format otlp --endpoint http://localhost:4318
    """
    if form != "otlp" and (endpoint is not None or content):
        raise InputError("--endpoint and --content are for --format otlp")
    if endpoint is not None and output is not None:
        raise InputError("--endpoint sends the run, and --output writes it: choose one")

    async def work(store: RunStore) -> None:
        info = await store.find(run)
        if endpoint is not None:
            await send(store, info, endpoint, content=content)
        else:
            await export(store, info, form, output, content=content)

    # What scrolls by shows well enough that something happens.
    scrolls = output is None and endpoint is None and is_terminal(sys.stdout)
    with Waiting(f"exporting {run}", quiet=quiet or scrolls):
        _with_store(work)
    if output is not None and str(output) != "-" and not quiet:
        tell(f"written: {output}")


@command.command("prune")
@click.option("--older-than", callback=moment, metavar="AGE", help="Runs that ended so long ago: 30d, 12h, 2026-01-31.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N runs that have ended.")
@click.option("--kind", help="Only runs of this kind: session, race, cell (of a skill test), run (of a program).")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@quiet_option
@json_option
def prune_command(
    older_than: str | None, keep: int | None, kind: str | None, dry_run: bool, yes: bool, quiet: bool, as_json: bool
) -> None:
    """Remove runs that have ended, and give their space back.

    Never one that is open, and so no session that can be resumed. Nothing is removed unless this is called.

    \b
    Examples:
      trueup runs prune --older-than 30d --dry-run
      trueup runs prune --keep 100 --yes
    """
    if older_than is None and keep is None:
        raise InputError("say which runs are to go: --older-than 30d, or --keep 100")

    def prune(what: str, *, dry_run: bool) -> Pruned:
        with Waiting(what, quiet=quiet or as_json):
            return _with_store(lambda store: store.prune(before=older_than, keep=keep or 0, kind=kind, dry_run=dry_run))

    found = prune("looking for what would go", dry_run=True)
    if not dry_run and found.runs:
        _ask(found, yes=yes)
    if not dry_run:
        found = prune("removing runs", dry_run=False)
    show(msgspec.to_builtins(found), pruned_text(found, dry_run=dry_run), as_json=as_json)


@command.command("verify")
@click.argument("run", type=RUN)
@quiet_option
@json_option
def verify_command(run: str, quiet: bool, as_json: bool) -> None:
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

    with Waiting(f"verifying {run}", quiet=quiet or as_json):
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


def _ask(found: Pruned, *, yes: bool) -> None:
    if yes:
        return
    if not is_terminal(sys.stdin):
        raise InputError(f"{len(found.runs)} runs would be removed for good: say --yes, or look with --dry-run")
    tell(pruned_text(found, dry_run=True))
    if not click.confirm("Remove them for good?", err=True):
        raise click.exceptions.Exit(EXIT_NO)


async def _print_timeline(store: RunStore, run: RunInfo, after: int, limit: int, *, full: bool) -> None:
    await _echo(shown(run_line(run)))
    totals, last = Totals(), after
    async for page in store.pages(run.run_id, after=after, until=min(after + limit, run.record_count - 1)):
        for stored in page:
            line = step_line(stored, run, totals)
            await _echo(whole_text(stored) if full else line)
            last = stored.seq
    missing = left_out(run, after, last)
    await _echo(f"{totals}{' in what is shown' if missing else ''}")
    if missing:
        await _echo(missing)


async def _print_json(store: RunStore, run: RunInfo, after: int, limit: int | None) -> None:
    """One document, a page at a time: a long run does not have to fit into memory."""
    until = run.record_count - 1 if limit is None else min(after + limit, run.record_count - 1)
    await _echo('{\n  "run": ' + _indented(msgspec.to_builtins(run), 2) + ',\n  "records": [', newline=False)
    before = "\n"
    async for page in store.pages(run.run_id, after=after, until=until):
        for stored in page:
            await _echo(f"{before}    {_indented(msgspec.to_builtins(stored), 4)}", newline=False)
            before = ",\n"
    await _echo("\n  ]\n}")


def _indented(data: Any, depth: int) -> str:
    return harmless_json(json.dumps(data, indent=2, ensure_ascii=False)).replace("\n", "\n" + " " * depth)


async def _echo(text: str, *, newline: bool = True) -> None:
    # Printing can block as long as a reader likes.
    await asyncio.to_thread(click.echo, text, nl=newline)


def _json_line(stored: StoredRecord) -> str:
    return harmless_json(encode_json(stored).decode())


def _count(records: int) -> str:
    return f"{records} record{'' if records == 1 else 's'}"
