"""`trueup stats`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import click
import msgspec

from trueup.coder import By, Sessions, Tally, Trial, Unreadable, compare, recorded_trials, tally
from trueup.core.text import visible, writable

from ._code_run import with_sessions
from ._runs_when import moment
from ._shared import json_option, quiet_option, show
from ._waiting import Waiting

_HEAD = ("sessions", "judged", "verified", "95 %", "iterations", "cost", "time", "cheats", "failures")


def parse_by(_ctx: click.Context, _param: click.Parameter, value: str) -> list[By]:
    """The callback of an option: what to group by."""
    known = get_args(By)
    named = [part.strip() for part in value.split(",")]
    strange = [part for part in named if part not in known]
    if strange or len(set(named)) < len(named):
        raise click.BadParameter(f"{value!r}: name {' and '.join(known)}, each at most once, with a comma between them")
    return [each for each in known if each in named]


@click.command()
@click.option(
    "--by",
    callback=parse_by,
    default="engine",
    show_default=True,
    metavar="engine,model",
    help="What to group sessions by.",
)
@click.option(
    "--since", callback=moment, metavar="WHEN", help="Only sessions that began since then: `30d`, `2026-01-31`."
)
@quiet_option
@json_option
def command(by: list[By], since: str | None, quiet: bool, as_json: bool) -> None:
    """Show what recorded sessions of `trueup code` say about engines and models.

    A session is judged once a change of it was verified, or it failed by its engine. The verified rate is of the judged
    ones, with its 95 % interval (Wilson); iterations, cost and time are medians; cheats are changes that a gate finding
    refused.

    \b
    Examples:
      trueup stats
      trueup stats --by engine,model --since 30d --json
    """

    async def read(sessions: Sessions) -> list[Trial | Unreadable]:
        return [each async for each in recorded_trials(sessions, since=since)]

    with Waiting("reading sessions", quiet=quiet or as_json):
        found = with_sessions(read)
    tallies = tally((each for each in found if isinstance(each, Trial)), by)
    notes = [*compare(tallies), *_left_out([each for each in found if isinstance(each, Unreadable)])]
    show(stats_data(tallies, notes), stats_text(tallies, notes), as_json=as_json)


def _left_out(unread: list[Unreadable]) -> Iterator[str]:
    if unread:
        yield f"{len(unread)} recorded sessions cannot be read and are not counted; the first of them: {unread[0].why}"


def stats_data(tallies: list[Tally], notes: list[str]) -> Any:
    """For programs."""
    return writable({"groups": msgspec.to_builtins(tallies), "notes": notes})


def stats_text(tallies: list[Tally], notes: list[str]) -> str:
    """For people."""
    return "\n".join([*(_table(tallies) if tallies else ["no sessions"]), *(f"note: {note}" for note in notes)])


def _table(tallies: list[Tally]) -> list[str]:
    rows = [(*tallies[0].group, *_HEAD), *(_row(each) for each in tallies)]
    sizes = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows]


def _row(each: Tally) -> tuple[str, ...]:
    return (
        *(visible(value) if value else "(its own)" for value in each.group.values()),
        str(each.sessions),
        str(each.judged),
        "?" if each.rate is None else f"{each.verified} ({each.rate:.0%})",
        "?" if each.low is None or each.high is None else f"{each.low:.0%} to {each.high:.0%}",
        _or_unknown(each.iterations_median, "{:g}"),
        _cost(each),
        _or_unknown(each.engine_secs_median, "{:.1f} s"),
        f"{each.cheats} in {each.cheating_sessions}" if each.cheats else "0",
        _joined(f"{reason} {count}" for reason, count in each.failures.items()),
    )


def _cost(each: Tally) -> str:
    if each.cost_usd_median is None:
        return "$?"
    known = "" if each.cost_known_in == each.judged else f" (known of {each.cost_known_in})"
    return f"${each.cost_usd_median:.4g}{known}"


def _or_unknown(value: float | None, how: str) -> str:
    return "?" if value is None else how.format(value)


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "none"
