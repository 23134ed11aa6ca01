"""ACP agents as engines of sessions: whom they call, whose login they use, and what they are told of that."""

from __future__ import annotations

import json
import shlex

import pytest
from msgspec.structs import replace

from trueup.core.process import Command, run
from trueup.core.usage import Usage
from trueup.harness import EngineError, HarnessRequest, Surroundings, Task
from trueup.harness._harness_engine import HarnessEngine
from trueup.harness.acp import acp_engine

from .conftest import Script, said


def surroundings(folder, **environ) -> Surroundings:
    usual = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return Surroundings(
        folder=folder, repository=folder, in_base=lambda _: True, environ={**usual, **environ}, confined=False
    )


async def test_an_engine_that_cannot_go_on_begins_anew(ground, script):
    harness = ground.agent(script.then(said("DONE")).ends(), "gemini")
    engine = HarnessEngine(harness, None, {}, resumes=harness.capabilities.resume)
    work = await engine.work(Task(prompt="p", prompt_file="p", resume="session-0"), ground, ground)
    assert work.output_tail == "DONE"
    assert [asked["cwd"] for asked in ground.heard_of("session/new")] == [str(ground.work)]


async def test_an_agent_is_an_engine(ground, script, tmp_path, allowing):
    """It works in a folder that only its launcher knows, and what it asks for is decided."""
    script.asks({"kind": "execute", "rawInput": {"command": "make"}}, writes=str(tmp_path / "made")).then(said("DONE"))
    words = ground.agent(script.ends(usage={"inputTokens": 3, "outputTokens": 4, "totalTokens": 7})).agent.argv
    around = replace(surroundings(tmp_path), gate=allowing)
    engine = acp_engine(f"acp:{shlex.join(words)}", around)
    assert await engine.version() == "1.2.3"
    work = await engine.work(Task(prompt="do it", prompt_file="p"), ground, ground)
    assert (work.exit_code, work.output_tail, work.usage) == (0, "DONE", Usage(3, 4))
    assert [action.params for action in allowing.asked] == [{"command": "make"}]
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("spec", "keys", "vendor", "login"),
    [
        ("acp:claude-code", {}, "anthropic", "claude-code"),
        ("acp:codex", {}, "openai", "codex"),
        ("acp:codex-acp", {}, "openai", "codex"),
        ("acp:opencode", {}, "anthropic", None),
        ("acp:opencode", {"OPENAI_API_KEY": "k"}, "openai", None),
        ("acp:gemini", {}, "gemini", None),
        ("acp:goose", {}, "anthropic", None),
        ("acp:qwen", {}, "openai", None),
        ("acp:copilot", {}, "openai", None),
        ("acp:kimi", {}, "openai", None),
        ("acp:vibe", {}, "mistral", None),
        # What it is told of a vendor is a word before its others.
        ("acp:droid", {}, None, None),
        ("acp:pi", {}, None, None),
        ("acp:my-agent", {}, None, None),
    ],
)
def test_an_engine_has_the_vendor_and_the_login_of_its_agent(spec, keys, vendor, login, tmp_path):
    engine = acp_engine(spec, surroundings(tmp_path, **keys))
    assert (engine.vendor.name if engine.vendor else None) == vendor
    assert (engine.login.harness if engine.login else None) == login


async def test_an_agent_without_a_key_where_its_login_is_not_seen_is_told_so(ground, tmp_path):
    opencode = tmp_path / "opencode"
    opencode.write_text(f"#!/bin/sh\nexec {shlex.join(ground.agent(Script()).agent.argv)}\n")
    opencode.chmod(0o755)
    around = surroundings(tmp_path, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert await acp_engine("acp:opencode", around).version() == "1.2.3"
    with pytest.raises(EngineError, match="set ANTHROPIC_API_KEY or OPENAI_API_KEY"):
        await acp_engine("acp:opencode", replace(around, confined=True)).version()


@pytest.mark.parametrize(
    ("like", "variables", "told"),
    [
        ("claude-code", {"ANTHROPIC_BASE_URL": "http://x"}, {"ANTHROPIC_CUSTOM_MODEL_OPTION": "big"}),
        ("goose", {"ANTHROPIC_BASE_URL": "http://x"}, {"GOOSE_PROVIDER": "anthropic", "ANTHROPIC_HOST": "http://x"}),
        ("kimi", {"OPENAI_BASE_URL": "http://x"}, {"KIMI_MODEL_BASE_URL": "http://x", "KIMI_MODEL_NAME": "big"}),
        ("copilot", {"OPENAI_BASE_URL": "http://x"}, {"COPILOT_PROVIDER_BASE_URL": "http://x"}),
    ],
)
def test_an_agent_is_told_its_vendor_as_in_its_own_dialect(like, variables, told, ground):
    asked = HarnessRequest(prompt="p", cwd=str(ground.work), model="big", env=variables)
    command = ground.agent([], like)._command(asked, must_ask=True)
    assert command.env.items() >= told.items()


def test_codex_is_told_its_vendor_in_its_settings(ground):
    env = {"OPENAI_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "k"}
    asked = HarnessRequest(prompt="p", cwd=str(ground.work), model="big", env=env)
    settings = json.loads(ground.agent([], "codex")._command(asked, must_ask=True).env["CODEX_CONFIG"])
    provider = settings["model_providers"][settings["model_provider"]]
    assert (settings["model"], provider["base_url"], provider["env_key"]) == ("big", "http://x/v1", "OPENAI_API_KEY")
    # Else a refused connection is tried again for ever.
    assert settings["features"] == {"unbounded_connection_retries": False}


async def test_a_file_by_which_an_agent_is_told_its_vendor_is_there_and_has_no_name(ground, tmp_path):
    asked = HarnessRequest(prompt="p", cwd=str(ground.work), env={"GEMINI_API_KEY": "k", "TMPDIR": str(tmp_path)})
    command = ground.agent([], "gemini")._command(asked, must_ask=True)
    begin = command.argv[: command.argv.index("sh") + 1]
    show = 'cat "$GEMINI_CLI_SYSTEM_SETTINGS_PATH"; env | grep -c TRUEUP_FILE'
    finished = await run(Command(argv=(*begin, "sh", "-c", show), env={"PATH": "/usr/bin:/bin", **command.env}))
    settings, _, count = finished.stdout.text.rpartition("}")
    assert json.loads(f"{settings}}}")["security"] == {"auth": {"selectedType": "gemini-api-key"}}
    assert int(count) == 0
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["steps.json"]


async def test_an_engine_fails_for_what_its_agent_says(ground, script, tmp_path):
    error = {"code": 429, "message": "slow down"}
    words = ground.agent(script.then(["fail", "session/prompt", error])).agent.argv
    around = surroundings(tmp_path)
    with pytest.raises(EngineError, match="slow down") as failed:
        await acp_engine(f"acp:{shlex.join(words)}", around).work(Task(prompt="p", prompt_file="p"), ground, ground)
    assert failed.value.transient
