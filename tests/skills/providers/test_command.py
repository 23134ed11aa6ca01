"""The command provider, with real programs that behave well and badly."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import pytest

from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.skills._case import CommandProviderConfig, Match, Mock, Predicate, Stub
from trueup.skills._model import (
    Message,
    MockCall,
    Needs,
    ProviderError,
    Query,
    QueryKind,
    Role,
    ToolEvent,
)
from trueup.skills._providers import CommandProvider

TALK = (Message(Role.USER, "Hi"),)
ENVIRON = {"PATH": os.environ["PATH"]}
YES_NO = Query(kind=QueryKind.BOOLEAN, criterion="polite")
SCORE = Query(kind=QueryKind.NUMERIC, criterion="polite", min=0.0, max=10.0)


def provider(program, argv, **settings):
    return CommandProvider(CommandProviderConfig(command=argv, **settings), ENVIRON, program.folder)


async def refusal(call):
    with pytest.raises(ProviderError) as raised:
        await call
    return raised.value


# What is asked.


async def test_respond_asks_as_skilltest_does(program, request_to, cell):
    asking = provider(program, program.answers({"message": "Hello!"}))
    turn = await asking.respond(request_to())
    assert turn.message == "Hello!"
    assert (turn.done, turn.usage, turn.session_id, turn.events, turn.mock_calls) == (False, None, None, (), None)
    assert not turn.events_told
    assert program.asked == {
        "op": "respond",
        "platform": "claude-code",
        "model": "m",
        "skill": {"name": "greet", "path": "/skills/greet", "instructions": "Greet people."},
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Again?"},
        ],
    }
    (call,) = program.calls
    assert call["raw_end"] == "}\n"
    assert call["cwd"] == str(program.folder)
    assert call["workspace"] == str(cell)


async def test_a_session_is_sent_back_where_there_is_one(program, request_to):
    asking = provider(program, program.answers({"message": "a", "session_id": "s1", "done": True}))
    first = await asking.respond(request_to())
    assert (first.session_id, first.done) == ("s1", True)
    await asking.respond(request_to(session=first.session_id))
    assert "session" not in program.calls[0]["asked"]
    assert program.calls[1]["asked"]["session"] == "s1"
    assert asking.supports_resume("anything")


async def test_the_arm_without_the_skill_has_an_empty_one(program, request_to):
    asking = provider(program, program.answers({"message": "a"}))
    await asking.respond(request_to(skill=None))
    assert program.asked["skill"] == {"name": "", "path": "", "instructions": ""}


async def test_the_user_is_asked_by_persona(program):
    asking = provider(program, program.answers({"message": "Bye", "stop": True, "usage": {"input_tokens": 3}}))
    turn = await asking.simulate_user("j", "in a hurry", TALK)
    assert (turn.message, turn.stop, turn.usage) == ("Bye", True, Usage(input_tokens=3))
    assert program.asked == {
        "op": "user",
        "model": "j",
        "persona": "in a hurry",
        "messages": [{"role": "user", "content": "Hi"}],
    }


async def test_a_judge_is_asked_with_a_scale_only_where_there_is_one(program):
    asking = provider(program, program.answers({"value": 8, "reason": "good"}))
    verdict = await asking.judge("j", SCORE, TALK)
    assert (verdict.value, verdict.reason) == (8.0, "good")
    assert program.asked == {
        "op": "judge",
        "model": "j",
        "kind": "numeric",
        "criterion": "polite",
        "min": 0,
        "max": 10,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    await provider(program, program.answers({"value": True})).judge("j", YES_NO, TALK)
    assert program.asked["kind"] == "boolean"
    assert "min" not in program.asked
    assert "max" not in program.asked


async def test_a_judge_gets_the_tool_events_too(program):
    called = ToolEvent(kind="tool_call", name="Bash", input={"command": "ls"}, index=0)
    asking = provider(program, program.answers({"value": True}))
    await asking.judge("j", YES_NO, (Message(Role.ASSISTANT, "Done", (called,)),))
    told = program.asked["messages"][0]["events"][0]
    assert told == {"kind": "tool_call", "name": "Bash", "input": {"command": "ls"}, "index": 0}


# What is answered.


async def test_usage_is_known_field_by_field(program, request_to):
    usage = {"input_tokens": 10, "output_tokens": None, "cost_usd": 0.5, "cache_read_tokens": -1, "other": 1}
    turn = await provider(program, program.answers({"message": "a", "usage": usage})).respond(request_to())
    assert turn.usage == Usage(input_tokens=10, cost_usd=0.5)


@pytest.mark.parametrize(
    "usage",
    [
        {},
        None,
        "much",
        {"input_tokens": "10"},
        {"cost_usd": True},
        {"input_tokens": 1.5},
        {"input_tokens": 1e30},
        {"cost_usd": 1e308},
    ],
)
async def test_usage_that_says_nothing_is_unknown(program, request_to, usage):
    turn = await provider(program, program.answers({"message": "a", "usage": usage})).respond(request_to())
    assert turn.usage is None


async def test_events_are_read_with_patience(program, request_to):
    events = [
        {"kind": "tool_call", "name": "Bash", "input": {"command": "ls"}, "index": 4, "tool_call_id": "c1"},
        {"kind": "tool_result", "output": {"files": 2}, "status": "failed", "unknown": 1},
        {"kind": "tool_call", "name": None, "index": "x", "tool_kind": "shell"},
        {"kind": "message", "output": "hm"},
        "nonsense",
        {"name": "no kind"},
        {"kind": ["tool_call"], "name": "a kind that is none"},
    ]
    turn = await provider(program, program.answers({"message": "a", "events": events})).respond(request_to())
    assert turn.events == (
        ToolEvent(kind="tool_call", name="Bash", input={"command": "ls"}, index=4, id="c1", tool_kind="shell"),
        ToolEvent(kind="tool_result", output='{"files": 2}', index=1, ok=False),
        ToolEvent(kind="tool_call", index=2, tool_kind="shell"),
    )
    turn = await provider(program, program.answers({"message": "a", "events": "none"})).respond(request_to())
    assert turn.events == ()
    assert not turn.events_told
    turn = await provider(program, program.answers({"message": "a", "events": []})).respond(request_to())
    assert turn.events_told


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "no text in `message`"),
        ({"message": None}, "no text in `message`"),
        ({"message": 3}, "no text in `message`"),
        ({"message": "a", "done": "yes"}, "neither true nor false"),
        ([{"message": "a"}], "must print a JSON object"),
        ("a", "must print a JSON object"),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_refused(program, request_to, answer, said):
    error = await refusal(provider(program, program.answers(answer)).respond(request_to()))
    assert (error.context, error.kind) == ("respond", Kind.PROTOCOL)
    assert said in str(error)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (YES_NO, {"value": 1}),
        (YES_NO, {"value": "true"}),
        (YES_NO, {"reason": "x"}),
        (SCORE, {"value": True}),
        (SCORE, {"value": 999}),
        (SCORE, {"value": None}),
    ],
)
async def test_a_verdict_is_held_to_what_was_asked(program, query, answer):
    asking = provider(program, program.answers({**answer, "usage": {"input_tokens": 7}}))
    error = await refusal(asking.judge("j", query, TALK))
    assert (error.context, error.kind) == ("judge", Kind.PROTOCOL)
    assert error.usage == Usage(input_tokens=7)


# Mocks.

MOCKS = (
    Mock(match=Match(tool="Bash", contains="push"), deny="no pushing", name="push"),
    Mock(match=Match(pattern="git .*")),
    Mock(
        match=Match(input={"n": 3, "command": Predicate(contains="ls", pattern="^l")}),
        stub=["a", Stub(output="b", exit_code=1)],
    ),
    Mock(match=Match(tool="Read"), rewrite={"file_path": "x"}),
)


async def test_mocks_are_sent_as_rules_and_their_calls_come_back(program, request_to):
    calls = [
        {"tool": "Bash", "input": {"command": "git push"}, "action": "deny", "rule": 0},
        {"tool": "Bash", "input": {"command": "ls"}, "action": "stub", "rule": 1},
        {"tool": None, "action": "allow", "rule": None},
    ]
    asking = provider(program, program.answers({"message": "a", "mock_calls": calls}))
    turn = await asking.respond(request_to(mocks=MOCKS))
    assert program.asked["mocks"] == {
        "rules": {
            "rules": [
                {"match": {"tool": "Bash", "event_contains": "push"}, "action": {"deny": {"message": "no pushing"}}},
                {
                    "match": {"input": {"n": {"equals": "3"}, "command": {"contains": "ls", "regex": "^l"}}},
                    "action": {"stub": [{"output": "a", "exit_code": 0}, {"output": "b", "exit_code": 1}]},
                },
                {"match": {"tool": "Read"}, "action": {"rewrite": {"input": {"file_path": "x"}}}},
            ]
        }
    }
    assert turn.mock_calls == (
        MockCall(tool="Bash", input={"command": "git push"}, action="deny", rule=0, mock="push"),
        MockCall(tool="Bash", input={"command": "ls"}, action="stub", rule=1, mock="mock_2"),
        MockCall(tool=""),
    )


async def test_watching_alone_has_no_rules(program, request_to):
    asking = provider(program, program.answers({"message": "a", "mock_calls": []}))
    turn = await asking.respond(request_to(mocks=()))
    assert program.asked["mocks"] == {"rules": None}
    assert turn.mock_calls == ()
    await asking.respond(request_to(mocks=None))
    assert "mocks" not in program.asked


@pytest.mark.parametrize(
    "calls",
    [
        None,
        {},
        ["x"],
        [{"tool": "Bash"}],
        [{"tool": 3, "action": "allow"}],
        [{"tool": "Bash", "action": "eaten"}],
        [{"tool": "Bash", "action": ["deny"], "rule": 0}],
        [{"tool": "Bash", "action": "deny"}],
        [{"tool": "Bash", "action": "deny", "rule": 3}],
        [{"tool": "Bash", "action": "deny", "rule": True}],
    ],
)
async def test_mocks_that_nobody_vouches_for_are_an_error(program, request_to, calls):
    answer = {"message": "a"} if calls is None else {"message": "a", "mock_calls": calls}
    error = await refusal(provider(program, program.answers(answer)).respond(request_to(mocks=MOCKS)))
    assert (error.context, error.kind) == ("respond", Kind.PROTOCOL)
    assert "mock" in str(error)


# Programs that misbehave.


async def test_a_request_and_an_answer_of_megabytes_pass_through(program, request_to):
    after = "sys.stdout.write(json.dumps({'message': asked['messages'][0]['content']}))"
    before = "sys.stdout.write(' ' * 200_000); sys.stdout.flush()"
    long = (Message(Role.USER, "x" * 3_000_000),)
    turn = await provider(program, program.does(before=before, after=after)).respond(request_to(messages=long))
    assert len(turn.message) == 3_000_000


async def test_a_megabyte_on_stderr_is_no_reason_to_wait(program, request_to):
    argv = program.does(before="sys.stderr.write('e' * 1_000_000)", after='print(\'{"message": "a"}\')')
    assert (await provider(program, argv).respond(request_to())).message == "a"


async def test_a_program_may_answer_without_reading_its_request(program, request_to):
    program.path.write_text('print(\'{"message": "a"}\')')
    argv = [sys.executable, "-I", "-S", "provider.py"]
    long = (Message(Role.USER, "x" * 500_000),)
    assert (await provider(program, argv).respond(request_to(messages=long))).message == "a"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ('print(\'{"message": "a"}\\n{"message": "b"}\')', "one JSON object"),
        ('print(\'Thinking... {"message": "a"}\')', "one JSON object"),
        ('sys.stdout.buffer.write(b\'{"message": "\\xff\\xfe"}\')', "not UTF-8"),
        ("print('  ')", "printed nothing"),
        ("print('{\"message\": ' * 5000)", "one JSON object"),
        (
            'print(\'{"message": "a", "events": [{"kind": "tool_call", "input": \' + \'[\' * 300 + \']\' * 300 + \'}]}\')',
            "nested",
        ),
        ("sys.stdout.write('x' * 100_000_000)", "100000000 bytes"),
    ],
)
async def test_output_that_is_not_one_object_is_refused(program, request_to, after, said):
    error = await refusal(provider(program, program.does(after=after)).respond(request_to()))
    assert (error.context, error.kind) == ("respond", Kind.PROTOCOL)
    assert said in str(error)
    assert len(str(error)) < 2000


async def test_halves_of_characters_do_not_get_in(program, request_to):
    argv = program.does(after='print(\'{"message": "a\\\\ud800"}\')')
    turn = await provider(program, argv).respond(request_to(messages=(Message(Role.USER, "\ud800"),)))
    turn.message.encode()


async def test_a_byte_order_mark_is_forgiven(program, request_to):
    argv = program.does(after='sys.stdout.buffer.write(b\'\\xef\\xbb\\xbf{"message": "a"}\')')
    assert (await provider(program, argv).respond(request_to())).message == "a"


async def test_a_program_that_fails_is_quoted_by_the_end_of_its_stderr(program):
    after = "sys.stderr.write('n' * 100_000 + '\\x1b[31mthe model is gone'); sys.exit(7)"
    error = await refusal(provider(program, program.does(after=after)).simulate_user("j", "p", TALK))
    assert (error.context, error.kind) == ("user", Kind.OTHER)
    assert "exit 7" in str(error)
    assert str(error).endswith("the model is gone")
    assert "\x1b" not in str(error)
    assert len(str(error)) < 3000


async def test_a_program_that_is_killed_says_by_what(program):
    error = await refusal(provider(program, program.does(after="os.kill(os.getpid(), 9)")).judge("j", YES_NO, TALK))
    assert error.context == "judge"
    assert "signal 9" in str(error)


async def test_a_program_that_hangs_is_ended_with_all_that_it_started(program, request_to):
    (program.folder / "hang.sh").write_text("sleep 60 &\necho $! > child\nsleep 60\n")
    began = time.monotonic()
    error = await refusal(provider(program, ["sh", "hang.sh"], timeout_secs=0.8).respond(request_to()))
    assert time.monotonic() - began < 20
    assert (error.context, error.kind) == ("respond", Kind.TIMEOUT)
    assert error.transient
    assert "0.8 s" in str(error)
    assert not os.path.exists(f"/proc/{(program.folder / 'child').read_text().strip()}")


async def test_a_daemon_that_holds_the_output_open_is_not_waited_for(program, request_to):
    marker = program.folder / "daemon"
    after = (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    import time; os.setsid(); time.sleep(60)\n"
        f"open({str(marker)!r}, 'w').write(str(pid))\n"
        'print(\'{"message": "a"}\')'
    )
    began = time.monotonic()
    assert (await provider(program, program.does(after=after)).respond(request_to())).message == "a"
    assert time.monotonic() - began < 20
    assert not os.path.exists(f"/proc/{marker.read_text()}")


async def test_a_cancelled_call_leaves_nothing_running(program, request_to):
    marker = program.folder / "pid"
    after = f"open({str(marker)!r}, 'w').write(str(os.getpid())); import time; time.sleep(60)"
    call = asyncio.create_task(provider(program, program.does(after=after)).respond(request_to()))
    while not (marker.exists() and marker.read_text()):
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not os.path.exists(f"/proc/{marker.read_text()}")


# Which program that is.


async def test_a_program_that_is_not_there_is_named(program, request_to):
    for argv in (["no-such-provider"], ["./nothing.sh"]):
        asking = provider(program, argv)
        error = await refusal(asking.respond(request_to()))
        assert (error.context, error.kind) == ("respond", Kind.SPAWN)
        assert argv[0] in str(error)
        assert (await refusal(asking.prepare(["claude-code"], Needs()))).kind is Kind.SPAWN


def test_an_empty_command_is_bad_input(program):
    for argv in ([], [""], ["  ", "x"]):
        with pytest.raises(InputError, match="provider.command"):
            provider(program, argv)


async def test_a_relative_program_is_one_of_the_configurations_folder(program, request_to, monkeypatch, tmp_path):
    script = program.folder / "bin" / "answer"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho '{\"message\": \"from '$(basename $PWD)'\"}'\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert (await provider(program, ["bin/answer"]).respond(request_to())).message == "from project"


async def test_trueup_is_the_one_that_runs_where_path_has_none(program, request_to):
    bare = CommandProvider(CommandProviderConfig(command=["trueup", "--version"]), {"PATH": "/nowhere"}, program.folder)
    error = await refusal(bare.respond(request_to()))
    assert error.kind is Kind.PROTOCOL
    assert "it printed: trueup" in str(error)
    assert (await bare.prepare(["a"], Needs()))["a"].startswith("sha256:")


async def test_a_changed_program_is_another_version(program):
    argv = program.answers({"message": "a"})
    before = await provider(program, argv).prepare(["claude-code", "codex"], Needs(mocks=True, tool_events=True))
    assert before["claude-code"] == before["codex"]
    assert (await provider(program, argv).prepare(["codex"], Needs()))["codex"] == before["codex"]
    program.answers({"message": "b"})
    after = await provider(program, argv).prepare(["codex"], Needs())
    assert after["codex"] != before["codex"]


async def test_activation_is_nothing_that_a_command_can_tell(program):
    with pytest.raises(InputError, match="delivery: install"):
        await provider(program, program.answers({})).prepare(["claude-code"], Needs(activation=True))


async def test_variables_of_the_caller_are_given_and_nothing_else(program, request_to):
    argv = program.does(after="print(json.dumps({'message': ' '.join(sorted(os.environ))}))")
    turn = await provider(program, argv).respond(request_to())
    assert {"PATH", "TRUEUP_WORKSPACE"} <= set(turn.message.split())
    assert "HOME" not in turn.message.split()
