"""`trueup code`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.coder import (
    Accept,
    AgentNetwork,
    Approve,
    Deliver,
    Limits,
    Once,
    Person,
    Sessions,
    SessionSummary,
    State,
    Story,
    person_at,
)
from trueup.core.errors import InputError
from trueup.core.text import visible, writable

from ._code_find import (
    find_session,
    is_unfinished,
    is_unfinished_and_alone,
    session_id_of,
    sessions_of,
    waits_for_a_person,
)
from ._code_group import IntentOrVerb, PositiveNumber, StartCommand
from ._code_race import (
    RaceReport,
    begin_race,
    check_race_options,
    find_race,
    go_on_with_race,
    race_options,
    show_race,
    undecided_race_of,
    with_races,
)
from ._code_report import sessions_text, story_data, story_text, warnings_of
from ._code_request import request_of
from ._code_run import Consent, begin, consent_options, go_on, with_sessions
from ._code_view import View
from ._main import tell
from ._shared import json_option, quiet_option, show, terminal_width
from ._values import ENGINE, SESSION

# More than anybody means, and as much as every database takes.
MOST = 10**12
COUNT = click.IntRange(min=1, max=MOST)
REPO = click.Path(exists=True, file_okay=False, path_type=Path)

repo_option = click.option("--repo", type=REPO, default=".", help="The repository; default: the working folder.")
id_argument = click.argument("session", metavar="[ID]", default="", type=SESSION)
deliver_option = click.option(
    "--deliver",
    type=click.Choice([each.value for each in Deliver]),
    help="What becomes of a verified change: merged into the branch, a branch of its own, a patch, nothing.",
)


@click.command(cls=StartCommand)
@click.argument("words", metavar="INTENT", default="")
@click.option("--intent", "named_intent", metavar="TEXT", help="The intent, where it could be taken for a verb.")
@repo_option
@click.option("--base", metavar="REV", help="The commit to start from; default: HEAD.")
@click.option(
    "--engine",
    type=ENGINE,
    metavar="SPEC",
    help="Who works: claude-code, codex, …, native, auto, or `command:PROGRAM ARGUMENTS`; default: your settings.",
)
@click.option("--model", metavar="NAME", help="The model that the engine is to use.")
@click.option(
    "--contract",
    "contract_file",
    type=click.Path(path_type=Path),
    help="What done means; default: trueup.yaml of the base, else one is proposed.",
)
@click.option("--generate", metavar="CMD", help="Have a contract written by this command, not by a model.")
@click.option("--judge", metavar="CMD", help="Have a verified change read by this command: prompt on stdin.")
@click.option("--max-iterations", type=COUNT, default=Limits().iterations, show_default=True, help="Goes at it.")
@click.option("--max-turns", type=COUNT, help="Model calls that the engine may make.")
@click.option("--budget-usd", type=PositiveNumber(), metavar="USD", help="Dollars that the engine may spend.")
@click.option("--budget-tokens", type=COUNT, help="Tokens that the engine may send and receive.")
@click.option("--timeout", type=PositiveNumber(), metavar="SECS", help="How long the engine may work, all in all.")
@click.option(
    "--idle-timeout",
    type=PositiveNumber(),
    metavar="SECS",
    default=Limits().idle_secs,
    show_default=True,
    help="How long the engine may keep silent.",
)
@click.option("--strict-budget", is_flag=True, help="Stop where the engine does not report what a limit is on.")
@deliver_option
@click.option(
    "--sandbox", type=click.Choice(["auto", "none"]), default="auto", help="`none` runs without any confinement."
)
@click.option(
    "--agent-network",
    type=click.Choice([each.value for each in AgentNetwork]),
    help="What the engine reaches: nothing (default for a command), its vendor through a proxy (for agents), what you reach.",
)
@click.option(
    "--agent-config",
    type=click.Choice(["minimal", "user"]),
    default="minimal",
    show_default=True,
    help="Whether an agent has your own hooks, servers and plugins for it.",
)
@click.option(
    "--cassette",
    type=click.Path(dir_okay=False),
    help="Play the vendor's answers from this file, or record them where it is not there.",
)
@click.option("--allow-no-goal", is_flag=True, help="Accept that no check is red on the base.")
@click.option("--jobs", type=COUNT, default=1, help="How many checks marked `parallel` run side by side.")
@race_options
@consent_options
@quiet_option
@json_option
def start(
    words: str,
    named_intent: str | None,
    repo: Path,
    yes: bool,
    allow_dependency_change: bool,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """From an intent to a merge that can be trusted.

    An engine works on INTENT in an isolated checkout. trueup decides by running the checks of a contract, where the
    engine cannot reach, whether it is done; sends failures back; and delivers only what was verified and approved.
    Exit 0: delivered; 1: not achieved; 2: bad input; 3: the engine failed; 130: interrupted.

    A session is named by its ID or the beginning of it; without one, a verb means the only session of this
    repository that it could be about (`show` and `diff`: the newest).

    \b
    Examples:
      trueup code "slug() joins by dashes" --engine "command:my-agent --stdin"
      trueup code "add a --version flag" --contract ~/done.yaml --yes --json
      trueup code "add a --version flag" --race codex,claude-code --budget-usd 5
      trueup code approve
    """
    if words and named_intent:
        raise InputError("the intent is given twice: as an argument and with --intent; choose")
    check_race_options(asked)
    request = request_of(named_intent or words, repo.absolute(), asked)
    consent = Consent(as_json=as_json, quiet=quiet, yes=yes, allow_dependency_change=allow_dependency_change)
    if asked["race"] is not None:
        begin_race(request, asked, consent)
    begin(request, consent)


@click.group(cls=IntentOrVerb, help=start.help)
def command() -> None:
    pass


command.start = start


@command.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Those of every repository.")
@repo_option
@json_option
def list_command(everywhere: bool, repo: Path, as_json: bool) -> None:
    """List the sessions of this repository, newest first.

    \b
    Example:
      trueup code list --all
    """

    async def listed(sessions: Sessions) -> list[SessionSummary]:
        return await sessions.list() if everywhere else await sessions_of(sessions, repo)

    found = with_sessions(listed)
    show(writable(msgspec.to_builtins(found)), sessions_text(found, terminal_width()), as_json=as_json)


@command.command("show")
@id_argument
@repo_option
@json_option
def show_command(session: str, repo: Path, as_json: bool) -> None:
    """Show a session: what was wanted and agreed to, what was tried, and what came of it; or a race.

    \b
    Example:
      trueup code show 0v0r
    """
    race = find_race(session)
    if race is not None:
        show_race(race, as_json=as_json)
        return
    story = find_session(session, repo)
    text = story_text(story, terminal_width())
    won = find_race(story.race.race_id) if story.race is not None else None
    if won is not None:
        text += f"\n\n{RaceReport.of(won, []).text()}"
    show(story_data(story), text, as_json=as_json)


@command.command("diff")
@id_argument
@repo_option
def diff_command(session: str, repo: Path) -> None:
    """Print the latest change of a session as a patch.

    \b
    Example:
      trueup code diff 0v0r | git apply --stat
    """

    async def read(sessions: Sessions) -> bytes:
        return await sessions.diff(await session_id_of(sessions, session, repo))

    patch = with_sessions(read)
    if sys.stdout.isatty():
        click.echo_via_pager(visible(patch.decode(errors="replace")))
    else:
        sys.stdout.buffer.write(patch)


@command.command("approve")
@id_argument
@deliver_option
@consent_options
@repo_option
@quiet_option
@json_option
def approve_command(
    session: str,
    deliver: str | None,
    yes: bool,
    allow_dependency_change: bool,
    repo: Path,
    quiet: bool,
    as_json: bool,
) -> None:
    """Agree to what a session waits for: its contract, or the delivery of its verified change.

    What comes after an agreed contract is asked about in its turn, unless --yes is said now.

    \b
    Examples:
      trueup code approve
      trueup code approve 0v0r --deliver branch
    """
    story = find_session(session, repo, waits_for_a_person)
    if story.state is State.NEEDS_APPROVAL and story.verdict is not None:
        for warning in warnings_of(story.verdict):
            tell(warning)
    elif story.state is not State.CONTRACT_PROPOSED:
        raise InputError(f"session {story.id} is {story.state.value}: there is nothing to approve")
    elif deliver is not None:
        raise InputError(f"session {story.id} waits for its contract; --deliver is for the approval of a change")

    async def approve(sessions: Sessions, person: Person, view: View) -> Story:
        by = await person_at(Path(story.request.folder))
        is_change = story.state is State.NEEDS_APPROVAL
        answer = Approve(by, Deliver(deliver) if deliver else None) if is_change else Accept(str(by))
        return await sessions.resume(story.id, Once(answer, person), view)

    consent = Consent(as_json=as_json, quiet=quiet, yes=yes, allow_dependency_change=allow_dependency_change)
    race = undecided_race_of(story) if story.state is State.CONTRACT_PROPOSED else None
    if race is not None:
        go_on_with_race(race, consent, lambda _, person: _accepting(story, person))
    go_on(story, consent, approve)


async def _accepting(story: Story, person: Person) -> Person:
    return Once(Accept(str(await person_at(Path(story.request.folder)))), person)


@command.command("resume")
@id_argument
@consent_options
@repo_option
@quiet_option
@json_option
def resume_command(
    session: str, yes: bool, allow_dependency_change: bool, repo: Path, quiet: bool, as_json: bool
) -> None:
    """Go on with a session from the last state that it was safe in; or with a race, and so with all that are in it.

    \b
    Example:
      trueup code resume 0v0r
    """
    consent = Consent(as_json=as_json, quiet=quiet, yes=yes, allow_dependency_change=allow_dependency_change)
    named = find_race(session)
    if named is not None:
        go_on_with_race(named, consent)
    story = find_session(session, repo, is_unfinished_and_alone)
    race = undecided_race_of(story)
    if race is not None:
        go_on_with_race(race, consent)
    go_on(story, consent, lambda sessions, person, view: sessions.resume(story.id, person, view))


@command.command("respond")
@click.argument("words", metavar="[ID] WORDS", nargs=-1, required=True)
@consent_options
@repo_option
@quiet_option
@json_option
def respond_command(
    words: tuple[str, ...], yes: bool, allow_dependency_change: bool, repo: Path, quiet: bool, as_json: bool
) -> None:
    """Say something to a session: what its contract or its change lacks, or a word for the engine's next prompt.

    \b
    Examples:
      trueup code respond "keep the old name as an alias"
      trueup code respond 0v0r "keep the old name as an alias"
    """
    if len(words) > 2:
        raise InputError("give an ID and what you have to say, in quotes: trueup code respond ID 'use dashes'")
    session, text = words if len(words) == 2 else ("", words[0])
    if not text.strip():
        raise InputError("there is nothing to say: trueup code respond ID 'use dashes'")
    story = find_session(session, repo, is_unfinished)
    if story.state is State.CONTRACT_PROPOSED and story.request.generate is None:
        raise InputError(
            f"session {story.id} waits for its contract, and no model was named that could revise it: `trueup code "
            f"resume {story.id}` on a terminal lets you edit it; start with --generate CMD to have it revised by words"
        )
    consent = Consent(as_json=as_json, quiet=quiet, yes=yes, allow_dependency_change=allow_dependency_change)
    race = undecided_race_of(story) if story.state is not State.NEEDS_APPROVAL else None
    if race is not None and with_sessions(lambda sessions: sessions.owner(story.id)) is None:
        go_on_with_race(race, consent, lambda sessions, person: sessions.answering(story, text, person))
    go_on(story, consent, lambda sessions, person, view: sessions.respond(story.id, text, person, view))


@command.command("discard")
@id_argument
@repo_option
@json_option
def discard_command(session: str, repo: Path, as_json: bool) -> None:
    """Throw away what waits for a person: a contract, or a verified change.

    \b
    Example:
      trueup code discard 0v0r
    """
    waiting = find_session(session, repo, waits_for_a_person)
    owner = with_sessions(lambda sessions: sessions.owner(waiting.id))
    if owner is not None:
        raise InputError(
            f"session {waiting.id} does not wait: process {owner} works on it; stop it with `trueup code cancel {waiting.id}`"
        )
    _abandon(waiting, "discarded", as_json=as_json)


@command.command("cancel")
@id_argument
@repo_option
@json_option
def cancel_command(session: str, repo: Path, as_json: bool) -> None:
    """Give a session up, or a race with all that are in it, having stopped whoever works on it.

    \b
    Example:
      trueup code cancel 0v0r
    """
    race = find_race(session)
    if race is not None:
        with_races(lambda races: races.abandon(race.id, "cancelled"))
        show({"race_id": race.id, "state": "abandoned"}, f"race {race.id}: cancelled", as_json=as_json)
        return
    _abandon(find_session(session, repo, is_unfinished), "cancelled", as_json=as_json)


def _abandon(story: Story, why: str, *, as_json: bool) -> None:
    given_up = with_sessions(lambda sessions: sessions.abandon(story.id, why))
    data = {"session_id": given_up.id, "state": given_up.state.value, "message": given_up.message}
    show(data, f"session {given_up.id}: {why}", as_json=as_json)
