"""Races: engines side by side on one contract, one budget over all, one change that goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

import command_line
import race_that_dies
from coded import is_running
from session_play import Play
from trueup.coder import (
    Absent,
    Accept,
    Approve,
    FailureReason,
    Leave,
    Limits,
    Once,
    Outcome,
    Pick,
    Race,
    Raced,
    Races,
    Runner,
    State,
    events,
    parse_runners,
)
from trueup.core.errors import InputError
from trueup.core.usage import Usage
from trueup.runs import RunStore

MEND = "sed -i \"s/'_')/'-')/\" slug.py"
DASH = "grep -q \"'-'\" slug.py"


def paid(dollars: float) -> str:
    return f'echo \'{{"trueup": "usage", "input_tokens": 9, "output_tokens": 1, "cost_usd": {dollars}}}\''


class Course:
    """Where races are run: a play, and what is asked of every runner."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.races = Races(play.store, play.sessions)

    async def race(self, *scripts: str, pick: Pick = Pick.FIRST, person=None, **more) -> Raced:
        request = self.play.request("exit 1", DASH, **more)
        runners = [Runner(self.play.engine(script)) for script in scripts]
        return await self.races.start(request, runners, pick, person or Absent(yes=True), self.play.watching)

    async def states(self, race: Race) -> list[State]:
        return [story.state for story in await self.races.stories(race)]


@pytest.fixture
async def course(project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Course(Play(project, store))


async def test_the_first_verified_change_is_merged_and_the_others_are_stopped(course):
    nap = f"{5000 + os.getpid()}.{id(course)}"
    raced = await course.race(f"touch here; exec sleep {nap}", f"sleep 0.3; {MEND}", f"exec sleep {nap}")
    assert raced.race.winner == raced.story.id == f"{raced.race.id}-2"
    assert raced.story.state is State.MERGED
    assert await course.states(raced.race) == [State.ABANDONED, State.MERGED, State.ABANDONED]
    assert not is_running(nap)
    assert not list(Path(os.environ["XDG_CACHE_HOME"]).rglob("here"))
    assert [course.play.sessions.lease(each).owner() for each in raced.race.session_ids] == [None] * 3
    loser = await course.play.sessions.story(f"{raced.race.id}-1")
    assert loser.message == f"lost race {raced.race.id} to {raced.story.id}: the first that was verified"
    assert course.play.watching.of(events.RaceDecided)[0].entries[0].usage == Usage(), (
        "nothing told is not nothing used"
    )


async def test_the_contract_is_proposed_baselined_and_agreed_to_once(course):
    class Counting(Absent):
        asked = 0

        async def confirm(self, proposal):
            self.asked += 1
            return await super().confirm(proposal)

    person = Counting(yes=True)
    raced = await course.race(MEND, f"{MEND}; echo >> slug.py", pick=Pick.SMALLEST, person=person)
    assert person.asked == 1
    one, two = await course.races.stories(raced.race)
    assert (one.digest, one.base, one.baseline) == (two.digest, two.base, two.baseline)
    said = [event.text for event in course.play.watching.of(events.Step)]
    assert sum("runs of 1 check on the base" in text for text in said) == 1


async def test_the_smallest_verified_change_wins_once_all_are_done(course):
    large, broken = f"{MEND}; seq 40 > more.txt", "echo 'x = 1' >> slug.py"
    raced = await course.race(large, broken, MEND, pick=Pick.SMALLEST)
    assert raced.race.winner == f"{raced.race.id}-3"
    assert "the smallest of 2 that were verified: 2 changed lines" in raced.race.decided.why
    one, two, three = raced.race.decided.entries
    assert (one.outcome, one.insertions, one.deletions, one.iterations) == (Outcome.VERIFIED, 41, 1, 1)
    assert (two.outcome, two.state, two.reason) == (Outcome.REFUSED, State.FAILED, FailureReason.VERIFICATION)
    assert (three.files, three.changed_lines) == (1, 2)
    assert await course.states(raced.race) == [State.ABANDONED, State.FAILED, State.MERGED]
    assert not (course.play.project.root / "more.txt").exists()


async def test_what_is_binary_is_not_small_for_having_no_lines(course):
    """Two lines and a blob against three lines."""
    raced = await course.race(
        f"{MEND}; head -c 9000 /dev/urandom > blob", f"{MEND}; echo >> slug.py", pick=Pick.SMALLEST
    )
    assert raced.race.winner == f"{raced.race.id}-2"
    assert [entry.binaries for entry in raced.race.decided.entries] == [1, 0]


async def test_a_cheat_does_not_win_however_quick_it_is(course):
    request = course.play.request("exit 1", "python3 -m unittest discover -s tests -t . -q")
    cheat = "sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py"
    runners = [Runner(course.play.engine(script)) for script in (cheat, f"sleep 0.5; {MEND}")]
    raced = await course.races.start(request, runners, Pick.FIRST, Absent(yes=True), course.play.watching)
    assert raced.race.winner == f"{raced.race.id}-2"
    assert raced.race.decided.entries[0].gates == 1
    assert "a-nice-title" in (course.play.project.root / "tests/test_slug.py").read_text()


async def test_the_cheapest_wins_and_an_unknown_cost_is_not_zero(course):
    raced = await course.race(f"{paid(0.3)}; {MEND}", MEND, f"{paid(0.2)}; {MEND}", pick=Pick.CHEAPEST)
    assert raced.race.winner == f"{raced.race.id}-3"
    assert f"$0.2; what {raced.race.id}-2 cost is unknown, and so not compared" in raced.race.decided.why
    assert raced.story.state is State.MERGED


async def test_where_no_cost_is_known_nobody_is_the_cheapest_and_a_person_decides(course):
    before = await course.play.head()
    raced = await course.race(MEND, f"{MEND}; touch more", pick=Pick.CHEAPEST)
    assert (raced.race.winner, raced.story) == (None, None)
    assert "none of them is the cheapest" in raced.race.decided.why
    assert await course.states(raced.race) == [State.NEEDS_APPROVAL, State.NEEDS_APPROVAL]
    assert await course.play.head() == before
    approved = await course.play.sessions.resume(
        f"{raced.race.id}-2", Once(Approve("--yes"), Absent()), course.play.watching
    )
    assert approved.state is State.MERGED


async def test_where_nothing_is_verified_nobody_wins(course):
    before = await course.play.head()
    raced = await course.race("true", "exit 3")
    assert (raced.race.winner, raced.race.decided.why, raced.story) == (None, "no change was verified", None)
    assert await course.states(raced.race) == [State.FAILED, State.FAILED]
    assert await course.play.head() == before
    with pytest.raises(InputError, match="has ended"):
        await course.races.resume(raced.race.id, Absent(), course.play.watching)


async def test_the_comparison_is_kept_with_the_winner_and_with_the_race(course):
    raced = await course.race(f"{paid(0.5)}; {MEND}", "true", pick=Pick.SMALLEST)
    known = await course.races.race(raced.race.id[:9])
    story = await course.play.sessions.story(raced.race.winner)
    assert known.ended
    assert known.decided == story.race == raced.race.decided
    assert story.race.entries[0].usage.cost_usd == 0.5
    assert (await course.play.store.verify(raced.race.id)).ok


# One budget


@pytest.mark.parametrize(
    ("limit", "said"),
    [({"tokens": 25}, "30 tokens of the 25"), ({"usd": 0.25}, "0.3 dollars"), ({"turns": 2}, "3 turns")],
)
async def test_one_budget_is_for_all_of_them(course, limit, said):
    each = f"while true; do {paid(0.1)}; sleep 0.1; done"
    raced = await course.race(each, each, limits=Limits(iterations=2, **limit))
    stories = await course.races.stories(raced.race)
    assert {story.reason for story in stories} == {FailureReason.BUDGET_EXHAUSTED}
    assert any(said in story.message for story in stories), "whoever was the first to pass it"
    assert "they may use together, and this one was ended" in stories[0].message


async def test_a_winner_that_is_sent_back_goes_on_within_what_the_losers_left(course):
    raced = await course.race(
        f"{paid(0.1)}; {MEND}",
        f"{paid(0.4)}; true",
        pick=Pick.SMALLEST,
        person=Absent(),
        limits=Limits(iterations=1, usd=0.55),
    )
    assert (raced.race.winner, raced.race.ended) == (f"{raced.race.id}-1", True)
    assert raced.story.waits_because == "verified, and waits for approval"
    story = await course.play.sessions.respond(raced.story.id, "more", Absent(), course.play.watching)
    assert course.play.watching.of(events.EngineEnded)[-1].reason is FailureReason.BUDGET_EXHAUSTED
    assert story.used.cost_usd == pytest.approx(0.2)


# Before, and between


async def test_a_contract_that_nobody_agreed_to_keeps_everybody_waiting(course):
    class Away(Absent):
        async def confirm(self, proposal):
            return Leave("later")

    raced = await course.race(MEND, "true", person=Away())
    assert (raced.story.state, raced.race.decided) == (State.CONTRACT_PROPOSED, None)
    assert await course.states(raced.race) == [State.CONTRACT_PROPOSED]
    again = await course.races.resume(raced.race.id, Once(Accept("Ada"), Absent(yes=True)), course.play.watching)
    assert again.story.state is State.MERGED


async def test_a_contract_that_shows_nothing_ends_the_race_before_an_engine_is_started(course):
    request = course.play.request("true", "test -f slug.py")
    runners = [Runner(course.play.engine("touch ran"))] * 2
    raced = await course.races.start(request, runners, Pick.FIRST, Absent(yes=True), course.play.watching)
    assert "already green on the base" in raced.race.decided.why
    assert (raced.story.reason, raced.race.ended) == (FailureReason.UNPROVEN, True)
    assert (await course.states(raced.race), course.play.watching.prompts) == ([State.FAILED], [])


@pytest.mark.parametrize(
    ("change", "complaint"), [({"engine": "magic"}, "unknown engine 'magic'"), ({"engine": "command:"}, "no program")]
)
async def test_an_unknown_engine_is_refused_before_there_is_anything(course, change, complaint):
    request = course.play.request("true", DASH)
    runners = [Runner(request.engine), Runner(**change)]
    with pytest.raises(InputError, match=complaint):
        await course.races.start(request, runners, Pick.FIRST, Absent(yes=True), course.play.watching)
    assert await course.play.store.list() == []


async def test_a_cassette_is_of_one_engine(course):
    request = replace(course.play.request("true", DASH), cassette="calls.jsonl")
    with pytest.raises(InputError, match="cassette"):
        await course.races.start(request, [], Pick.FIRST, Absent(), course.play.watching)


@pytest.mark.parametrize(
    ("at", "death"),
    [
        ("state_changed:contract_confirmed", signal.SIGKILL),
        ("iteration_started", signal.SIGINT),
        ("state_changed:needs_approval", signal.SIGKILL),
        ("race_decided", signal.SIGKILL),
    ],
)
async def test_a_race_that_died_goes_on_to_the_same_end(course, at, death):
    request = course.play.request("true", DASH)
    runners = [course.play.engine(f"{MEND}; seq 9 > more.txt"), course.play.engine(MEND)]
    plan = {"request": request, "runners": runners, "pick": "smallest", "at": at, "signal": int(death)}
    died = await command_line.fork(race_that_dies.work, plan, cwd=course.play.project.root, env=dict(os.environ))
    assert died.signal == death or died.exit_code == 130, died.stderr.text
    (race,) = await course.play.store.list(kind="race")
    raced = await course.races.resume(race.run_id, Absent(yes=True), course.play.watching)
    assert (raced.race.winner, raced.story.state) == (f"{race.run_id}-2", State.MERGED)
    assert await course.states(raced.race) == [State.ABANDONED, State.MERGED]
    assert raced.story.race == raced.race.decided


async def test_a_change_that_a_person_had_delivered_ends_an_undecided_race(course):
    work = asyncio.create_task(course.race(MEND, "sleep 1000", pick=Pick.SMALLEST, person=Absent()))
    while "needs_approval" not in course.play.watching.states:
        await asyncio.sleep(0.02)
    work.cancel()
    await asyncio.wait([work])
    (found,) = await course.play.store.list(kind="race")
    answer = Once(Approve("--yes"), Absent())
    await course.play.sessions.resume(f"{found.run_id}-1", answer, course.play.watching)
    raced = await course.races.resume(found.run_id, Absent(), course.play.watching)
    assert (raced.race.winner, raced.race.decided.why) == (f"{found.run_id}-1", "a person had it delivered")
    assert await course.states(raced.race) == [State.MERGED, State.ABANDONED]


# Names


def test_runners_are_named_with_a_model_of_their_own_and_may_run_twice():
    assert parse_runners("codex, claude-code@opus,codex,command:my-agent --to a@b") == [
        Runner("codex"),
        Runner("claude-code", "opus"),
        Runner("codex"),
        Runner("command:my-agent --to a@b"),
    ]


def test_a_comma_within_quotes_is_a_part_of_a_command():
    assert parse_runners("""command:sh -c 'sed -i s,a,b, x',command:say "one, two",command:a\\,b""") == [
        Runner("command:sh -c 'sed -i s,a,b, x'"),
        Runner('command:say "one, two"'),
        Runner("command:a\\,b"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("codex", "at least two"), ("codex,,pi", "is empty"), ("", "is empty"), ("codex@,pi", "no engine and model")],
)
def test_a_race_that_cannot_be_one_is_refused(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_runners(text)
