"""The oneharness provider with the real program, which starts scripted agents in the place of harnesses."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from oneharness_programs import HOOKED_CLAUDE, install_claude

from trueup.core.errors import InputError, Kind
from trueup.skills._case import Match, Mock, OneharnessProviderConfig
from trueup.skills._model import Message, MockCall, Needs, ProviderError, Query, QueryKind, Role, SkillRef
from trueup.skills._providers import OneharnessProvider
from trueup.testing import ScriptedAgent

PROGRAM = shutil.which("oneharness", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="oneharness is not installed (pip install oneharness-cli)")

LOOK_AND_SAY = "shell echo hi\nsay Hello there"


@pytest.fixture
def agents(tmp_path):
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


@pytest.fixture
def asking(agents, tmp_path):
    return provider(agents, tmp_path)


def provider(agents, folder, **settings):
    environ = {"PATH": f"{agents}:/usr/bin:/bin", "HOME": str(folder)}
    return OneharnessProvider(OneharnessProviderConfig(bin=PROGRAM, **settings), environ, folder)


async def test_a_skill_runs_on_a_harness_with_tool_events_usage_and_a_session(agents, asking, request_to, cell):
    ScriptedAgent(LOOK_AND_SAY, speak="claude").install(agents / "claude")
    turn = await asking.respond(request_to(model="sonnet"))
    assert turn.message == "Hello there"
    assert turn.session_id
    assert turn.events_told
    assert [(event.kind, event.name, event.input, event.output) for event in turn.events] == [
        ("tool_call", "Bash", {"command": "echo hi"}, None),
        ("tool_result", "Bash", None, "hi\n"),
    ]
    assert turn.events[0].id == turn.events[1].id
    assert turn.usage.input_tokens == 2000
    assert turn.usage.cost_usd > 0
    assert turn.notes == ()
    again = await asking.respond(request_to(model="sonnet", session=turn.session_id))
    assert again.session_id == turn.session_id


async def test_a_judge_gives_its_verdict(agents, asking):
    ScriptedAgent('say {"value": 7, "reason": "fine"}', speak="claude").install(agents / "claude")
    query = Query(kind=QueryKind.NUMERIC, criterion="polite", min=0, max=10)
    verdict = await asking.judge("", query, (Message(Role.USER, "Hi"),))
    assert (verdict.value, verdict.reason) == (7.0, "fine")
    assert verdict.usage.output_tokens == 50


async def test_a_skill_of_200_kb_arrives(agents, asking, request_to):
    keep = agents / "arrived"
    install_claude(
        agents / "claude",
        "import json, shutil, sys\n"
        f"shutil.copy(sys.argv[sys.argv.index('--append-system-prompt-file') + 1], {str(keep)!r})\n"
        "print(json.dumps({'type': 'result', 'result': 'ok', 'is_error': False}))\n",
    )
    skill = SkillRef(name="a", path="/a", instructions="s" * 200_000)
    assert (await asking.respond(request_to(skill=skill))).message == "ok"
    assert keep.read_text().strip() == skill.instructions


async def test_a_harness_without_a_system_prompt_gets_the_skill_before_the_prompt(agents, asking, request_to):
    ScriptedAgent("say Hello", speak="codex").install(agents / "codex")
    turn = await asking.respond(request_to(platform="codex"))
    assert turn.message == "Hello"
    assert "before the prompt" in turn.notes[0]


async def test_a_mock_decides_inside_the_harness(agents, asking, request_to):
    install_claude(agents / "claude", HOOKED_CLAUDE)
    deny = Mock(match=Match(tool="bash", input={"command": "git push"}), deny="not today", name="push")
    turn = await asking.respond(request_to(mocks=(deny,)))
    assert turn.message == "not today"
    call = MockCall(tool="Bash", input={"command": "git push"}, action="deny", rule=0, mock="push")
    assert turn.mock_calls == (call,)
    watched = await asking.respond(request_to(mocks=()))
    assert watched.message == "pushed"
    assert watched.mock_calls == (MockCall(tool="Bash", input={"command": "git push"}),)


async def test_a_harness_that_runs_no_hooks_does_not_pass_for_one_that_called_nothing(agents, asking, request_to):
    ScriptedAgent(LOOK_AND_SAY, speak="claude").install(agents / "claude")
    with pytest.raises(ProviderError, match="hooks saw none"):
        await asking.respond(request_to(mocks=()))


async def test_settings_of_the_project_reach_it(agents, asking, request_to, tmp_path):
    claude = install_claude(agents / "claude", f"print({json.dumps(json.dumps({'type': 'result', 'result': 'ok'}))})")
    (tmp_path / "oneharness.toml").write_text('mode = "bypass"\n')
    await asking.respond(request_to())
    assert "bypassPermissions" in Path(f"{claude}.argv").read_text().split()


async def test_failures_keep_their_kind(agents, tmp_path, request_to):
    asking = provider(agents, tmp_path, timeout_secs=1)
    with pytest.raises(ProviderError) as raised:
        await asking.respond(request_to(platform="goose"))
    assert (raised.value.context, raised.value.kind) == ("oneharness:goose", Kind.SPAWN)
    (agents / "claude").write_text("#!/bin/sh\nsleep 30\n")
    (agents / "claude").chmod(0o755)
    with pytest.raises(ProviderError) as raised:
        await asking.respond(request_to())
    assert (raised.value.context, raised.value.kind) == ("oneharness:claude-code", Kind.TIMEOUT)
    with pytest.raises(ProviderError) as raised:
        await asking.respond(request_to(platform="nobody"))
    assert raised.value.context == "oneharness"
    assert "unknown harness id `nobody`" in str(raised.value)


async def test_it_is_asked_what_it_can_do(agents, asking):
    ScriptedAgent("say x", speak="claude").install(agents / "claude")
    versions = await asking.prepare(["claude-code", "codex"], Needs(mocks=True, tool_events=True, judge=True))
    assert versions["claude-code"].startswith("oneharness 0.")
    assert "Claude Code" in versions["claude-code"]
    assert asking.supports_resume("codex")
    with pytest.raises(InputError, match="knows no harness 'nobody'"):
        await asking.prepare(["nobody"], Needs())
    with pytest.raises(InputError, match="cannot `stub` tool calls of goose"):
        await asking.prepare(["goose"], Needs(mocks=True, mock_actions=("stub",)))
