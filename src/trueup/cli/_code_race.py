"""`trueup code --race`: engines side by side, as somebody starts them, watches them, and compares them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

import click
import msgspec
from msgspec import Struct

from trueup.coder import (
    CodeRequest,
    Listener,
    Person,
    Pick,
    Race,
    Raced,
    Races,
    Sessions,
    State,
    Story,
    Told,
    entry_of,
    events,
    parse_runners,
)
from trueup.core.errors import InputError
from trueup.core.text import visible, writable
from trueup.core.usage import known_dollars
from trueup.runs import RunStore

from ._code_lines import counted, noteworthy, one_line
from ._code_report import Outcome, outcome_data, outcome_text
from ._code_run import Consent
from ._code_view import JsonView, PlainView, QuietView, View, json_line
from ._main import EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO, tell
from ._shared import F, T, run_async, show, terminal_width

LONGEST_NAME = 28

# Who answers, once what they have to say is put down.
Answering = Callable[[Sessions, Person], Awaitable[Person]]
_Way = Callable[[Races, Person, Listener], Awaitable[Raced]]


def race_options(command: F) -> F:
    """Options by which several engines work at once."""
    for option in (
        click.option(
            "--pick",
            type=click.Choice([each.value for each in Pick]),
            help="Which verified change of a race wins: the first (default), or the cheapest or smallest once all are done.",
        ),
        click.option(
            "--race",
            metavar="A,B,…",
            help="Engines that work side by side, for --engine; `claude-code@opus` has a model of its own.",
        ),
    ):
        command = option(command)
    return command


def check_race_options(asked: dict[str, Any]) -> None:
    """Refuse what makes no sense together, and let the first runner be the engine whose settings count."""
    if asked["race"] is None:
        if asked["pick"] is not None:
            raise InputError("--pick decides a race: name the engines with --race A,B")
        return
    if asked["engine"] is not None:
        raise InputError("--race names the engines: leave --engine away")
    asked["engine"] = parse_runners(asked["race"])[0].engine


def begin_race(request: CodeRequest, asked: dict[str, Any], consent: Consent) -> NoReturn:
    """Start a race, and exit by what it came to."""
    runners, pick = parse_runners(asked["race"]), Pick(asked["pick"] or Pick.FIRST)
    _conduct(request, consent, {}, lambda races, person, heard: races.start(request, runners, pick, person, heard))


def go_on_with_race(race: Race, consent: Consent, answering: Answering | None = None) -> NoReturn:
    """Go on with a race, and exit by what it came to."""

    async def way(races: Races, person: Person, heard: Listener) -> Raced:
        who = person if answering is None else await answering(races.sessions, person)
        return await races.resume(race.id, who, heard)

    names = {session_id: _short(str(runner)) for session_id, runner in race.entrants.items()}
    _conduct(race.request, consent, names, way, race.id)


def with_races(work: Callable[[Races], Awaitable[T]]) -> T:
    """Do something with the races of the user."""

    async def inside() -> T:
        async with await RunStore.open() as store:
            return await work(Races(store, Sessions(store)))

    return run_async(inside())


def find_race(named: str) -> Race | None:
    """The race that somebody named by its whole id, if it is one."""

    async def read(races: Races) -> Race | None:
        with suppress(InputError):
            race = await races.race(named)
            return race if race.id == named else None
        return None

    return with_races(read) if named else None


def undecided_race_of(story: Story) -> Race | None:
    """The race that a session is in, while it is open who wins: then what happens to it happens to all."""
    race = find_race(story.request.race or "")
    return None if race is None or race.decided is not None or race.ended else race


def show_race(race: Race, *, as_json: bool) -> None:
    """Print a race as it is now."""
    report = RaceReport.of(race, with_races(lambda races: races.stories(race)))
    show(report.data(), report.text(), as_json=as_json)


class RaceReport(Struct, frozen=True):
    """A race, and how its sessions compare: as they did when it was decided, else as they do now."""

    race: Race
    entries: list[events.RaceEntry]

    @classmethod
    def of(cls, race: Race, stories: Iterable[Story]) -> RaceReport:
        return cls(race, race.decided.entries if race.decided else [entry_of(story) for story in stories])

    def data(self) -> dict[str, Any]:
        """For programs."""
        race = self.race
        return {
            "race_id": race.id,
            "intent": writable(race.request.intent),
            "base": race.base,
            "pick": race.pick.value,
            "runners": [msgspec.to_builtins(runner) for runner in race.runners],
            "decided": race.decided is not None,
            "winner": race.winner,
            "why": race.decided.why if race.decided else "",
            "entries": [writable(msgspec.to_builtins(entry)) for entry in self.entries],
        }

    def text(self) -> str:
        """For people: one line for each session, then who won."""
        table = _table(self.entries, self.race.winner) if self.entries else []
        return "\n".join([*table, *self._conclusion()])

    def _conclusion(self) -> Iterator[str]:
        race = self.race
        if race.decided is None:
            said = "has ended" if race.ended else f"is not decided; go on with: trueup code resume {race.id}"
            yield f"race {race.id} {said}"
        elif race.winner is not None:
            yield visible(f"race {race.id}: {race.winner} wins, {race.decided.why}")
        else:
            yield visible(f"race {race.id}: nobody wins: {race.decided.why}")
            yield from (
                f"  take this one: trueup code approve {entry.session_id}"
                for entry in self.entries
                if entry.state is State.NEEDS_APPROVAL
            )


class RaceView(PlainView):
    """One line on stderr for every event that is worth one, with whom it is about."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._names = dict(names)

    async def _show(self, told: Told) -> None:
        event, session_id = told.event, told.session_id
        if isinstance(event, events.RaceDecided):
            # Whoever is asked to approve sees first what there was to choose from.
            for line in (*_table(event.entries, event.winner), f"{event.winner or 'nobody'} wins: {event.why}"):
                await self._say(line)
            return
        if isinstance(event, events.SessionCreated):
            self._names[session_id] = _short(event.engine)
        said = f"session {session_id}" if isinstance(event, events.SessionCreated) else noteworthy(event)
        if said is not None:
            await self._say(f"[{session_id.rpartition('-')[2]} {self._names.get(session_id, '')}] {said}")


class _Noting:
    """A `Listener` that finds out which race it is, and lets a view show the rest."""

    def __init__(self, view: View, race_id: str) -> None:
        self.race_id = race_id
        self._view = view

    async def hear(self, told: Told) -> None:
        if isinstance(told.event, events.SessionCreated) and told.event.race:
            self.race_id = told.event.race
        await self._view.hear(told)


def _conduct(request: CodeRequest, consent: Consent, names: dict[str, str], way: _Way, race_id: str = "") -> NoReturn:
    """Let a race go on until it is over or waits, say what it came to, and exit accordingly."""
    view = _view(consent, names)
    heard = _Noting(view, race_id)

    async def work() -> Raced:
        async with await RunStore.open() as store, view:
            sessions = Sessions(store)
            return await way(Races(store, sessions), await consent.person(sessions, view, request), heard)

    try:
        raced = run_async(work())
    except KeyboardInterrupt:
        if not heard.race_id:
            raise
        _report_interrupted(heard.race_id, as_json=consent.as_json)
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    stories = with_races(lambda races: races.stories(raced.race))
    report = RaceReport.of(raced.race, stories)
    if raced.story is None:
        code = EXIT_ENGINE if stories and all(story.failed_by_engine for story in stories) else EXIT_NO
        _say_without_winner(report, code, as_json=consent.as_json)
        raise click.exceptions.Exit(code)
    outcome = Outcome(story=raced.story, elapsed_secs=view.elapsed_secs, asked=raced.story.waits_because)
    if consent.as_json:
        click.echo(json_line({**outcome_data(outcome), "race": report.data()}))
    else:
        shown = [report.text(), ""] if raced.race.decided else []
        show(None, "\n".join([*shown, outcome_text(outcome, terminal_width())]), as_json=False)
    raise click.exceptions.Exit(outcome.exit_code)


def _view(consent: Consent, names: dict[str, str]) -> View:
    if consent.as_json:
        return JsonView()
    return QuietView() if consent.quiet else RaceView(names)


def _say_without_winner(report: RaceReport, exit_code: int, *, as_json: bool) -> None:
    if not as_json:
        show(None, report.text(), as_json=False)
        return
    why = report.race.decided.why if report.race.decided else ""
    _say_in_json(report, "undecided" if _is_open(report) else "failed", why, exit_code)


def _report_interrupted(race_id: str, *, as_json: bool) -> None:
    message = f"interrupted; go on with all of them: trueup code resume {race_id}"
    if not as_json:
        tell(message)
        return

    async def read(races: Races) -> RaceReport:
        race = await races.race(race_id)
        return RaceReport.of(race, await races.stories(race))

    _say_in_json(with_races(read), "interrupted", message, EXIT_INTERRUPTED)


def _say_in_json(report: RaceReport, state: str, message: str, exit_code: int) -> None:
    """The last line of a race that no session speaks for."""
    line = {"type": "outcome", "session_id": None, "state": state, "message": message, "exit_code": exit_code}
    click.echo(json_line({**line, "race": report.data()}))


def _is_open(report: RaceReport) -> bool:
    return any(entry.state is State.NEEDS_APPROVAL for entry in report.entries)


def _table(entries: Iterable[events.RaceEntry], winner: str | None) -> list[str]:
    rows: list[tuple[str, ...]] = [("session", "engine", "outcome", "time", "cost", "iterations", "change", "findings")]
    rows += [_row(entry, is_winner=entry.session_id == winner) for entry in entries]
    sizes = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows]


def _row(entry: events.RaceEntry, *, is_winner: bool) -> tuple[str, ...]:
    cost, usage = known_dollars(entry.usage), entry.usage
    at_least = usage.cost_usd if usage.cost_usd is not None else usage.estimated_cost_usd
    findings = [counted(entry.gates, "gate")] if entry.gates else []
    findings += [counted(entry.flags, "flag")] if entry.flags else []
    return (
        f"{'*' if is_winner else ' '} {entry.session_id}",
        _short(entry.engine if entry.model is None else f"{entry.engine}@{entry.model}"),
        _came_to(entry),
        f"{entry.engine_secs:.1f} s",
        f"${cost:.4g}" if cost is not None else "$?" if at_least is None else f"over ${at_least:.4g}",
        str(entry.iterations),
        f"+{entry.insertions} -{entry.deletions}{f', {entry.binaries} binary' if entry.binaries else ''}",
        ", ".join(findings) or "none",
    )


def _came_to(entry: events.RaceEntry) -> str:
    if entry.verified:
        return "verified"
    if entry.state is State.FAILED:
        return f"failed: {entry.reason}" if entry.reason else "failed"
    return entry.state.value if entry.state is State.ABANDONED else f"stopped ({entry.state.value})"


def _short(name: str) -> str:
    line = one_line(name)
    return line if len(line) <= LONGEST_NAME else f"…{line[1 - LONGEST_NAME :]}"
