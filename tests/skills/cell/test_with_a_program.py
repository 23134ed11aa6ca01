"""Cells with a provider that is a program."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from scripted_provider import cell_of
from trueup.core.usage import Usage
from trueup.skills._case import Boolean, Called, CommandProviderConfig, FileEval, Match, Mock, Numeric, ToolCalled, User
from trueup.skills._cell import run_cell
from trueup.skills._providers import CommandProvider
from trueup.skills._report import CellStatus

PROGRAM = """
import json, os, sys
asked = json.load(sys.stdin)
if asked["op"] == "respond":
    folder = os.environ["TRUEUP_WORKSPACE"]
    turn = int(asked.get("session", "0")) + 1
    with open(os.path.join(folder, f"turn-{turn}.txt"), "w") as file:
        file.write(asked["messages"][-1]["content"])
    said = {"message": f"Turn {turn}.", "session_id": str(turn), "done": turn == 2, "usage": {"input_tokens": 5}}
    said["events"] = [{"kind": "tool_call", "name": "bash", "input": {"command": "git push"}, "index": 0}]
    if "mocks" in asked:
        rule = asked["mocks"]["rules"]["rules"][0]
        action = next(iter(rule["action"]))
        said["mock_calls"] = [{"tool": "bash", "input": {"command": "git push"}, "action": action, "rule": 0}]
elif asked["op"] == "user":
    said = {"message": f"I am {asked['persona']}.", "usage": {"input_tokens": 1}}
elif asked["kind"] == "boolean":
    tools = [event["name"] for message in asked["messages"] for event in message.get("events", [])]
    said = {"value": tools == ["bash", "bash"], "reason": "I looked.", "usage": {"input_tokens": 2}}
else:
    said = {"value": asked["max"] + 1}
json.dump(said, sys.stdout)
"""


@pytest.fixture
def program(tmp_path: Path) -> CommandProvider:
    path = tmp_path / "provider.py"
    path.write_text(textwrap.dedent(PROGRAM))
    config = CommandProviderConfig(command=[sys.executable, str(path)])
    return CommandProvider(config, os.environ, tmp_path)


async def test_a_whole_cell_with_a_program(program: CommandProvider):
    spec = cell_of(
        Boolean(criterion="it used the shell in both turns"),
        FileEval(path="turn-1.txt", equals="Greet Ada."),
        FileEval(path="turn-2.txt", equals="I am a guest."),
        ToolCalled(tool="bash", times=2),
        Called(mock="push", times=2),
        user=User(persona="a guest"),
        mocks=(Mock(name="push", match=Match(contains="git push"), stub="ok"),),
    )
    report = await run_cell(spec, program)
    assert report.status is CellStatus.PASSED, report
    assert report.turns == 2
    assert report.skill_usage == Usage(input_tokens=10)
    assert report.judge_usage == Usage(input_tokens=3)


async def test_a_program_that_scores_off_the_scale(program: CommandProvider):
    report = await run_cell(cell_of(Numeric(criterion="warmth", threshold=5)), program)
    assert report.error is not None
    assert (report.error.kind, report.error.stage) == ("protocol", "evals")
