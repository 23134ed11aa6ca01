"""OpenHands, on output that it once gave."""

from __future__ import annotations

import json
import uuid
from contextlib import asynccontextmanager

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from coded import is_running
from trueup.core.errors import Kind
from trueup.core.process import Command, Process
from trueup.core.usage import Usage
from trueup.harness import Message, SessionNamed, Status, ToolCall, ToolKind, ToolResult
from trueup.harness._driver import DrivenHarness
from trueup.harness.agents._openhands import OpenHands
from trueup.testing import EventLog

SESSION = "00db2fef-622a-443a-b2d3-116b3334de87"


def test_events_are_found_between_lines_for_people():
    events, outcome = heard("openhands", "ok")
    assert events == [
        Message("Running a command."),
        ToolCall(
            "terminal",
            "call_aa9bd024495845adb1e5",
            ToolKind.SHELL,
            {"command": "echo hi > mbe5bb7.txt", "is_input": False, "reset": False},
        ),
        ToolResult("call_aa9bd024495845adb1e5", True, ""),
        Message("DONE"),
        SessionNamed(SESSION),
    ]
    assert (outcome.ok, outcome.text, outcome.session_id) == (True, "DONE", SESSION)
    assert outcome.usage == Usage(incomplete=True), "it tells no tokens, which is not none"


def test_the_conversation_goes_on_under_the_id_that_only_its_prose_tells():
    _, outcome = heard("openhands", "resume", resume=SESSION)
    assert (outcome.ok, outcome.session_id) == (True, SESSION)
    assert f"--resume={SESSION}" in OpenHands().invoke(request(resume=SESSION), asks=False).argv


def test_a_file_that_is_made_is_a_tool_that_writes():
    events, _ = heard("openhands", "write")
    [call] = of_kind(events, ToolCall)
    assert (call.name, call.tool_kind, call.input["path"]) == ("file_editor", ToolKind.WRITE, "/repo/m2f0bf8.txt")


def test_an_error_comes_with_exit_0():
    _, outcome = heard("openhands", "401", exit_code=0)
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.AUTH)
    assert outcome.error == "litellm.AuthenticationError: AuthenticationError: OpenAIException - scripted 401"


@pytest.mark.parametrize(
    ("code", "detail", "kind"),
    [
        ("RateLimitError", "litellm.RateLimitError: scripted", Kind.RATE_LIMIT),
        ("RateLimitError", "litellm.RateLimitError: You exceeded your current quota", Kind.QUOTA),
        ("InternalServerError", "litellm.InternalServerError: scripted 500", Kind.OVERLOADED),
        ("InternalServerError", "litellm.InternalServerError: OpenAIException - Connection error.", Kind.NETWORK),
        ("NotFoundError", "litellm.NotFoundError: no such model", Kind.MODEL_NOT_FOUND),
        ("SomethingNew", "nobody knows", Kind.OTHER),
    ],
)
def test_an_error_is_known_by_its_code(code, detail, kind):
    conversation = listening("openhands")
    conversation.feed(json.dumps({"kind": "ConversationErrorEvent", "code": code, "detail": detail}))
    assert conversation.outcome(ended()).failure_kind is kind


def test_one_that_was_ended_while_a_tool_ran_is_not_ok():
    conversation = listening("openhands")
    for line in lines_of("openhands", "ok"):
        conversation.feed(line)
        if '"ActionEvent"' in line:
            break
    assert not conversation.outcome(ended(exit_code=0)).ok


def test_a_last_word_without_finishing_is_an_answer():
    conversation = listening("openhands")
    said = {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"content": [{"type": "text", "text": "It is so."}]},
    }
    assert conversation.feed(json.dumps(said)) == [Message("It is so.")]
    assert (conversation.outcome(ended()).ok, conversation.outcome(ended()).text) == (True, "It is so.")


def test_a_vendor_is_named_by_variables_with_the_model_behind_it():
    here = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000", "ANTHROPIC_API_KEY": "a-real-key"}
    put = OpenHands().invoke(request(env=here, model="some-model"), asks=False)
    assert (put.env["LLM_MODEL"], put.env["LLM_API_KEY"]) == ("anthropic/some-model", "a-real-key")
    assert put.env["LLM_BASE_URL"] == "http://127.0.0.1:4000"
    assert put.env["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_a_prompt_that_is_too_long_for_a_word_is_a_file():
    put = OpenHands().invoke(request(prompt="x" * 100_000), asks=False)
    assert put.stdin == b"x" * 100_000
    assert '"--file=$folder/prompt.md"' in put.argv[2]


async def test_the_server_of_its_terminal_is_ended_with_it(tmp_path):
    """It stays for hours else, in a session of its own, and holds the output open."""
    long_time = f"300.{uuid.uuid4().int}"
    (tmp_path / "said").write_text("\n".join(lines_of("openhands", "ok")) + "\n")
    program = tmp_path / "openhands"
    program.write_text(f"#!/bin/sh\nsetsid sleep {long_time} & sleep 0.1; cat {tmp_path}/said\n")
    program.chmod(0o755)

    class Here:
        @asynccontextmanager
        async def launch(self, command: Command):
            async with Process(command) as process:
                yield process

    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    harness = DrivenHarness(OpenHands(), env)
    result = await harness.run(request(cwd=str(tmp_path), timeout_secs=20, env=env), Here(), EventLog())
    assert (result.status, result.text) == (Status.OK, "DONE")
    assert not is_running(long_time)
