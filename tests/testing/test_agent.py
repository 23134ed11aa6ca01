"""A scripted agent is a program that behaves as real agents do, well or badly."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import pytest

from trueup.core.process import Command, Process, run
from trueup.core.usage import Usage
from trueup.harness import CommandEngine, EngineError, PlanText, Task, ToolCall, ToolResult, UsageReported
from trueup.testing import EventLog, ScriptedAgent


class Here:
    """A `Launcher` that starts programs where the test runs."""

    def __init__(self, folder):
        self._folder = folder

    def launch(self, command):
        return Process(Command(argv=command.argv, cwd=self._folder, env=dict(command.env or {}), stdin=command.stdin))


def command(agent, *words, folder, stdin=b"", **options):
    env = {"PATH": os.environ["PATH"], **agent.env}
    return Command(argv=(*agent.argv, *words), cwd=folder, env=env, stdin=stdin, timeout_secs=30, **options)


async def records(agent, *words, folder, stdin=b""):
    finished = await run(command(agent, *words, folder=folder, stdin=stdin))
    assert finished.exit_code == 0, finished.stderr.text
    return [json.loads(line) for line in finished.stdout.text.splitlines()]


WORK = r"""
plan first this
shell echo seen; echo done > shell.txt
write deep/er/file.txt "one\n"
edit deep/er/file.txt "one", "two"
read missing.txt
usage input=90 output=8 cost=0.25 cache_read=3
say All done.
"""


async def test_it_works_and_tells_by_the_command_protocol(tmp_path):
    log = EventLog()
    engine = CommandEngine(ScriptedAgent().argv, {}, "/usr/bin:/bin")
    prompt = f"Do this.\n```script\n{WORK}```\n"
    done = await engine.work(Task(prompt=prompt, prompt_file=_file(tmp_path, prompt)), Here(tmp_path), log)
    assert done.exit_code == 0
    assert (tmp_path / "shell.txt").read_text() == "done\n"
    assert (tmp_path / "deep/er/file.txt").read_text() == "two\n"
    assert log.events[:3] == [
        PlanText("first this"),
        ToolCall("shell", "call_1", input={"command": "echo seen; echo done > shell.txt"}),
        ToolResult("call_1", True, "seen\n"),
    ]
    assert [event.ok for event in log.events if isinstance(event, ToolResult)] == [True, True, True, False]
    assert log.events[-1] == UsageReported(Usage(input_tokens=90, output_tokens=8, cost_usd=0.25, cache_read_tokens=3))
    assert "All done." in done.output_tail


def _file(folder, text):
    file = folder / "prompt.md"
    file.write_text(text)
    return str(file)


async def test_an_error_that_it_tells_is_one_for_the_engine(tmp_path):
    engine = CommandEngine(ScriptedAgent().argv, {}, "/usr/bin:/bin")
    prompt = "SCRIPT: error rate_limit too much today"
    with pytest.raises(EngineError, match="too much today") as error:
        await engine.work(Task(prompt=prompt, prompt_file=_file(tmp_path, prompt)), Here(tmp_path), EventLog())
    assert error.value.kind == "rate_limit"


async def test_its_script_comes_from_a_variable_a_file_an_argument_or_stdin(tmp_path):
    (tmp_path / "script").write_text("say from a file")
    ways = [
        await run(command(ScriptedAgent("say from a variable"), folder=tmp_path)),
        await run(command(ScriptedAgent(), "--script", "script", folder=tmp_path)),
        await run(command(ScriptedAgent(), "-p", "SCRIPT: say from an argument", folder=tmp_path)),
        await run(command(ScriptedAgent(), folder=tmp_path, stdin=b"SCRIPT: say from stdin\n")),
        await run(command(ScriptedAgent(), folder=tmp_path, stdin=b"no script at all")),
    ]
    assert [way.stdout.text.strip() for way in ways] == [
        "from a variable",
        "from a file",
        "from an argument",
        "from stdin",
        "Nothing was scripted.",
    ]


async def test_it_speaks_as_claude_code(tmp_path):
    agent = ScriptedAgent("think hm\n+ say Looking.\nshell exit 3\nwrite a.txt x\nsay DONE", "claude")
    told = await records(agent, "-p", "task", "--model", "claude-x", "--resume", "an-id", folder=tmp_path)
    init, *messages, result = told
    assert (init["subtype"], init["model"], init["session_id"]) == ("init", "claude-x", "an-id")
    blocks = [block for message in messages for block in message["message"]["content"]]
    assert [block["type"] for block in blocks] == [
        *("thinking", "text", "tool_use", "tool_result", "tool_use", "tool_result", "text"),
    ]
    assert (blocks[2]["name"], blocks[2]["input"], blocks[3]["is_error"]) == ("Bash", {"command": "exit 3"}, True)
    assert (blocks[4]["name"], blocks[4]["input"]) == ("Write", {"file_path": "a.txt", "content": "x"})
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "success", False)
    assert (result["result"], result["num_turns"], result["usage"]["output_tokens"]) == ("DONE", 4, 200)


async def test_its_errors_as_claude_code_look_like_success_at_first_sight(tmp_path):
    finished = await run(command(ScriptedAgent("error auth who are you", "claude"), folder=tmp_path))
    result = json.loads(finished.stdout.text.splitlines()[-1])
    assert finished.exit_code == 1
    assert (result["subtype"], result["is_error"], result["api_error_status"]) == ("success", True, 401)


DENIAL = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
HOOKS = {"PreToolUse": [{"matcher": None, "hookCallbackIds": ["gate"]}]}
STDIO = ("--permission-prompt-tool", "stdio")


@pytest.mark.parametrize(
    ("words", "hooks", "answer", "allowed"),
    [
        (STDIO, {}, {"behavior": "allow"}, True),
        (STDIO, {}, {"behavior": "deny", "message": "no"}, False),
        ((), HOOKS, {}, True),
        ((), HOOKS, DENIAL, False),
    ],
)
async def test_as_claude_code_it_asks_before_it_acts(tmp_path, words, hooks, answer, allowed):
    argv = ("-p", "--input-format=stream-json", *words)
    told = []
    async with Process(command(ScriptedAgent(speak="claude"), *argv, folder=tmp_path, stdin=None)) as process:
        begin = {"subtype": "initialize", "hooks": hooks}
        await _tell(process, type="control_request", request_id="r1", request=begin)
        content = [{"type": "text", "text": "SCRIPT: shell touch made.txt\nSCRIPT: say DONE"}]
        await _tell(process, type="user", message={"role": "user", "content": content})
        async for line in process.lines():
            told.append(json.loads(line))
            if told[-1]["type"] == "control_request":
                response = {"subtype": "success", "request_id": told[-1]["request_id"], "response": answer}
                await _tell(process, type="control_response", response=response)
            if told[-1]["type"] == "result":
                await _tell(process, type="control_request", request_id="r2", request={"subtype": "end_session"})
        finished = await process.wait()
    assert finished.exit_code == 0
    [asked] = [record["request"] for record in told if record["type"] == "control_request"]
    assert asked["input"].get("tool_input", asked["input"]) == {"command": "touch made.txt"}
    assert (tmp_path / "made.txt").exists() is allowed
    [result] = [record for record in told if record["type"] == "result"]
    assert len(result["permission_denials"]) == (0 if allowed else 1)


async def _tell(process, **line):
    await process.write(json.dumps(line).encode() + b"\n")


async def test_it_speaks_as_codex(tmp_path):
    script = "think hm\nsay Looking.\nshell echo hi\nusage input=5 output=2 cache_read=1\nsay DONE"
    agent = ScriptedAgent(script, "codex")
    session = "01a1de14-e0e0-7ac0-82f1-b65b2ec78a35"
    told = await records(agent, "exec", "resume", "--json", session, "task", folder=tmp_path)
    assert told[0] == {"type": "thread.started", "thread_id": session}
    items = [event["item"] for event in told if event["type"] == "item.completed"]
    assert [item["type"] for item in items] == ["reasoning", "agent_message", "command_execution", "agent_message"]
    assert (items[2]["aggregated_output"], items[2]["exit_code"]) == ("hi\n", 0)
    assert told[-1]["type"] == "turn.completed"
    assert (told[-1]["usage"]["input_tokens"], told[-1]["usage"]["cached_input_tokens"]) == (6, 1)


async def test_as_codex_it_fails_by_a_failed_turn(tmp_path):
    finished = await run(command(ScriptedAgent("error rate_limit slow down", "codex"), folder=tmp_path))
    assert finished.exit_code == 1
    assert "429: slow down" in json.loads(finished.stdout.text.splitlines()[-1])["error"]["message"]


@pytest.mark.parametrize(
    ("script", "code", "signal"), [("exit 7", 7, None), ("kill SEGV", None, 11), ("dance", 2, None)]
)
async def test_it_ends_as_the_script_says(tmp_path, script, code, signal):
    finished = await run(command(ScriptedAgent(script), folder=tmp_path))
    assert (finished.exit_code, finished.signal) == (code, signal)


async def test_it_prints_anything(tmp_path):
    finished = await run(command(ScriptedAgent('garbage\nprint "{\\"a\\": 1}"\nstderr oh'), folder=tmp_path))
    assert b"\xff\xfe" in finished.stdout.data
    assert finished.stdout.text.endswith('{"a": 1}\n')
    assert finished.stderr.text == "oh\n"


async def test_it_can_be_deaf_to_being_asked_to_end(tmp_path):
    async with Process(
        command(ScriptedAgent("ignore-term\nsay deaf\nhang"), folder=tmp_path, grace_secs=0.3)
    ) as process:
        assert await anext(process.lines()) == "deaf"
        process.stop()
        finished = await process.wait()
    assert finished.signal == 9


async def test_it_ends_when_it_is_not_deaf(tmp_path):
    async with Process(command(ScriptedAgent("say listening\nsleep 60"), folder=tmp_path, grace_secs=20)) as process:
        assert await anext(process.lines()) == "listening"
        process.stop()
        finished = await process.wait()
    assert finished.signal == 15


async def test_it_leaves_a_daemon_with_a_session_of_its_own(tmp_path):
    of_session = "cut -d' ' -f6 /proc/self/stat"
    script = f"""
    daemon {of_session} > daemon.txt; exec sleep 300
    shell while [ ! -s daemon.txt ]; do sleep 0.01; done; {of_session} > agent.txt
    say DONE
    """
    finished = await run(command(ScriptedAgent(script), folder=tmp_path))
    assert finished.stdout.text.endswith("DONE\n")
    assert (tmp_path / "daemon.txt").read_text() != (tmp_path / "agent.txt").read_text()


async def test_it_can_be_installed_under_the_name_of_whom_it_plays(tmp_path):
    program = ScriptedAgent("write made.txt it's done", "claude").install(tmp_path / "claude")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    version = await run(Command(argv=("claude", "--version"), env=env))
    finished = await run(Command(argv=(str(program), "-p", "whatever", "--verbose"), cwd=tmp_path, env=env))
    assert version.stdout.text.strip().endswith("(Claude Code)")
    assert finished.exit_code == 0
    assert (tmp_path / "made.txt").read_text() == "it's done"


async def test_it_runs_as_a_module_too():
    argv = (sys.executable, "-m", "trueup.testing.agent", "--speak", "codex", "SCRIPT: say hi")
    finished = await run(Command(argv=argv))
    assert '"text": "hi"' in finished.stdout.text


async def test_two_hundred_work_at_once(tmp_path):
    agent = ScriptedAgent()
    began = time.monotonic()
    works = [run(command(agent, f"SCRIPT: write {n}.txt {n}\nSCRIPT: sleep 1", folder=tmp_path)) for n in range(200)]
    finished = await asyncio.gather(*works)
    assert {done.exit_code for done in finished} == {0}
    assert sorted(int(file.stem) for file in tmp_path.glob("*.txt")) == list(range(200))
    # One after another they would take 200 s at least.
    assert time.monotonic() - began < 60
