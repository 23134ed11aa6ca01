"""Whole conversations with real ACP agents, replayed by a program over real pipes."""

from __future__ import annotations

import asyncio

import pytest

from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Message, PermissionDecided, SessionNamed, Status, ToolCall, ToolKind, ToolResult

# Its recordings, what it is called, its version, the id by which it is allowed once, and by which it is refused.
AGENTS = {
    "claude": ("claude-code", "0.99.0", "allow-once", "reject"),
    "codex": ("codex", "2.6.0", "allow_once", "cancel"),
    "copilot": ("copilot", "1.0.102", "allow_once", "reject_once"),
    "droid": ("droid", "0.215.0", "proceed_once", "cancel"),
    "gemini": ("gemini", "0.61.0", "proceed_once", "cancel"),
    "goose": ("goose", "1.52.0", "allow_once", "reject_once"),
    "kimi": ("kimi", "2.1.0", "approve_once", "reject"),
    "opencode": ("opencode", "1.18.33", "once", "reject"),
    "vibe": ("vibe", "3.0.2", "allow_once", "reject_once"),
}
# What each tells of its usage. Of the last call only, it is a lower bound.
USAGES = {
    "claude": Usage(2460, 100, 0.0117675, cache_read_tokens=400, cache_write_tokens=60),
    "codex": Usage(2400, 100, cache_read_tokens=400, cache_write_tokens=0),
    "copilot": Usage(2400, 100, cache_read_tokens=400, cache_write_tokens=0),
    "droid": Usage(incomplete=True),
    "gemini": Usage(2400, 100),
    "goose": Usage(1200, 50, incomplete=True),
    "kimi": Usage(incomplete=True),
    "opencode": Usage(1200, 50, 0.00762, cache_read_tokens=200, incomplete=True),
    "vibe": Usage(2400, 100, 0.0087, cache_read_tokens=400),
}


@pytest.mark.parametrize("agent", AGENTS)
async def test_what_the_gate_allows_is_allowed_once_and_done(agent, ground, allowing):
    name, version, once, _ = AGENTS[agent]
    result = await ground.run(ground.replay(f"acp_{agent}/allow.jsonl", name), allowing)
    assert (result.status, result.text, result.error) == (Status.OK, "DONE", "")
    assert (result.version, result.session_id, result.denied) == (version, "session-1", [])
    assert result.usage == USAGES[agent]
    [action] = allowing.asked
    assert (action.tool, action.params["command"][:10]) == ("shell", "echo hi > ")
    assert ground.outcomes == [{"outcome": "selected", "optionId": once}]
    assert_the_work_is_told_in_order(ground)


def assert_the_work_is_told_in_order(ground):
    kinds = [SessionNamed, ToolCall, PermissionDecided, ToolResult]
    assert [type(event) for event in ground.events if type(event) in kinds] == kinds
    [call], [result] = ground.told(ToolCall), ground.told(ToolResult)
    assert call.tool_kind is ToolKind.SHELL
    assert call.input["command"].startswith("echo hi > ")
    assert (result.id, result.ok) == (call.id, True)
    assert ground.told(Message)[-1].text == "DONE"


@pytest.mark.parametrize("agent", AGENTS)
async def test_what_the_gate_refuses_is_rejected_by_the_kind_of_the_option(agent, ground, refusing):
    name, _, _, reject = AGENTS[agent]
    result = await ground.run(ground.replay(f"acp_{agent}/deny.jsonl", name), refusing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": reject}]
    assert [denied[:10] for denied in result.denied] == ["echo hi > "]
    [decided] = ground.told(PermissionDecided)
    assert (decided.allowed, decided.reason) == (False, "not today")
    # codex gives its turn up. The others end it, some after they told the model.
    gave_up = agent == "codex"
    assert (result.status, result.failure_kind) == ((Status.FAILED, Kind.REFUSED) if gave_up else (Status.OK, None))


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_key_that_is_not_accepted_is_an_auth_failure(agent, ground, allowing):
    result = await ground.run(ground.replay(f"acp_{agent}/err401.jsonl", AGENTS[agent][0]), allowing)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.AUTH)
    assert result.error
    assert result.usage == Usage(incomplete=True)


@pytest.mark.parametrize("agent", AGENTS)
async def test_an_agent_that_is_stopped_is_told_so_by_the_protocol(agent, ground, allowing):
    running = asyncio.create_task(ground.run(ground.replay(f"acp_{agent}/cancel.jsonl", AGENTS[agent][0]), allowing))
    while not ground.told(PermissionDecided):
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ground.heard_of("session/cancel") == [{"sessionId": "session-1"}]


async def test_what_an_interrupted_agent_did_not_count_is_unknown(ground, allowing):
    """opencode tells zeros, although a model was called."""
    result = await ground.run(ground.replay("acp_opencode/cancel.jsonl", "opencode"), allowing, timeout_secs=1)
    assert (result.status, result.failure_kind) == (Status.TIMED_OUT, Kind.TIMEOUT)
    assert result.usage == Usage(incomplete=True)


async def test_what_an_interrupted_agent_did_count_is_known(ground, allowing):
    result = await ground.run(ground.replay("acp_claude/cancel.jsonl", "claude-code"), allowing, timeout_secs=2)
    assert result.status is Status.TIMED_OUT
    assert result.usage == Usage(1230, 50, 0.007845, cache_read_tokens=200, cache_write_tokens=30)


async def test_copilot_fails_behind_an_end_of_its_turn(ground, allowing):
    result = await ground.run(ground.replay("acp_copilot/err401.jsonl", "copilot"), allowing)
    assert result.error.startswith("Authentication failed with provider")
    assert result.text == ""


@pytest.mark.parametrize(("agent", "mode"), [("codex", "read-only"), ("vibe", "ask")])
async def test_the_mode_in_which_an_agent_asks_is_set_first(agent, mode, ground, allowing):
    await ground.run(ground.replay(f"acp_{agent}/allow.jsonl", AGENTS[agent][0]), allowing)
    assert [asked["modeId"] for asked in ground.heard_of("session/set_mode")] == [mode]


async def test_an_agent_by_its_command_line_is_known_by_what_it_calls_itself(ground, allowing):
    """Without that, codex would have a model of the vendor's decide."""
    result = await ground.run(ground.replay("acp_codex/allow.jsonl"), allowing)
    assert result.status is Status.OK
    assert [asked["modeId"] for asked in ground.heard_of("session/set_mode")] == ["read-only"]


async def test_no_files_and_no_terminals_are_offered(ground, allowing):
    await ground.run(ground.replay("acp_gemini/allow.jsonl", "gemini"), allowing)
    [asked] = ground.heard_of("initialize")
    offered = asked.get("clientCapabilities", {})
    assert not offered.get("terminal")
    assert not any((offered.get("fs") or {}).values())
