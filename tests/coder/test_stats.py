"""Recorded sessions as evidence: trials, tallies, intervals."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from session_play import Play
from trueup.coder import (
    Deliver,
    FailureReason,
    Limits,
    Sessions,
    State,
    Trial,
    Unreadable,
    compare,
    recorded_trials,
    tally,
    trial_of,
)
from trueup.core.usage import Usage
from trueup.runs import RunStore, Started

MEND = "sed -i \"s/'_')/'-')/\" slug.py"
CHEAT = "sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py"
SUITE = "python3 -m unittest discover -s tests -t . -q"
PAID = 'echo \'{"trueup": "usage", "cost_usd": 0.25, "input_tokens": 1, "output_tokens": 1}\''


def trial(engine: str = "codex", *, verified: bool | None = True, **more) -> Trial:
    usual = {
        "session_id": "s",
        "engine": engine,
        "model": None,
        "verified": verified,
        "reason": FailureReason.VERIFICATION if verified is False else None,
        "iterations": 1,
        "cost_usd": None,
        "engine_secs": 10,
        "cheats": 0,
    }
    return Trial(**{**usual, **more})


def test_only_judged_sessions_make_the_rate_and_every_failure_is_counted():
    trials = [
        trial(iterations=3, cost_usd=0.5, engine_secs=5),
        trial(iterations=1, cost_usd=0.1, engine_secs=7, cheats=2),
        trial(verified=False, iterations=8, engine_secs=60, cheats=1),
        trial(verified=None, engine_secs=900, cheats=5),
        trial(verified=None, reason=FailureReason.AUTH_REQUIRED),
    ]
    (found,) = tally(trials, ["engine"])
    assert (found.sessions, found.judged, found.verified, found.rate) == (5, 3, 2, pytest.approx(2 / 3))
    assert (found.iterations_median, found.engine_secs_median) == (2, 7)
    assert (found.cost_known_in, found.cost_usd, found.cost_usd_median) == (2, pytest.approx(0.6), pytest.approx(0.3))
    assert (found.cheats, found.cheating_sessions) == (8, 3), "whoever is caught is caught, however the session went on"
    assert found.failures == {"verification": 1, "auth_required": 1}


def test_where_nothing_was_judged_there_is_no_rate_and_no_cost():
    (found,) = tally([trial(verified=None, cost_usd=3)], ["engine"])
    assert (found.rate, found.low, found.high, found.cost_usd, found.iterations_median) == (None,) * 5


def test_groups_are_by_engine_by_model_or_by_both():
    trials = [trial(model="a"), trial(model="b"), trial("pi", model="b")]
    assert [each.group for each in tally(trials, ["engine"])] == [{"engine": "codex"}, {"engine": "pi"}]
    assert [each.group for each in tally(trials, ["model"])] == [{"model": "b"}, {"model": "a"}]
    assert len(tally(trials, ["engine", "model"])) == 3
    assert tally([], ["engine"]) == []


def test_few_sessions_and_intervals_that_overlap_are_said():
    few = tally([trial(), trial("pi", verified=False)], ["engine"])
    assert [note.split(":")[0] for note in compare(few)] == [
        "2 of 2 groups rest on fewer than 10 judged sessions",
        "all intervals overlap",
    ]
    plain = tally([*[trial()] * 20, *[trial("pi", verified=False)] * 20], ["engine"])
    assert list(compare(plain)) == []
    assert list(compare([])) == []


@pytest.fixture
async def play(project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def test_recorded_sessions_are_trials(play):
    """One that cheats and then does the work, one that cannot log in, and what is made of them."""
    script = f"{PAID}; if grep -q 'not done yet'; then git checkout -q tests; {MEND}; else {CHEAT}; fi"
    story = await play.code(script, SUITE, limits=Limits(iterations=3), deliver=Deliver.NONE, model="m1")
    assert story.state is State.REPORTED
    out = 'echo \'{"trueup": "error", "kind": "auth", "message": "log in first"}\'; exit 1'
    await play.code(out, SUITE)
    failed, worked = [each async for each in recorded_trials(play.sessions)]
    assert (worked.verified, worked.iterations, worked.cheats, worked.model) == (True, 2, 1, "m1")
    assert worked.cost_usd == pytest.approx(0.5)
    assert worked.engine == story.request.engine
    assert worked == trial_of(story), "told from a few kinds of records, it is the same"
    assert (failed.verified, failed.reason, failed.cost_usd) == (None, FailureReason.AUTH_REQUIRED, None)
    assert [each async for each in recorded_trials(play.sessions, since="2999-01-01T00:00:00.000000Z")] == []
    assert trial_of(replace(story, engine=replace(story.engine, engine="codex"))).engine == "codex", "as `auto` chose"
    partly = replace(story, usage=[Usage(cost_usd=1), Usage()])
    assert trial_of(partly).cost_usd is None, "a part of it is unknown"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"request": "make it so", "base": "b"},
        {"request": {"intent": "x", "engine": 5, "folder": "/"}, "base": "b"},
        {"request": {"intent": "x", "engine": "codex", "folder": "/"}},
        {"request": {"intent": "x", "engine": "codex", "folder": "/"}, "base": 7},
    ],
)
async def test_a_session_that_cannot_be_read_does_not_hide_the_others(data, tmp_path):
    async with await RunStore.open(f"sqlite:///{tmp_path}/runs.db") as store:
        asked = {"request": {"intent": "x", "engine": "codex", "folder": "/"}, "base": "b"}
        await store.start(Started("whole", data=asked), kind="session")
        odd = await store.start(Started("odd", data=data), kind="session")
        first, second = [each async for each in recorded_trials(Sessions(store, tmp_path))]
    assert isinstance(first, Unreadable)
    assert first.session_id == odd.run_id
    assert f"run {odd.run_id} does not begin as a session does" in first.why
    assert (second.engine, second.verified) == ("codex", None)
