"""What every command does at a terminal, and does not do off one: signs of life, colours, and an end by Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import pytest

from checkouts import Checkout
from coded import MEND, RIGHT, TRUEUP
from terminals import CTRL_C, Terminal
from trueup.runs import RunStore, Started, Turn
from trueup.testing import ScriptedAgent

CONTRACT = json.dumps({"description": "d", "checks": [{"name": "c", "command": "grep -q x y.txt"}]})
SLOW_MODEL = f"sleep 1.6; echo '{CONTRACT}'"
DERIVE = ("contract", "derive", "make y", "--generate", SLOW_MODEL)


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def here(tmp_path):
    """A repository in which a check takes longer than anybody waits."""
    checkout = Checkout(tmp_path / "user")
    checkout.write("y.txt", "y\n")
    checks = [{"name": "slow", "command": "sleep 4000"}]
    checkout.write("trueup.yaml", json.dumps({"contract": {"description": "d", "checks": checks}}))
    checkout.commit("the base")
    return checkout.root


def at_terminal(cwd, *arguments: str, **env: str) -> Terminal:
    given = [f"{name}={value}" for name, value in env.items()]
    return Terminal(("/usr/bin/env", *given, TRUEUP, *arguments), cwd, os.environ)


async def test_what_takes_longer_than_a_second_says_so_with_the_time_and_clears_it_away(tmp_path):
    async with at_terminal(tmp_path, *DERIVE) as terminal:
        assert await terminal.exit_code() == 0
    signs = re.findall(r"\r\x1b\[2K +(\d\.\d) s  asking command:sleep 1\.6.*? …(?=\r)", terminal.written)
    assert float(signs[0]) >= 1
    assert signs == sorted(signs)
    assert "…\r\x1b[2Kasked command:" in terminal.written


async def test_there_is_no_sign_of_life_before_a_second_off_a_terminal_or_where_nobody_wants_one(trueup, tmp_path):
    async def written(*arguments: str, **env: str) -> str:
        async with at_terminal(tmp_path, *arguments, **env) as terminal:
            assert await terminal.exit_code() == 0
        return terminal.written

    quick, quiet, dumb, off, both = await asyncio.gather(
        written("cache", "list"),
        written(*DERIVE, "--quiet"),
        written(*DERIVE, TERM="dumb"),
        trueup(*DERIVE),
        trueup(*DERIVE, "--quiet"),
    )
    assert quick == "nothing is kept\r\n"
    assert "asking" not in quiet
    assert "\x1b" not in dumb
    assert re.fullmatch(r"asked command:[^\n]*\n", off.stderr.text)
    assert (both.exit_code, both.stderr.text) == (0, "")


@pytest.mark.parametrize(
    ("env", "is_coloured"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
async def test_colours_are_for_those_who_want_them(tmp_path, env, is_coloured):
    async with await RunStore.open() as store:
        run = await store.start(Started("mend it"))
        await store.append(run.run_id, [Turn(tool="check_outcome", output={"passed": False}, verifier_verdict="fail")])
    async with at_terminal(tmp_path, "runs", "show", run.run_id, **env) as terminal:
        assert await terminal.exit_code() == 0
    assert "check_outcome" in terminal.text
    assert ("\x1b[33m" in terminal.written) is is_coloured
    draw = "from trueup.cli._shared import console; console().print('[yellow]drawn')"
    given = [f"{name}={value}" for name, value in env.items()]
    async with Terminal(("/usr/bin/env", *given, sys.executable, "-c", draw), tmp_path, os.environ) as terminal:
        assert await terminal.exit_code() == 0
    assert "drawn" in terminal.text
    assert ("\x1b[33m" in terminal.written) is is_coloured


async def test_whoever_wants_it_quiet_is_told_what_came_of_it_and_nothing_before(user_of_code):
    checked = await user_of_code.trueup("check", "--quiet", "--contract", str(user_of_code.contract))
    assert (checked.exit_code, checked.stderr.text) == (1, "")
    assert "adds" in checked.stdout.text
    coded = await user_of_code.trueup(*user_of_code.words(MEND, "--yes", "--quiet"))
    assert (coded.exit_code, coded.stderr.text) == (0, "")
    assert "merged" in coded.stdout.text


async def test_an_agreement_to_a_contract_can_be_one_to_the_change_too(user_of_code):
    started = await user_of_code.trueup(*user_of_code.words())
    assert started.exit_code == 1
    agreed = await user_of_code.trueup("code", "approve", "--yes")
    assert agreed.exit_code == 0, agreed.stderr.text
    assert user_of_code.checkout.read("calc.py") == RIGHT


async def test_a_check_that_is_interrupted_says_that_nothing_was_touched(here):
    async with at_terminal(here, "check", "--guards-only") as terminal:
        seen = await terminal.see("s  slow …")
        await terminal.see("s  slow …", after=seen)
        terminal.type(CTRL_C)
        assert await terminal.exit_code() == 130
    assert "interrupted; nothing was decided and your files are as they were" in terminal.text


async def test_a_daemon_that_is_interrupted_says_where_the_runs_are(tmp_path):
    async with at_terminal(tmp_path, "serve", "--port", "0") as terminal:
        await terminal.see("pages, for the one who opens this first")
        terminal.type(CTRL_C)
        assert await terminal.exit_code() == 0
    assert terminal.text.endswith(f"stopped; what was recorded is in {tmp_path}/data/trueup/trueup.db\n")


async def test_an_agent_that_is_interrupted_leaves_word_where_its_work_is(tmp_path, monkeypatch):
    (tmp_path / "agents").mkdir()
    ScriptedAgent("write started x\nhang", speak="claude").install(tmp_path / "agents" / "claude")
    monkeypatch.setenv("PATH", f"{tmp_path}/agents:{os.environ['PATH']}")
    async with at_terminal(tmp_path, "harness", "run", "claude-code", "do it") as terminal:
        await terminal.see("s  claude-code works …")
        terminal.type(CTRL_C)
        assert await terminal.exit_code() == 130
    assert f"interrupted; what it did so far is in {tmp_path}; go on with: " in terminal.text.replace("\n", "")
