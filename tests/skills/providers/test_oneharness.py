"""The oneharness provider against a program that answers as oneharness does, row by row."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from oneharness_programs import EARLY, LATE, FakeOneharness

from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.skills._case import Match, Mock, OneharnessProviderConfig
from trueup.skills._model import (
    Message,
    MockCall,
    Needs,
    ProviderError,
    Query,
    QueryKind,
    Role,
    SkillRef,
    ToolEvent,
)
from trueup.skills._providers import OneharnessProvider

TALK = (Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"), Message(Role.USER, "Again?"))
YES_NO = Query(kind=QueryKind.BOOLEAN, criterion="polite")
SCORE = Query(kind=QueryKind.NUMERIC, criterion="polite", min=0, max=10)


@pytest.fixture
def oneharness(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    return FakeOneharness(folder)


@pytest.fixture
def asking(oneharness, tmp_path):
    return provider(oneharness, tmp_path)


def provider(oneharness, folder, grace_secs=15, **settings):
    config = OneharnessProviderConfig(**{"bin": str(oneharness.path), **settings})
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return OneharnessProvider(config, environ, folder, grace_secs=grace_secs)


async def refusal(call):
    with pytest.raises(ProviderError) as raised:
        await call
    return raised.value


# What is asked.


async def test_the_skill_is_a_system_prompt_and_the_conversation_the_prompt(oneharness, asking, request_to, cell):
    oneharness.says({"text": "  Hello!\n", "session_id": "s1"})
    turn = await asking.respond(request_to())
    assert (turn.message, turn.session_id, turn.done) == ("Hello!", "s1", False)
    assert oneharness.argv == [
        *("run", "--harness", "claude-code", "--compact", "--timeout", "120", "--prompt-file", "-"),
        *("--model", "m", "--system", "Greet people.", "--events"),
    ]
    (run,) = oneharness.runs
    assert "User: Hi\nAssistant: Hello\nUser: Again?" in run["stdin"]
    assert "Greet people." not in run["stdin"]
    assert run["cwd"] == str(cell)


async def test_an_early_oneharness_is_asked_only_what_it_knows(oneharness, asking, request_to):
    oneharness.says({"text": "a"}, help=EARLY)
    await asking.respond(request_to())
    assert {word for word in oneharness.argv if word.startswith("--")} <= set(EARLY.split())


async def test_no_model_is_named_where_none_is_wanted(oneharness, asking, request_to):
    await asking.respond(request_to(model=""))
    assert "--model" not in oneharness.argv
    assert "--output-format" not in oneharness.argv


async def test_a_session_gets_the_latest_message_and_the_system_prompt_again(oneharness, asking, request_to):
    await asking.respond(request_to(session="s1"))
    (run,) = oneharness.runs
    assert run["stdin"] == "Again?"
    assert run["argv"][run["argv"].index("--resume") + 1] == "s1"
    assert run["argv"][run["argv"].index("--system") + 1] == "Greet people."
    await asking.respond(request_to(session="s1", messages=(Message(Role.ASSISTANT, "x"),)))
    assert oneharness.runs[-1]["stdin"] == ""


async def test_the_arm_without_the_skill_has_no_system_prompt(oneharness, asking, request_to):
    await asking.respond(request_to(skill=None))
    assert not {"--system", "--system-file"} & set(oneharness.argv)


@pytest.mark.parametrize(
    ("size", "flag"), [(64 << 10, "--system"), ((64 << 10) + 1, "--system-file"), (200_000, "--system-file")]
)
async def test_a_long_skill_is_given_as_a_file(oneharness, asking, request_to, size, flag):
    text = "s" * size
    await asking.respond(request_to(skill=SkillRef(name="a", path="/a", instructions=text)))
    (run,) = oneharness.runs
    given = run["argv"][run["argv"].index(flag) + 1]
    assert (run["files"]["--system-file"] if flag == "--system-file" else given) == text
    if flag == "--system-file":
        assert not os.path.exists(given)


async def test_fractions_of_seconds_are_rounded_up(oneharness, tmp_path, request_to):
    await provider(oneharness, tmp_path, timeout_secs=0.2).respond(request_to())
    assert oneharness.argv[oneharness.argv.index("--timeout") + 1] == "1"


async def test_the_judge_has_its_own_harness_no_system_prompt_no_session_and_an_empty_folder(oneharness, tmp_path):
    oneharness.says({"text": 'Sure. {"value": true, "reason": "ok"}', "usage": {"input_tokens": 5, "cost_usd": 0.1}})
    verdict = await provider(oneharness, tmp_path, judge_harness="goose").judge("j", YES_NO, TALK)
    assert (verdict.value, verdict.reason) == (True, "ok")
    assert verdict.usage == Usage(input_tokens=5, cost_usd=0.1)
    (run,) = oneharness.runs
    assert run["argv"] == [
        *("run", "--harness", "goose", "--compact", "--timeout", "120", "--prompt-file", "-", "--model", "j"),
    ]
    assert run["around"] == []
    assert run["cwd"] != str(tmp_path)
    assert "polite" in run["stdin"]


async def test_the_user_is_played_on_the_judges_harness(oneharness, asking):
    oneharness.says({"text": " And now? \n"})
    turn = await asking.simulate_user("", "curious", TALK)
    assert (turn.message, turn.stop) == ("And now?", False)
    assert oneharness.argv[2] == "claude-code"
    assert "curious" in oneharness.runs[0]["stdin"]


async def test_settings_of_the_project_hold_although_the_cell_is_elsewhere(oneharness, asking, request_to, tmp_path):
    (tmp_path / "oneharness.toml").write_text('mode = "bypass"\n')
    user = tmp_path / ".config" / "oneharness" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("")
    await asking.respond(request_to())
    at = oneharness.argv.index("--config")
    assert oneharness.argv[at : at + 4] == ["--config", str(user), "--config", str(tmp_path / "oneharness.toml")]


# What comes of it.


@pytest.mark.parametrize(
    ("result", "reply"),
    [
        ({"text": "clean", "stdout": "noise"}, "clean"),
        ({"text": None, "stdout": " raw "}, "raw"),
        ({"text": "   ", "stdout": "raw"}, "raw"),
        ({"stdout": "raw"}, "raw"),
    ],
)
async def test_a_reply_is_the_text_and_else_the_output(oneharness, asking, request_to, result, reply):
    oneharness.says(result, exit=1)
    assert (await asking.respond(request_to())).message == reply


@pytest.mark.parametrize("result", [{}, {"text": None, "stdout": ""}, {"text": "", "stdout": " \n"}])
async def test_silence_is_an_error(oneharness, asking, request_to, result):
    oneharness.says({**result, "usage": {"output_tokens": 2}})
    error = await refusal(asking.respond(request_to()))
    assert (error.context, error.kind) == ("oneharness:claude-code", Kind.PROTOCOL)
    assert error.usage == Usage(output_tokens=2)


@pytest.mark.parametrize(
    ("result", "kind", "said"),
    [
        ({"error": "bad key", "stderr": "noise", "failure_kind": "auth"}, Kind.AUTH, "bad key"),
        ({"error": "", "stderr": "slow down", "failure_kind": "rate_limit"}, Kind.RATE_LIMIT, "slow down"),
        ({"error": None, "failure_kind": "model_not_found"}, Kind.MODEL_NOT_FOUND, "status `nonzero`"),
        ({"failure_kind": "quota"}, Kind.QUOTA, "status"),
        ({"failure_kind": "server_overloaded"}, Kind.OVERLOADED, "status"),
        ({"failure_kind": "session_not_found"}, Kind.SESSION_NOT_FOUND, "status"),
        ({"failure_kind": "", "error": "odd"}, Kind.OTHER, "odd"),
        ({"failure_kind": "tool_deferred", "error": "odd"}, Kind.OTHER, "tool_deferred"),
        ({"status": "timeout", "error": "too slow"}, Kind.TIMEOUT, "too slow"),
        ({"status": "skipped", "error": "`claude` not found on PATH"}, Kind.SPAWN, "not found"),
    ],
)
async def test_a_run_that_failed_is_told_by_its_kind(oneharness, asking, request_to, result, kind, said):
    oneharness.says({"status": "nonzero", "text": "ignored", "usage": {"input_tokens": 9}, **result})
    error = await refusal(asking.respond(request_to()))
    assert (error.context, error.kind) == ("oneharness:claude-code", kind)
    assert said in str(error)
    assert error.usage == Usage(input_tokens=9)


@pytest.mark.parametrize("printed", ["", "not json", "[]", "{}", '{"results": 3}'])
async def test_output_that_cannot_be_read_quotes_stderr(oneharness, asking, request_to, printed):
    oneharness.says(None, run=printed, stderr="unknown harness id `nope`", exit=2)
    error = await refusal(asking.respond(request_to()))
    assert (error.context, error.kind) == ("oneharness", Kind.PROTOCOL)
    assert "unknown harness id `nope`" in str(error)


@pytest.mark.parametrize("results", [[], ["x"]])
async def test_no_results_are_an_error(oneharness, asking, request_to, results):
    oneharness.says(None, run=json.dumps({"results": results}))
    error = await refusal(asking.respond(request_to()))
    assert error.context == "oneharness"
    assert "no results" in str(error)


async def test_events_and_usage_are_read(oneharness, asking, request_to):
    events = [
        {"kind": "tool_call", "name": "Bash", "input": {"command": "ls"}, "index": 0, "tool_call_id": "c"},
        {"kind": "tool_result", "name": "Bash", "output": "a", "index": 1, "tool_call_id": "c", "status": "completed"},
        {"kind": "message", "output": "hi", "index": 2},
    ]
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 0, "cost_usd": None}
    oneharness.says({"text": "a", "events": events, "usage": usage})
    turn = await asking.respond(request_to())
    assert turn.events_told
    assert turn.events == (
        ToolEvent(kind="tool_call", name="Bash", input={"command": "ls"}, index=0, id="c", tool_kind="shell"),
        ToolEvent(kind="tool_result", name="Bash", output="a", index=1, id="c", tool_kind="shell", ok=True),
    )
    assert turn.usage == Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=0)
    oneharness.says({"text": "a", "events": None, "usage": dict.fromkeys(usage)})
    turn = await asking.respond(request_to())
    assert (turn.events, turn.events_told, turn.usage) == ((), False, None)


async def test_a_skill_that_was_put_before_the_prompt_is_noted(oneharness, asking, request_to):
    oneharness.says({"text": "a", "command": ["codex", "exec", "Greet people.\n\nUser: Hi"]})
    assert "before the prompt" in (await asking.respond(request_to(platform="codex"))).notes[0]
    oneharness.says({"text": "a", "command": ["claude", "-p", "--append-system-prompt", "Greet people."]})
    assert (await asking.respond(request_to())).notes == ()


@pytest.mark.parametrize(
    ("text", "query", "context"),
    [
        ("no idea", YES_NO, "oneharness:judge"),
        ('{"value": 3}', YES_NO, "oneharness:judge"),
        ('{"value": true}', SCORE, "oneharness:judge"),
        ('{"value": 11}', SCORE, "judge"),
    ],
)
async def test_a_reply_that_is_no_verdict_is_refused(oneharness, asking, text, query, context):
    oneharness.says({"text": text, "usage": {"input_tokens": 5}})
    error = await refusal(asking.judge("j", query, TALK))
    assert (error.context, error.kind, error.usage) == (context, Kind.PROTOCOL, Usage(input_tokens=5))


async def test_a_program_that_is_not_there_is_told_with_how_to_get_it(tmp_path, request_to):
    config = OneharnessProviderConfig(bin="no-such-oneharness")
    asking = OneharnessProvider(config, {"PATH": "/usr/bin"}, tmp_path)
    for call in (
        asking.respond(request_to()),
        asking.prepare(["claude-code"], Needs()),
        asking.judge("", YES_NO, TALK),
    ):
        error = await refusal(call)
        assert (error.context, error.kind) == ("oneharness", Kind.SPAWN)
        assert "oneharness-cli" in str(error)


async def test_a_relative_program_is_one_of_the_configurations_folder(oneharness, tmp_path, request_to):
    assert (await provider(oneharness, tmp_path, bin="bin/oneharness").respond(request_to())).message == "hi"


async def test_a_program_that_hangs_is_ended(oneharness, tmp_path):
    oneharness.path.write_text("#!/bin/sh\nsleep 60\n")
    asking = provider(oneharness, tmp_path, grace_secs=0.7, timeout_secs=0.5)
    began = time.monotonic()
    error = await refusal(asking.prepare(["claude-code"], Needs()))
    assert time.monotonic() - began < 20
    assert (error.context, error.kind) == ("oneharness", Kind.TIMEOUT)


async def test_a_run_that_outlives_its_own_time_is_ended(oneharness, tmp_path, request_to):
    oneharness.says({"text": "a"}, hangs=True)
    asking = provider(oneharness, tmp_path, grace_secs=0.7, timeout_secs=0.5)
    error = await refusal(asking.respond(request_to()))
    assert (error.context, error.kind) == ("oneharness:claude-code", Kind.TIMEOUT)


# What it can do.


async def test_a_version_is_that_of_the_program_and_of_the_harness(asking):
    versions = await asking.prepare(["claude-code", "codex"], Needs(mocks=True, tool_events=True, judge=True))
    assert versions["claude-code"] == "oneharness 0.26.1, claude-code 2.1"
    assert versions["codex"] == "oneharness 0.26.1, codex of unknown version"


async def test_a_harness_that_it_does_not_know_is_refused(oneharness, asking, tmp_path):
    with pytest.raises(InputError, match="'clyde'; it knows claude-code, codex, goose"):
        await asking.prepare(["clyde"], Needs())
    strange = provider(oneharness, tmp_path, judge_harness="clyde")
    await strange.prepare(["claude-code:work"], Needs())
    with pytest.raises(InputError, match="clyde"):
        await strange.prepare(["claude-code"], Needs(judge=True))


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (Needs(activation=True), "delivery: install"),
        (Needs(mocks=True), "--mock-rules"),
        (Needs(tool_events=True), "--events"),
    ],
)
async def test_what_it_cannot_do_is_refused_before_anything_is_spent(oneharness, asking, needs, said):
    oneharness.says({"text": "a"}, help=EARLY)
    with pytest.raises(InputError, match=said):
        await asking.prepare(["claude-code"], needs)


async def test_an_action_that_a_harness_cannot_take_is_refused(oneharness, asking):
    able = {"id": "claude-code", "supports_mock_deny": True, "mock_rewrite": "claude-nested"}
    unable = {"id": "goose", "supports_mock_deny": True, "mock_rewrite": None}
    oneharness.says({"text": "a"}, list={"harnesses": [able, unable]})
    await asking.prepare(["claude-code"], Needs(mocks=True, mock_actions=("deny", "stub")))
    await asking.prepare(["goose"], Needs(mocks=True, mock_actions=("deny",)))
    with pytest.raises(InputError, match="`stub` tool calls of goose"):
        await asking.prepare(["goose"], Needs(mocks=True, mock_actions=("deny", "stub")))


async def test_resuming_is_as_the_list_says_and_else_as_ever(oneharness, asking):
    names = ("claude-code", "opencode", "cursor", "codex", "goose")
    assert [asking.supports_resume(name) for name in names] == [True, True, True, False, False]
    listed = [
        {"id": "claude-code", "supports_resume": False},
        {"id": "codex", "supports_resume": True},
        {"id": "cursor"},
    ]
    oneharness.says({"text": "a"}, list={"harnesses": listed})
    await asking.prepare(["codex"], Needs())
    assert [asking.supports_resume(name) for name in names] == [False, True, True, True, False]
    assert asking.supports_resume("codex:work")


# Mocks.

PUSH = Mock(match=Match(tool="Bash", contains="push"), deny="no", name="push")


def spied(action, rule, tool="Bash"):
    event = {"tool_name": tool, "tool_input": {"command": "git push"}}
    return json.dumps({"harness": "claude-code", "event": event, "action": action, "rule": rule}) + "\n"


async def test_mocks_are_rules_in_a_file_and_calls_are_read_from_the_spy_file(oneharness, asking, request_to):
    oneharness.says({"text": "a"}, spy=spied("deny", 0) + "\n" + spied("allow", None, "Read"))
    turn = await asking.respond(request_to(mocks=(PUSH,)))
    assert turn.mock_calls == (
        MockCall(tool="Bash", input={"command": "git push"}, action="deny", rule=0, mock="push"),
        MockCall(tool="Read", input={"command": "git push"}),
    )
    (run,) = oneharness.runs
    assert json.loads(run["files"]["--mock-rules"]) == {
        "rules": [{"match": {"tool": "Bash", "event_contains": "push"}, "action": {"deny": {"message": "no"}}}]
    }
    assert run["around"] == []


async def test_watching_alone_has_no_rules_and_no_calls_are_none(oneharness, asking, request_to):
    turn = await asking.respond(request_to(mocks=()))
    assert turn.mock_calls == ()
    assert "--spy-file" in oneharness.argv
    assert "--mock-rules" not in oneharness.argv
    assert (await asking.respond(request_to())).mock_calls is None
    assert "--spy-file" not in oneharness.argv


@pytest.mark.parametrize("log", ["nonsense\n", "3\n", '{"event": {}}\n', spied("deny", 7), spied("deny", 0)[:-9]])
async def test_a_spy_file_that_cannot_be_read_is_an_error(oneharness, asking, request_to, log):
    oneharness.says({"text": "a"}, spy=log)
    error = await refusal(asking.respond(request_to(mocks=(PUSH,))))
    assert (error.context, error.kind) == ("oneharness:claude-code", Kind.PROTOCOL)


async def test_hooks_that_did_not_see_the_calls_are_an_error(oneharness, asking, request_to):
    oneharness.says({"text": "a", "events": [{"kind": "tool_call", "name": "Bash"}]})
    error = await refusal(asking.respond(request_to(mocks=(PUSH,))))
    assert "hooks saw none" in str(error)


async def test_what_oneharness_cannot_mock_is_refused(oneharness, asking, request_to, tmp_path):
    sequence = Mock(match=Match(tool="Bash"), stub=["a", "b"])
    error = await refusal(asking.respond(request_to(mocks=(sequence,))))
    assert error.kind is Kind.INPUT
    one = Mock(match=Match(tool="Bash"), stub=["a"])
    assert (await asking.respond(request_to(mocks=(one,)))).mock_calls == ()
    oneharness.says({"text": "a"}, help=LATE.replace("--spy-file", ""))
    error = await refusal(provider(oneharness, tmp_path).respond(request_to(mocks=(one,))))
    assert "cannot watch" in str(error)
