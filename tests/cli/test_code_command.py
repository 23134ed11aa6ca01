"""`trueup code` as a user calls it off a terminal: reports, JSON lines, exit codes, and what can be done to a session."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest

from coded import CONTRACT, MEND, RIGHT, is_running, json_lines


@pytest.fixture
def user(user_of_code):
    return user_of_code


@asynccontextmanager
async def at_work(user, *more: str):
    """A session whose engine sleeps."""
    async with user.started(*user.words(user.sleep, *more)) as process, asyncio.timeout(60):
        while not is_running(user.nap):
            await asyncio.sleep(0.02)
        yield process


async def test_json_lines_tell_everything_and_the_last_is_the_outcome(user):
    finished = await user.trueup(*user.words(MEND, "--yes", "--json"))
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    *events, outcome = json_lines(finished)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert {"state_changed", "contract_proposed", "contract_baseline", "engine_selected", "iteration_started"} < {
        event["type"] for event in events
    }
    states = [event["state"] for event in events if event["type"] == "state_changed"]
    assert states[-3:] == ["verifying", "needs_approval", "merged"]
    assert {event["session_id"] for event in events} == {outcome["session_id"]}
    assert all(event["ts"].endswith("Z") for event in events)
    assert (outcome["type"], outcome["state"], outcome["exit_code"]) == ("outcome", "merged", 0)
    assert (outcome["commit"], outcome["branch"], outcome["iterations"]) == (user.head, "main", 1)
    assert (outcome["verdict"]["outcome"], outcome["attested"]) == ("verified", True)
    assert outcome["usage"].get("cost_usd") is None
    assert user.checkout.read("calc.py") == RIGHT


async def test_without_yes_a_verified_change_waits_and_says_what_to_do(user):
    before = user.head
    finished = await user.trueup(*user.words())
    assert finished.exit_code == 1
    session = (await user.session())["id"]
    assert "VERIFIED" in finished.stdout.text
    assert f"session {session}: needs approval: verified, and waits for approval" in finished.stdout.text
    assert f"deliver it:   trueup code approve {session}" in finished.stdout.text
    assert "? tokens, $?, 1 iteration" in finished.stdout.text
    lines = finished.stderr.text.splitlines()
    assert lines[0].endswith(f" s  session {session}")
    assert any(line.endswith(" s  adds: red (exit 1)") for line in lines)
    assert any(line.endswith(" s  adds: green") for line in lines)
    assert (user.head, user.checkout.status()) == (before, "")


async def test_what_waits_can_be_listed_shown_read_and_approved(user):
    await user.trueup(*user.words())
    listed = await user.trueup("code", "list")
    head, row = listed.stdout.text.splitlines()
    assert head.split() == ["session", "state", "age", "owner", "intent"]
    session, state, *_ = row.split()
    assert state == "needs_approval"
    shown = await user.trueup("code", "show", session[:8])
    assert "adds is a goal: red on base (exit 1); must turn green" in shown.stdout.text
    assert "iteration 1: verified" in shown.stdout.text
    patch = (await user.trueup("code", "diff", session)).stdout.data
    assert b"-    return a - b\n+    return a + b\n" in patch
    assert patch.startswith(b"diff --git a/calc.py b/calc.py\n")
    approved = await user.trueup("code", "approve", session)
    assert approved.exit_code == 0, approved.stderr.text
    assert f"commit {user.head[:12]} on main, attested" in approved.stdout.text
    assert user.checkout.read("calc.py") == RIGHT
    story = await user.session()
    assert story["approved"]["by"] == {"name": "Ada", "email": "ada@example.org"}
    again = await user.trueup("code", "approve", session)
    assert (again.exit_code, again.stderr.text) == (
        2,
        f"error: session {session} is merged: there is nothing to approve\n",
    )


@pytest.mark.parametrize(
    ("how", "state", "key"),
    [("branch", "merged", "branch"), ("patch", "reported", "patch"), ("none", "reported", None)],
)
async def test_a_change_is_delivered_as_somebody_wants_it_at_approval(user, how, state, key):
    before = user.head
    await user.trueup(*user.words())
    finished = await user.trueup("code", "approve", "--deliver", how, "--json")
    outcome = json_lines(finished)[-1]
    assert (finished.exit_code, outcome["state"], user.head) == (0, state, before)
    if key == "branch":
        assert outcome["branch"].startswith("trueup/make-add-add-")
        assert user.checkout.git("show", f"{outcome['branch']}:calc.py") == RIGHT.rstrip()
    if key == "patch":
        user.checkout.git("apply", outcome["patch"])
        assert user.checkout.read("calc.py") == RIGHT


async def test_a_derived_contract_waits_for_somebody_to_agree(user):
    user.checkout.write("tests/__init__.py")
    user.checkout.write(
        "tests/test_calc.py",
        "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n"
        "    def test_adds(self):\n        self.assertEqual(calc.add(2, 3), 5)\n",
    )
    user.checkout.write("Makefile", "test:\n\tpython3 -m unittest -q\n")
    user.checkout.commit("a suite")
    finished = await user.trueup("code", "make add() add", "--engine", user.engine(MEND))
    assert finished.exit_code == 1, finished.stderr.text
    assert "nobody has agreed to it" in finished.stdout.text
    assert "agree to it:  trueup code approve" in finished.stdout.text
    refused = await user.trueup("code", "respond", "also subtract")
    assert (refused.exit_code, "no model was named that could revise it" in refused.stderr.text) == (2, True)
    early = await user.trueup("code", "approve", "--deliver", "branch")
    assert (early.exit_code, "--deliver is for the approval of a change" in early.stderr.text) == (2, True)
    approved = await user.trueup("code", "approve")
    assert "needs approval" in approved.stdout.text, approved.stderr.text
    assert (await user.trueup("code", "approve")).exit_code == 0
    assert user.checkout.read("calc.py") == RIGHT


async def test_what_is_not_achieved_exits_one_and_says_why(user):
    finished = await user.trueup(*user.words("echo x >other.txt", "--max-iterations", "1", "--yes"))
    assert finished.exit_code == 1
    assert "failed: verification: goal 'adds' is still red: exit 1" in finished.stdout.text
    assert "what it made: trueup code diff" in finished.stdout.text


async def test_no_goal_is_unproven_before_an_engine_is_started(user):
    user.contract.write_text(CONTRACT.replace("== 5", "== -1"))
    finished = await user.trueup(*user.words("touch ../../../engine-was-here", "--yes", "--json"))
    *events, outcome = json_lines(finished)
    assert (finished.exit_code, outcome["reason"], outcome["iterations"]) == (1, "unproven", 0)
    assert "engine_selected" not in {event["type"] for event in events}


async def test_a_flag_is_not_approved_by_yes_and_is_shown_to_whoever_approves(user):
    finished = await user.trueup(*user.words(f"{MEND}; echo > conftest.py", "--yes"))
    assert finished.exit_code == 1
    assert "a person must look at this first" in finished.stdout.text
    approved = await user.trueup("code", "approve")
    assert approved.exit_code == 0
    assert approved.stderr.text.startswith("flag: conftest.py")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--budget-usd", "nan"], "not a finite number"),
        (["--budget-usd", "inf"], "not a finite number"),
        (["--budget-usd", "0"], "not in the range x>0"),
        (["--timeout", "-1"], "not in the range x>0"),
        (["--idle-timeout", "soon"], "not a valid float"),
        (["--max-iterations", "0"], "not in the range"),
        (["--budget-tokens", "1.5"], "not a valid integer"),
        (["--deliver", "mail"], "is not one of"),
        (["--engine", "magic"], "unknown engine 'magic'"),
        (["--engine", "command:"], "names no program"),
        (["--base", "nowhere"], "names no commit"),
        (["--intent", "another"], "given twice"),
    ],
)
async def test_bad_input_exits_two_before_anything_happens(user, options, complaint):
    finished = await user.trueup(*user.words(MEND, *options))
    assert (finished.exit_code, finished.stdout.text) == (2, "")
    assert complaint in finished.stderr.text
    assert (await user.trueup("code", "list")).stdout.text == "no sessions\n"


async def test_without_an_engine_it_says_how_to_name_one(user):
    finished = await user.trueup("code", "make add() add", "--json")
    (line,) = json_lines(finished)
    assert (finished.exit_code, line["kind"]) == (2, "input")
    assert "--engine 'command:PROGRAM ARGUMENTS'" in line["error"]


async def test_an_engine_from_the_users_settings_works_and_one_from_the_repository_is_refused(user):
    words = ("code", "make add() add", "--contract", str(user.contract), "--yes")
    engine = user.engine(MEND)
    assert (await user.trueup(*words, env={"TRUEUP_ENGINE": engine})).exit_code == 0
    user.checkout.write("trueup.yaml", f"engine: '{engine}'\n")
    refused = await user.trueup(*words)
    assert refused.exit_code == 2
    assert (
        "'engine' decides what is run, called or kept in your name, so a repository cannot set it"
        in refused.stderr.text
    )


@pytest.mark.parametrize("empty", ["", "  "])
async def test_an_empty_intent_is_refused(user, empty):
    finished = await user.trueup("code", "--engine", user.engine(MEND), "--intent", empty)
    assert (finished.exit_code, "say what is to be done" in finished.stderr.text) == (2, True)


async def test_a_contract_that_cannot_be_used_is_bad_input(user):
    user.contract.write_text("description: x\nchecks:\n- name: a\n  command: ''\n")
    finished = await user.trueup(*user.words(MEND, "--json"))
    outcome = json_lines(finished)[-1]
    assert (finished.exit_code, outcome["reason"], outcome["exit_code"]) == (2, "configuration", 2)
    assert "check 'a' has an empty command" in outcome["message"]


async def test_an_engine_that_is_not_there_exits_three(user):
    finished = await user.trueup("code", "x", "--engine", "command:no-such-agent", "--json")
    (line,) = json_lines(finished)
    assert (finished.exit_code, line["kind"]) == (3, "spawn")
    assert "engine 'no-such-agent' cannot be started" in line["error"]


@pytest.mark.parametrize(
    ("script", "options", "reason"),
    [
        ("exit 127", (), "configuration"),
        ('echo \'{"trueup": "error", "kind": "auth", "message": "log in"}\'; exit 1', (), "auth_required"),
        ("sleep 60", ("--idle-timeout", "0.2"), "stalled"),
    ],
)
async def test_an_engine_that_fails_exits_three(user, script, options, reason):
    finished = await user.trueup(*user.words(script, "--yes", "--json", *options))
    outcome = json_lines(finished)[-1]
    assert (finished.exit_code, outcome["exit_code"], outcome["reason"]) == (3, 3, reason)


async def test_a_budget_that_is_used_up_is_not_the_engines_failure(user):
    finished = await user.trueup(*user.words(user.sleep, "--yes", "--json", "--timeout", "0.3"))
    outcome = json_lines(finished)[-1]
    assert (finished.exit_code, outcome["reason"]) == (1, "budget_exhausted")
    assert not is_running(user.nap)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_session_stops_everything_and_can_be_gone_on_with(user, number):
    before = user.head
    async with at_work(user, "--yes") as process:
        os.kill(process.pid, number)
        finished = await process.wait()
    session = (await user.session())["id"]
    assert finished.exit_code == 130
    assert finished.stderr.text.splitlines()[-1] == f"interrupted; go on with: trueup code resume {session}"
    assert not is_running(user.nap)
    assert (user.head, user.checkout.status()) == (before, "")
    user.engine(MEND)
    resumed = await user.trueup("code", "resume", session[:9], "--yes")
    assert resumed.exit_code == 0, resumed.stderr.text
    assert user.checkout.read("calc.py") == RIGHT


async def test_an_interrupted_session_ends_its_json_with_an_outcome_too(user):
    async with at_work(user, "--json") as process:
        os.kill(process.pid, signal.SIGTERM)
        finished = await process.wait()
    outcome = json_lines(finished)[-1]
    assert (outcome["type"], outcome["state"], outcome["exit_code"]) == ("outcome", "running", 130)
    assert outcome["message"] == f"interrupted; go on with: trueup code resume {outcome['session_id']}"


async def test_a_killed_session_is_listed_without_an_owner_and_can_be_gone_on_with(user):
    async with at_work(user) as process:
        (listed,) = json.loads((await user.trueup("code", "list", "--json")).stdout.text)
        assert (listed["owner"], listed["state"]) == (process.pid, "running")
        busy = await user.trueup("code", "resume", listed["id"])
        assert (busy.exit_code, f"worked on by process {process.pid}" in busy.stderr.text) == (2, True)
        nobody = await user.trueup("code", "resume")
        assert (nobody.exit_code, "no session of this repository" in nobody.stderr.text) == (2, True)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    (listed,) = json.loads((await user.trueup("code", "list", "--json")).stdout.text)
    assert (listed["owner"], listed["state"]) == (None, "running")
    user.engine(MEND)
    assert "needs approval" in (await user.trueup("code", "resume")).stdout.text


async def test_a_session_is_cancelled_from_elsewhere(user):
    async with at_work(user) as process:
        cancelled = await user.trueup("code", "cancel")
        finished = await process.wait()
    assert cancelled.exit_code == 0, cancelled.stderr.text
    assert cancelled.stdout.text.endswith(": cancelled\n")
    assert finished.exit_code == 130
    assert (await user.session())["state"] == "abandoned"
    assert not is_running(user.nap)


async def test_what_is_worked_on_does_not_wait_and_is_not_discarded(user):
    async with at_work(user) as process:
        working = await user.session()
        refused = await user.trueup("code", "discard", working["id"])
        os.kill(process.pid, signal.SIGTERM)
        await process.wait()
    assert refused.exit_code == 2
    assert "does not wait" in refused.stderr.text
    assert (await user.session())["state"] == "running"


async def test_a_session_at_work_hears_what_is_said(user):
    async with at_work(user) as process:
        said = await user.trueup("code", "respond", "use plus")
        os.kill(process.pid, signal.SIGTERM)
        await process.wait()
    assert (said.exit_code, "is being worked on, and hears it" in said.stdout.text) == (0, True)
    user.engine(f"grep -q 'use plus' && {MEND}")
    assert (await user.trueup("code", "resume", "--yes")).exit_code == 0


async def test_a_verified_change_is_sent_back_with_words(user):
    await user.trueup(*user.words(f"if grep -q 'with a remark'; then echo '# adds' >>calc.py; else {MEND}; fi"))
    finished = await user.trueup("code", "respond", "with a remark", "--yes")
    assert finished.exit_code == 0, finished.stderr.text
    assert user.checkout.read("calc.py") == RIGHT + "# adds\n"


async def test_a_verified_change_is_discarded(user):
    before = user.head
    await user.trueup(*user.words())
    discarded = await user.trueup("code", "discard", "--json")
    assert (discarded.exit_code, json.loads(discarded.stdout.text)["state"]) == (0, "abandoned")
    assert user.head == before
    gone = await user.trueup("code", "approve")
    assert (gone.exit_code, "no session of this repository is there for that" in gone.stderr.text) == (2, True)


async def test_without_an_id_a_verb_means_the_only_session_that_it_can_be_about(user):
    await user.trueup(*user.words(intent="the first"))
    await user.trueup(*user.words(intent="the second"))
    refused = await user.trueup("code", "approve")
    assert refused.exit_code == 2
    assert "several sessions that could be meant" in refused.stderr.text
    assert "the first" in refused.stderr.text
    assert (await user.session())["request"]["intent"] == "the second"
    unknown = await user.trueup("code", "show", "zzz")
    assert (unknown.exit_code, "'zzz'" in unknown.stderr.text) == (2, True)


async def test_sessions_belong_to_repositories_and_all_lists_every_one(user, tmp_path):
    await user.trueup(*user.words(MEND, "--yes"))
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    alone = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    refused = await user.trueup("code", "list", cwd=nowhere, env=alone)
    assert (refused.exit_code, "not in a git repository" in refused.stderr.text) == (2, True)
    listed = await user.trueup("code", "list", "--all", cwd=nowhere, env=alone)
    assert "make add() add" in listed.stdout.text


@pytest.mark.parametrize(
    ("words", "said"), [(("--yes", "list"), "'list' is a verb, which comes first"), (("aprove",), "is nearly the verb")]
)
async def test_a_verb_in_the_wrong_place_is_not_taken_for_an_intent(user, words, said):
    finished = await user.trueup("code", *words, "--engine", user.engine("exit 1"))
    assert finished.exit_code == 2
    assert said in finished.stderr.text


@pytest.mark.parametrize("words", [("--", "list"), ("--intent", "list"), ("--intent=list",)])
async def test_an_intent_that_is_a_verb_can_be_said_plainly(user, words):
    options = ("--engine", user.engine(MEND), "--contract", str(user.contract), "--yes", "--json")
    finished = await user.trueup("code", *options, *words)
    assert finished.exit_code == 0, finished.stdout.text
    assert (await user.session())["request"]["intent"] == "list"


async def test_what_others_write_cannot_act_on_a_terminal(user):
    script = f'printf \'{{"trueup": "plan", "text": "\\\\u001b[2J gone"}}\\n\'; {MEND}'
    finished = await user.trueup(*user.words(script, intent="add \x1b[1m it"))
    assert "\\x1b[2J gone" in finished.stderr.text
    assert "\x1b" not in finished.stdout.text + finished.stderr.text
    shown = await user.trueup("code", "show")
    assert "add \\x1b[1m it" in shown.stdout.text


async def test_help_shows_how_to_start_and_every_verb(user):
    finished = await user.trueup("code", "--help")
    assert "Usage: trueup code [OPTIONS] INTENT\n   or: trueup code VERB [ARGS]..." in finished.stdout.text
    assert "--budget-usd USD" in finished.stdout.text
    for verb in ("list", "show", "diff", "approve", "discard", "cancel", "resume", "respond"):
        assert f"\n  {verb} " in finished.stdout.text
    inner = await user.trueup("code", "something", "--help")
    assert inner.stdout.text.startswith("Usage: trueup code [OPTIONS] INTENT\n")
