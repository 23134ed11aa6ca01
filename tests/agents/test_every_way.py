"""The real agents, each in every way in which it is spoken to, with a scripted model in the place of their own.

Claude Code and codex in their own dialects have tests of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest

from agent_desk import Denies, Desk
from coded import is_running
from trueup.core.errors import InputError, Kind
from trueup.harness import HarnessResult, Permission, PermissionDecided, Status, ToolCall, ToolKind, ToolResult
from trueup.testing import Fault, ScriptedModel, Text, Tool

pytestmark = pytest.mark.agents

WAYS = (
    "opencode",
    "gemini",
    "goose",
    "pi",
    "acp:claude-code",
    "acp:codex",
    "acp:opencode",
    "acp:gemini",
    "acp:goose",
)
# Over ACP these count the last call of the model alone.
COUNT_THE_LAST = ("acp:opencode", "acp:goose")
TELL_NO_OUTPUT = ("acp:gemini",)
DONE = Text("DONE")
# What ScriptedModel says of a call, unless told otherwise: 1000 new tokens, 200 of a cache, 50 of answer.
INPUT_OF_A_CALL, OUTPUT_OF_A_CALL = 1200, 50


@pytest.fixture(params=WAYS)
def desk(request, npm_agents, tmp_path) -> Desk:
    return Desk(request.param, npm_agents, tmp_path)


def shell(desk: Desk, command: str) -> Tool:
    """A command as the agent's model would ask for it where somebody decides."""
    if desk.name == "acp:codex":
        # It asks for what the model wants to have done outside of codex's own sandbox.
        outside = {"sandbox_permissions": "require_escalated", "justification": "it must be written"}
        return Tool("exec_command", {"cmd": command, **outside})
    return Tool.shell(command)


async def test_it_does_a_task_and_goes_on_with_its_session_or_says_that_it_cannot(desk):
    async with ScriptedModel([Tool.shell("echo hi > made.txt; cat made.txt"), DONE, Text("AGAIN")]) as model:
        first = await desk.run(model.url, "remember the word heron")
        assert (first.status, first.text) == (Status.OK, "DONE"), first.error
        assert (desk.folder / "made.txt").read_text() == "hi\n"
        assert_the_work_is_told(desk, first)
        asked = len(model.asked)
        if desk.capabilities.resume:
            second = await desk.run(model.url, "which word?", resume=first.session_id)
            assert (second.status, second.text) == (Status.OK, "AGAIN"), second.error
            assert second.session_id == first.session_id
            assert "heron" in json.dumps(model.asked[-1].body)
        else:
            with pytest.raises(InputError, match="cannot go on with a session"):
                await desk.run(model.url, "which word?", resume=first.session_id)
            assert len(model.asked) == asked
    assert desk.processes() == []


def assert_the_work_is_told(desk: Desk, result: HarnessResult) -> None:
    [call], [came] = desk.told(ToolCall), desk.told(ToolResult)
    assert call.tool_kind is ToolKind.SHELL
    assert "echo hi > made.txt" in str(call.input["command"])
    assert (came.id, came.ok) == (call.id, True)
    assert ("hi" in came.output) is (desk.name not in TELL_NO_OUTPUT)
    calls = 1 if desk.name in COUNT_THE_LAST else 2
    used = result.usage
    assert (used.input_tokens, used.output_tokens) == (calls * INPUT_OF_A_CALL, calls * OUTPUT_OF_A_CALL)
    assert used.incomplete is (calls == 1)


async def test_a_gate_allows_one_command_and_keeps_it_from_another_or_it_is_not_begun_at_all(desk):
    gate = Denies("forbidden")
    script = [shell(desk, "touch allowed.txt"), shell(desk, "touch forbidden.txt"), DONE]
    async with ScriptedModel(script) as model:
        if desk.capabilities.permission is Permission.NONE:
            with pytest.raises(InputError, match="nothing would hold it to a policy"):
                await desk.run(model.url, gate=gate)
            assert model.asked == []
            return
        result = await desk.run(model.url, gate=gate)
    # Codex gives its turn up where it is denied something.
    ended = (Status.FAILED, Kind.REFUSED) if desk.name == "acp:codex" else (Status.OK, None)
    assert (result.status, result.failure_kind) == ended, result.error
    assert [file.name for file in desk.folder.iterdir()] == ["allowed.txt"]
    assert [event.allowed for event in desk.told(PermissionDecided)] == [True, False]
    assert len(gate.asked) == 2
    [denied] = result.denied
    assert "touch forbidden.txt" in denied
    assert desk.processes() == []


async def test_cancelled_nothing_of_it_is_left_nor_of_its_tool_in_a_session_of_its_own(desk):
    nap = f"{6000 + os.getpid()}.{time.monotonic_ns()}"
    async with ScriptedModel([Tool.shell(f"setsid --wait sleep {nap}"), DONE]) as model:
        running = asyncio.create_task(desk.run(model.url))
        async with asyncio.timeout(100):
            while not is_running(nap):
                assert not running.done(), running.result()
                await asyncio.sleep(0.1)
        assert desk.processes()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (b'"session/cancel"' in desk.heard) is desk.speaks_acp
    assert not is_running(nap)
    assert desk.processes() == []


async def test_a_key_that_is_refused_is_told_as_such(desk):
    async with ScriptedModel([Fault(401, message="Incorrect API key provided: sk-scripted")]) as model:
        result = await desk.run(model.url)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.AUTH), result.error


async def test_a_refused_connection_comes_to_an_end_and_is_told_as_such(npm_agents, tmp_path):
    async def refused(way: str) -> HarnessResult:
        return await Desk(way, npm_agents, tmp_path / way).run("http://127.0.0.1:9", timeout_secs=100)

    # At once, because most of the time they wait before they try again.
    results = await asyncio.gather(*map(refused, WAYS))
    told = {result.harness: (result.status, result.failure_kind) for result in results}
    assert told == dict.fromkeys(WAYS, (Status.FAILED, Kind.NETWORK)), [result.error for result in results]
