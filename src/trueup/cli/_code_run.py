"""Letting a session go on: with a store, a view and a person; and saying what it came to."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import click
from msgspec import Struct

from trueup.coder import Absent, CodeRequest, Person, Sessions, Story, person_at
from trueup.runs import RunStore

from ._code_board import Board
from ._code_person import Terminal
from ._code_report import Outcome, outcome_data, outcome_text
from ._code_view import JsonView, LiveView, PlainView, QuietView, View, json_line
from ._main import tell
from ._shared import F, T, is_live, is_terminal, run_async, show, terminal_width

Work = Callable[[Sessions], Awaitable[T]]
# None where another process works on the session, which goes on there.
Way = Callable[[Sessions, Person, View], Awaitable[Story | None]]


class Consent(Struct, frozen=True, kw_only=True):
    """What somebody has agreed to beforehand; whoever reads JSON is a program, and cannot be asked.

    `quiet` is that they do not want to watch.
    """

    as_json: bool
    quiet: bool = False
    yes: bool = False
    allow_dependency_change: bool = False

    async def person(self, sessions: Sessions, view: View, request: CodeRequest) -> Person:
        """Who decides about the rest."""
        if self.as_json or self.yes or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            return Absent(yes=self.yes, allow_dependency_change=self.allow_dependency_change)
        by = await person_at(Path(request.folder))
        return Terminal(by, view.paused, sessions.diff, may_revise=request.generate is not None)


def consent_options(command: F) -> F:
    """Options by which somebody agrees beforehand."""
    for option in (
        click.option(
            "--allow-dependency-change",
            is_flag=True,
            help="With --yes: approve also where the change decides anew which packages are installed.",
        ),
        click.option(
            "--yes", is_flag=True, help="Ask nothing: accept the contract, approve what is verified without a flag."
        ),
    ):
        command = option(command)
    return command


def begin(request: CodeRequest, consent: Consent) -> None:
    """Start a session, and exit by what it came to."""
    view = _view(Board.begin(request), consent)

    async def work(sessions: Sessions) -> Story:
        return await sessions.start(request, await consent.person(sessions, view, request), view)

    _conduct(view, work, as_json=consent.as_json)


def go_on(story: Story, consent: Consent, way: Way) -> None:
    """Let a session go on in some way, and exit by what it came to."""
    view = _view(Board.of(story), consent)
    view.session_id = story.id

    async def work(sessions: Sessions) -> Story | None:
        return await way(sessions, await consent.person(sessions, view, story.request), view)

    _conduct(view, work, as_json=consent.as_json)


def with_sessions(work: Work[T]) -> T:
    """Do something with the sessions of the user."""

    async def inside() -> T:
        async with await RunStore.open() as store:
            return await work(Sessions(store))

    return run_async(inside())


def _view(board: Board, consent: Consent) -> View:
    if consent.as_json:
        return JsonView()
    if consent.quiet:
        return QuietView()
    return LiveView(board) if is_live() else PlainView()


def _conduct(view: View, work: Work[Story | None], *, as_json: bool) -> None:
    """Let a session go on until it has ended or waits, say what it came to, and exit accordingly."""
    outcome = _outcome(view, work)
    if outcome is None:
        said = f"session {view.session_id} is being worked on, and hears it before the engine's next go"
        click.echo(json_line({"type": "told", "session_id": view.session_id}) if as_json else said)
        return
    _report(outcome, as_json=as_json)
    raise click.exceptions.Exit(outcome.exit_code)


def _outcome(view: View, work: Work[Story | None]) -> Outcome | None:
    try:
        story = run_async(_watched(view, work))
    except KeyboardInterrupt:
        if not view.session_id:
            raise
        left = with_sessions(lambda sessions: sessions.story(view.session_id))
        return Outcome(story=left, elapsed_secs=view.elapsed_secs, interrupted=not left.state.is_final)
    asked = view.asked.message if view.asked is not None else ""
    return None if story is None else Outcome(story=story, elapsed_secs=view.elapsed_secs, asked=asked)


def _report(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(outcome_data(outcome)))
    elif outcome.interrupted:
        tell(outcome.message)
    else:
        show(None, outcome_text(outcome, terminal_width()), as_json=False)


async def _watched(view: View, work: Work[T]) -> T:
    async with await RunStore.open() as store, view:
        return await work(Sessions(store))
