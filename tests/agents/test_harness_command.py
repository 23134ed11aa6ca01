"""`trueup harness run` with the real programs, and a scripted model in the place of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from coded import TRUEUP, json_lines
from trueup.core.process import Command, Finished, run
from trueup.testing import ScriptedModel, Text, Tool

pytestmark = pytest.mark.agents

HARNESSES = {"claude": "claude-code", "codex": "codex"}
MODELS = {"claude": "claude-sonnet-4-5", "codex": "gpt-5.1-codex"}


@pytest.fixture(params=["claude", "codex"])
def agent(request, agent_programs, tmp_path, monkeypatch) -> str:
    """A real agent on PATH, by the name of its program."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / request.param).symlink_to(agent_programs[request.param])
    monkeypatch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/bin:/bin")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(scratch))
    return str(request.param)


async def trueup(agent: str, model: ScriptedModel, folder: Path, *words: str) -> Finished:
    env = {
        **os.environ,
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": "sk-scripted",
    }
    argv = (TRUEUP, "harness", "run", "--harness", HARNESSES[agent], "--model", MODELS[agent], "--mode", "full", *words)
    folder.mkdir(exist_ok=True)
    return await run(Command(argv=argv, cwd=folder, env=env, timeout_secs=90))


async def test_a_task_is_done_and_its_session_resumed(agent, tmp_path):
    folder = tmp_path / "work"
    async with ScriptedModel([Tool.shell("echo hi > made.txt"), Text("DONE")]) as model:
        done = json_lines(await trueup(agent, model, folder, "make it", "--stream", "--system", "Be brief, sparrow."))
        assert "Be brief, sparrow." in json.dumps(model.asked[0].body)
    assert (done[-1]["status"], done[-1]["text"]) == ("ok", "DONE")
    assert any(line["type"] == "tool_call" and line["tool_kind"] == "shell" for line in done)
    assert (folder / "made.txt").read_text() == "hi\n"

    async with ScriptedModel([Text("AGAIN")]) as model:
        again = await trueup(agent, model, folder, "--resume", done[-1]["session_id"], "--compact", "and again?")
        assert "make it" in json.dumps(model.asked[0].body)
    [told] = json.loads(again.stdout.text)["results"]
    assert (again.exit_code, told["status"], told["text"]) == (0, "ok", "AGAIN")
    assert told["session_id"] == done[-1]["session_id"]


async def test_a_key_that_is_refused_exits_three(agent, tmp_path):
    async with ScriptedModel("fault 401") as model:
        finished = await trueup(agent, model, tmp_path / "work", "make it", "--json", "--timeout", "60")
    assert (finished.exit_code, json.loads(finished.stdout.text)["failure_kind"]) == (3, "auth")
