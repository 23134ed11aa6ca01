"""`trueup code --race` as a user calls it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coded import MEND, RIGHT, is_running, json_lines
from trueup.cli._code_race import RaceReport
from trueup.coder import CodeRequest, FailureReason, Outcome, Pick, Race, Runner, State, events
from trueup.core.usage import Usage


@pytest.fixture
def user(user_of_code):
    return user_of_code


def engines(user, *scripts: str) -> str:
    """Engines that run scripts of bash, as `--race` takes them."""
    files = [Path(user.folder, f"engine-{number}.sh") for number, _ in enumerate(scripts, start=1)]
    for file, script in zip(files, scripts, strict=True):
        file.write_text(script)
    return ",".join(f"command:bash {file}" for file in files)


def words(user, *scripts: str, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    race = engines(user, *scripts)
    return ("code", "make add() add", "--race", race, "--contract", str(user.contract), *more)


@asynccontextmanager
async def at_work(user, *more: str):
    """A race in which one engine is done and the other sleeps, and nothing decides before both are done."""
    scripts = (f"{MEND}; seq 9 >more.txt", user.sleep)
    async with (
        user.started(*words(user, *scripts, more=("--pick", "smallest", *more))) as process,
        asyncio.timeout(60),
    ):
        while not is_running(user.nap) or "needs_approval" not in await states(user):
            await asyncio.sleep(0.05)
        yield process


async def listed(user) -> list[dict]:
    return json.loads((await user.trueup("code", "list", "--json")).stdout.text)


async def states(user) -> list[str]:
    return sorted(each["state"] for each in await listed(user))


async def test_the_winner_is_merged_and_the_comparison_is_shown_and_kept(user):
    finished = await user.trueup(
        *words(user, f"{MEND}; seq 9 >more.txt", MEND, "true", more=("--pick", "smallest", "--yes"))
    )
    assert finished.exit_code == 0, finished.stderr.text
    head, first, second, third, said, *_ = finished.stdout.text.splitlines()
    assert head.split() == "session engine outcome time cost iterations change findings".split()
    assert " verified " in first
    assert " $? " in first
    assert " +10 -1 " in first
    assert second.startswith("* ")
    assert "failed: no_progress" in third
    assert said.endswith("-2 wins, the smallest of 2 that were verified: 2 changed lines")
    told = finished.stderr.text.splitlines()
    assert any(line.endswith("engine-2.sh] iteration 1") and " [2 " in line for line in told)
    assert any(line.endswith(second) for line in told), "seen before anybody is asked to approve"
    assert user.checkout.read("calc.py") == RIGHT
    race = {each["race"] for each in await listed(user)}.pop()
    shown = json.loads((await user.trueup("code", "show", race, "--json")).stdout.text)
    assert (shown["winner"], shown["pick"], len(shown["entries"])) == (f"{race}-2", "smallest", 3)
    assert said in (await user.trueup("code", "show", race)).stdout.text
    assert said in (await user.trueup("code", "show", f"{race}-2")).stdout.text
    again = await user.trueup("code", "resume", race, "--json")
    assert (again.exit_code, json_lines(again)[-1]["state"]) == (0, "merged")
    over = await user.trueup("code", "cancel", race)
    assert (over.exit_code, "has ended, and so has every session of it" in over.stderr.text) == (2, True)


async def test_json_lines_tell_of_every_session_and_the_last_has_the_race(user):
    finished = await user.trueup(*words(user, user.sleep, MEND, more=("--yes", "--json")))
    *told, outcome = json_lines(finished)
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    race = outcome["race"]["race_id"]
    assert {each["session_id"] for each in told} == {race, f"{race}-1", f"{race}-2"}
    assert (outcome["session_id"], outcome["state"], outcome["race"]["winner"]) == (f"{race}-2", "merged", f"{race}-2")
    (decided,) = (each for each in told if each["type"] == "race_decided")
    assert decided["entries"] == outcome["race"]["entries"]
    assert not is_running(user.nap)


@pytest.mark.parametrize(("script", "code", "state"), [("echo x >other.txt", 1, "failed"), ("exit 127", 3, "failed")])
async def test_a_race_that_nobody_wins_says_so(user, script, code, state):
    finished = await user.trueup(*words(user, script, script, more=("--max-iterations", "1", "--yes", "--json")))
    outcome = json_lines(finished)[-1]
    assert (finished.exit_code, outcome["exit_code"], outcome["state"]) == (code, code, state)
    assert (outcome["session_id"], outcome["race"]["winner"]) == (None, None)
    assert outcome["message"] == "no change was verified"


def entry(session_id: str, **more) -> events.RaceEntry:
    usual = {
        "session_id": session_id,
        "engine": "codex",
        "model": None,
        "state": State.NEEDS_APPROVAL,
        "reason": None,
        "outcome": Outcome.VERIFIED,
        "engine_secs": 1.25,
        "usage": Usage(),
        "turns": 0,
        "iterations": 1,
        "files": 1,
        "insertions": 3,
        "deletions": 4,
        "gates": 0,
        "flags": 0,
    }
    return events.RaceEntry(**{**usual, **more})


def report(*entries: events.RaceEntry, why: str) -> RaceReport:
    decided = events.RaceDecided(race_id="r", pick=Pick.CHEAPEST, winner=None, why=why, entries=[*entries])
    request = CodeRequest(intent="x", folder="/", engine="codex")
    runners = [Runner("codex")] * len(entries)
    race = Race(id="r", request=request, base="b", pick=Pick.CHEAPEST, runners=runners, decided=decided)
    return RaceReport.of(race, [])


def test_the_comparison_says_what_is_unknown_and_how_a_person_can_choose():
    spent, partly = Usage(cost_usd=0.5), Usage(cost_usd=0.25, incomplete=True)
    refused = {"state": State.FAILED, "reason": FailureReason.NO_PROGRESS, "outcome": Outcome.REFUSED, "gates": 2}
    stopped = {"state": State.RUNNING, "outcome": None, "usage": Usage()}
    text = report(
        entry("r-1", model="o\x1b[1m3", flags=1, usage=partly),
        entry("r-2", usage=spent, **refused),
        entry("r-3", **stopped),
        why="what r-1 cost is unknown",
    ).text()
    _, one, two, three, *rest = text.splitlines()
    assert one.split() == [
        "r-1",
        "codex@o\\x1b[1m3",
        "verified",
        "1.2",
        "s",
        "over",
        "$0.25",
        "1",
        "+3",
        "-4",
        "1",
        "flag",
    ]
    assert two.split()[2:] == ["failed:", "no_progress", "1.2", "s", "$0.5", "1", "+3", "-4", "2", "gates"]
    assert three.split()[2:7] == ["stopped", "(running)", "1.2", "s", "$?"]
    assert rest == ["race r: nobody wins: what r-1 cost is unknown", "  take this one: trueup code approve r-1"]


async def test_an_interrupted_race_stops_everything_and_goes_on_with_all_of_them(user):
    async with at_work(user, "--yes") as process:
        os.kill(process.pid, signal.SIGINT)
        finished = await process.wait()
    race = (await listed(user))[0]["race"]
    assert finished.exit_code == 130
    assert finished.stderr.text.splitlines()[-1] == (f"interrupted; go on with all of them: trueup code resume {race}")
    assert not is_running(user.nap)
    assert await states(user) == ["needs_approval", "running"]
    assert (
        f"is not decided; go on with: trueup code resume {race}"
        in (await user.trueup("code", "show", race)).stdout.text
    )
    engines(user, "exit 1", f"grep -q 'use plus' && {MEND}")
    said = await user.trueup("code", "respond", f"{race}-2", "use plus", "--yes")
    assert said.exit_code == 0, said.stdout.text + said.stderr.text
    assert await states(user) == ["abandoned", "merged"]


async def test_a_race_that_is_killed_leaves_no_engine_and_is_cleared_away_by_a_cancel(user):
    async with at_work(user, "--yes") as process:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    async with asyncio.timeout(10):
        while is_running(user.nap):
            await asyncio.sleep(0.05)
    race = (await listed(user))[0]["race"]
    cancelled = await user.trueup("code", "cancel", race)
    assert (cancelled.exit_code, await states(user)) == (0, ["abandoned", "abandoned"])
    assert not list(Path(os.environ["XDG_CACHE_HOME"]).rglob("more.txt")), "no workspace is left"
    assert user.checkout.git("worktree", "list").count("\n") <= 1


async def test_two_races_at_once_do_not_get_into_each_others_way(user):
    scripts = (f"{MEND}; sleep 0.3", "exit 1")
    one, two = await asyncio.gather(
        user.trueup(*words(user, *scripts, more=("--json",))), user.trueup(*words(user, *scripts, more=("--json",)))
    )
    ends = [json_lines(each)[-1] for each in (one, two)]
    assert [end["state"] for end in ends] == ["needs_approval"] * 2, [end["message"] for end in ends]
    assert ends[0]["race"]["winner"] == f"{ends[0]['race']['race_id']}-1"
    assert ends[0]["race"]["race_id"] != ends[1]["race"]["race_id"]
    assert (await states(user)).count("needs_approval") == 2


async def test_a_race_is_cancelled_with_all_of_its_sessions(user):
    async with at_work(user) as process:
        race = (await listed(user))[0]["race"]
        busy = await user.trueup("code", "resume", race)
        assert (busy.exit_code, f"worked on by process {process.pid}" in busy.stderr.text) == (2, True)
        cancelled = await user.trueup("code", "cancel", race)
        finished = await process.wait()
    assert (cancelled.exit_code, cancelled.stdout.text) == (0, f"race {race}: cancelled\n")
    assert finished.exit_code == 130
    assert await states(user) == ["abandoned", "abandoned"]
    assert not is_running(user.nap)


async def test_a_derived_contract_is_agreed_to_once_for_all(user):
    user.checkout.write("tests/__init__.py")
    user.checkout.write(
        "tests/test_calc.py",
        "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n"
        "    def test_adds(self):\n        self.assertEqual(calc.add(2, 3), 5)\n",
    )
    user.checkout.write("Makefile", "test:\n\tpython3 -m unittest -q\n")
    user.checkout.commit("a suite")
    waiting = await user.trueup("code", "make add() add", "--race", engines(user, MEND, "sleep 60"))
    assert waiting.exit_code == 1, waiting.stderr.text
    (first,) = await listed(user)
    assert f"agree to it:  trueup code approve {first['id']}" in waiting.stdout.text
    approved = await user.trueup("code", "approve", first["id"])
    assert f"{first['id']} wins, the first that was verified" in approved.stdout.text, approved.stderr.text
    assert await states(user) == ["abandoned", "needs_approval"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--race", "command:true"], "needs at least two engines"),
        (["--race", "command:true,"], "is empty"),
        (["--race", "command:true,magic"], "unknown engine 'magic'"),
        (["--race", "command:true,command:true", "--engine", "command:true"], "leave --engine away"),
        (["--race", "command:true,command:true", "--cassette", "x.jsonl"], "calls of one engine"),
        (["--race", "command:true,command:true", "--pick", "best"], "is not one of"),
        (["--engine", "command:true", "--pick", "first"], "name the engines with --race"),
    ],
)
async def test_bad_input_exits_two_before_anything_happens(user, options, complaint):
    finished = await user.trueup("code", "make add() add", "--contract", str(user.contract), *options)
    assert (finished.exit_code, finished.stdout.text) == (2, "")
    assert complaint in finished.stderr.text
    assert json.loads((await user.trueup("runs", "list", "--json")).stdout.text) == []
