"""ACP agents that do what they should not: die, hang, flood, print what is no message, fail without a word."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import HarnessRequest, Message, Reasoning, Status, ToolCall, ToolResult

DEEP = "[" * 200_000


def told(**update):
    return ["send", {"method": "session/update", "params": {"sessionId": "session-1", "update": update}}]


def said(text, **more):
    return told(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)


def is_alive(pid_file: Path) -> bool:
    return os.path.exists(f"/proc/{pid_file.read_text()}")


MEANINGLESS = [
    "",
    "Starting the server…",
    "{",
    "[1, 2]",
    '"text"',
    "null",
    "{}",
    f'{{"jsonrpc": "2.0", "method": "x", "params": {DEEP}',
    '{"id": [1], "result": {}}',
    '{"id": {"a": 1}, "error": {"code": 1}}',
    '{"id": true, "result": {}}',
    '{"id": 9999, "result": {}}',
    '{"id": null, "result": {}}',
    '{"id": 9999, "error": "no"}',
    '{"method": 7, "params": {}}',
    '{"method": ["session/update"]}',
    '{"method": "session/update"}',
    '{"method": "session/update", "params": []}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": "x"}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "new_kind"}}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": 5}}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "tool_call"}}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "tool_call_update",'
    ' "toolCallId": 5, "title": [], "rawInput": 7, "content": {"a": 1}, "locations": "x", "status": {}, "_meta": []}}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "plan"}}}',
    '{"method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "usage_update",'
    ' "cost": {"amount": "much"}}}}',
    '{"method": "_vendor/notice", "params": {}}',
    '{"method": "session/elsewhere", "params": {}}',
]


async def test_lines_that_mean_nothing_are_nothing(ground, script, caplog):
    for line in MEANINGLESS:
        script.then(["print", line], said("."))
    result = await ground.run(ground.agent(script.ends()))
    assert (result.status, result.error) == (Status.OK, "")
    assert "".join(event.text for event in ground.told(Message)) == "." * len(MEANINGLESS)
    assert caplog.records == []


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "elicitation/create", "_vendor/question"])
async def test_what_is_not_offered_is_not_there(method, ground, script):
    script.then(["send", {"id": 5, "method": method, "params": {}}], ["hear_answer", 5], said("DONE")).ends()
    result = await ground.run(ground.agent(script))
    assert result.status is Status.OK
    assert [message["error"]["code"] for message in ground.heard if message.get("id") == 5] == [-32601]


@pytest.mark.parametrize(
    ("reason", "status", "kind"),
    [
        ("end_turn", Status.OK, None),
        ("max_tokens", Status.FAILED, Kind.CONTEXT_LENGTH),
        ("max_turn_requests", Status.FAILED, Kind.OTHER),
        ("refusal", Status.FAILED, Kind.REFUSED),
        ("cancelled", Status.CANCELLED, Kind.OTHER),
        ("went_home", Status.FAILED, Kind.PROTOCOL),
    ],
)
async def test_a_turn_succeeds_only_by_its_own_word(reason, status, kind, ground, script):
    result = await ground.run(ground.agent(script.then(said("DONE")).ends(reason)))
    assert (result.status, result.failure_kind) == (status, kind)


async def test_a_turn_without_a_word_or_a_deed_is_no_success(ground, script):
    """pi-acp ends its turn like this where its key is not accepted."""
    result = await ground.run(ground.agent(script.ends(), "pi"))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)
    assert "without a word" in result.error


async def test_a_turn_that_ends_because_something_was_refused_is_not_without_a_deed(ground, script, refusing):
    """opencode ends its turn at once, and a model need not say anything before it calls a tool."""
    script.asks({"kind": "execute", "rawInput": {"command": "make"}})
    result = await ground.run(ground.agent(script.ends()), refusing)
    assert (result.status, result.denied) == (Status.OK, ["make"])


async def test_a_cost_of_nothing_is_unknown(ground, script):
    """opencode tells it of models whose price it does not know."""
    script.then(told(sessionUpdate="usage_update", used=1, size=2, cost={"amount": 0, "currency": "USD"}), said("DONE"))
    script.ends(usage={"inputTokens": 3, "outputTokens": 4, "totalTokens": 7})
    result = await ground.run(ground.agent(script))
    assert result.usage == Usage(3, 4)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": -32000, "message": "Authentication required"}, Kind.AUTH),
        ({"code": 429, "message": "slow down"}, Kind.RATE_LIMIT),
        ({"code": 429, "message": "insufficient_quota"}, Kind.QUOTA),
        ({"code": 503, "message": ""}, Kind.OVERLOADED),
        (
            {"code": -32603, "message": "Internal error", "data": {"details": "API Error: 529 Overloaded"}},
            Kind.OVERLOADED,
        ),
        ({"code": -32603, "message": "Internal error", "data": "429 slow down"}, Kind.RATE_LIMIT),
        ({"code": -32603, "message": "connection refused"}, Kind.NETWORK),
        ({"code": -32602, "message": "Invalid params"}, Kind.PROTOCOL),
        ({"code": -32603, "message": "Internal error"}, Kind.OTHER),
        ({"code": "x", "message": ["y"]}, Kind.OTHER),
        ("out of order", Kind.OTHER),
    ],
)
async def test_an_error_says_what_kind_of_thing_it_is(error, kind, ground, script):
    result = await ground.run(ground.agent(script.then(["fail", "session/prompt", error])))
    assert (result.status, result.failure_kind) == (Status.FAILED, kind)


async def test_an_agent_that_dies_in_its_turn_failed_for_what_it_said_last(ground, script):
    script.then(said("half"), ["stderr", "fatal: rate limit exceeded"], ["exit", 3])
    result = await ground.run(ground.agent(script))
    assert (result.status, result.failure_kind, result.exit_code) == (Status.FAILED, Kind.RATE_LIMIT, 3)
    assert result.error == "the agent ended (exit 3) before its turn did: fatal: rate limit exceeded"
    assert (result.text, result.stderr) == ("half", "fatal: rate limit exceeded\n")


async def test_an_agent_that_dies_at_once_failed(ground):
    result = await ground.run(ground.agent([["exit", 0]]))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)


async def test_a_program_that_is_not_there_is_not_installed(ground, script):
    harness = ground.agent(script)
    harness.agent = type(harness.agent)(argv=("no-such-agent",))
    there = await ground.run(harness)
    below = await ground.run(harness, cwd=".")
    assert [each.status for each in (there, below)] == [Status.NOT_INSTALLED] * 2
    assert [each.failure_kind for each in (there, below)] == [Kind.SPAWN] * 2


async def test_a_program_that_never_answers_is_given_up(ground):
    """As `cat` would: it is no ACP agent."""
    result = await ground.run(ground.agent([["stay"]], answer_secs=0.3))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.TIMEOUT)
    assert "did not answer 'initialize' within 0.3 s: is it an ACP agent?" in result.error


async def test_a_program_that_repeats_what_it_hears_is_no_agent(ground):
    harness = ground.agent([])
    harness.agent = type(harness.agent)(argv=("cat",))
    result = await ground.run(harness, timeout_secs=2)
    assert result.status in (Status.FAILED, Status.TIMED_OUT)


async def test_another_version_of_the_protocol_is_refused(ground):
    result = await ground.run(ground.agent([["hear", "initialize"], ["answer", "initialize", {"protocolVersion": 2}]]))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)
    assert "version 2" in result.error


async def test_an_agent_that_falls_silent_is_stopped(ground, script):
    result = await ground.run(
        ground.agent(script.then(said("half"), ["hear", "session/cancel"]).ends("cancelled")), idle_secs=1
    )
    assert (result.status, result.failure_kind) == (Status.TIMED_OUT, Kind.TIMEOUT)
    assert result.error == "the agent said nothing for 1 s and was ended"
    assert result.text == "half"


async def test_an_agent_that_hears_nothing_is_ended_with_its_tools(ground, script, tmp_path):
    """Neither the protocol nor SIGTERM reaches it, and its tool has a session of its own."""
    pid = tmp_path / "pid"
    script.then(["ignore_sigterm"], ["start", str(pid)], said("at work"), ["stay"])
    result = await ground.run(ground.agent(script), timeout_secs=1.5)
    assert result.status is Status.TIMED_OUT
    assert result.signal == 9
    assert not is_alive(pid)


async def test_an_agent_that_stays_after_its_last_word_leaves_nothing(ground, script, tmp_path):
    pid = tmp_path / "pid"
    result = await ground.run(ground.agent(script.then(["start", str(pid)], said("DONE")).ends()))
    assert result.status is Status.OK
    assert not is_alive(pid)


async def test_a_flood_waits_for_the_recorder(ground, script, tmp_path):
    class Slow:
        """Takes its time for the first event, and looks then whether the agent was kept from saying everything."""

        def __init__(self) -> None:
            self.seen = 0
            self.has_held = False

        async def record(self, event) -> None:
            self.seen += 1
            if self.seen == 1:
                await asyncio.sleep(0.5)
                self.has_held = not (tmp_path / "everything").exists()

    slow = Slow()
    call = {"toolCallId": "t", "title": "x", "kind": "read", "status": "completed", "rawInput": {"path": "a" * 4000}}
    flood = told(sessionUpdate="tool_call", **call)[1]
    script.then(["flood", 2000, flood], ["write", str(tmp_path / "everything")], said("DONE")).ends()
    result = await ground.agent(script).run(ground_request(ground), ground, slow)
    assert (result.status, result.text) == (Status.OK, "DONE")
    assert slow.has_held
    # The session, a call and a result for each message, and the last word.
    assert slow.seen == 1 + 2 * 2000 + 1


def ground_request(ground):
    return HarnessRequest(prompt="do it", cwd=str(ground.work), timeout_secs=60)


async def test_words_that_come_in_pieces_are_one_message(ground, script):
    script.then(
        told(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "hm"}),
        said("Do", messageId="1"),
        told(sessionUpdate="usage_update", used=1, size=2),
        said("ing it.", messageId="1"),
        said("DO", messageId="2"),
        said("NE", messageId="2"),
    ).ends()
    result = await ground.run(ground.agent(script))
    assert result.text == "DONE"
    assert [event.text for event in ground.told(Reasoning)] == ["hm"]
    assert [event.text for event in ground.told(Message)] == ["Doing it.", "DONE"]


async def test_what_another_session_does_is_not_told_as_this_one_s(ground, script):
    other = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "of a subagent"}}
    script.then(
        ["send", {"method": "session/update", "params": {"sessionId": "session-2", "update": other}}], said("DONE")
    )
    await ground.run(ground.agent(script.ends()))
    assert [event.text for event in ground.told(Message)] == ["DONE"]


async def test_a_tool_that_failed_is_told_as_failed(ground, script):
    script.then(
        told(
            sessionUpdate="tool_call",
            toolCallId="t",
            title="x",
            kind="execute",
            status="failed",
            rawInput={"command": "make"},
            rawOutput={"stdout": "", "error": "no rule"},
        ),
    ).ends()
    await ground.run(ground.agent(script.then()))
    assert [(event.name, event.input) for event in ground.told(ToolCall)] == [("shell", {"command": "make"})]
    assert [(event.ok, event.output) for event in ground.told(ToolResult)] == [(False, "no rule")]


class FullError(Exception):
    pass


async def test_a_recorder_that_gives_up_stops_the_agent(ground, script):
    class Full:
        async def record(self, event) -> None:
            raise FullError

    with pytest.raises(FullError):
        script.then(said("a"), ["hear", "session/cancel"], ["stay"])
        await ground.agent(script).run(ground_request(ground), ground, Full())


async def test_half_a_character_in_a_prompt_does_no_harm(ground, script):
    await ground.run(ground.agent(script.then(said("DONE")).ends()), prompt="a\ud800b")
    assert ground.heard_of("session/prompt")[0]["prompt"] == [{"type": "text", "text": "a?b"}]


async def test_goose_fails_behind_an_end_of_its_turn(ground, script):
    words = "Network error: Could not connect to 127.0.0.1:9 — check your network connection and try again."
    result = await ground.run(ground.agent(script.then(said(words)).ends(), "goose"))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.NETWORK)
    assert result.error.startswith("Could not connect")


@pytest.mark.parametrize(
    ("states", "kind"), [(["active", "systemError"], Kind.NETWORK), (["systemError", "active"], None)]
)
async def test_codex_fails_behind_an_end_of_its_turn(states, kind, ground, script):
    for state in states:
        status = {"codex": {"threadStatus": {"type": state}}}
        script.then(told(sessionUpdate="session_info_update", _meta=status))
    script.then(said("Warning: no metadata\n\n"), said("Connection failed: error sending request\n\n"))
    result = await ground.run(ground.agent(script.ends(), "codex"))
    assert result.failure_kind is kind
    assert result.text == "Connection failed: error sending request\n\n"


async def test_nobody_to_be_reached_is_no_busy_vendor(ground, script):
    error = {"code": 500, "message": "exception TypeError: fetch failed sending request"}
    result = await ground.run(ground.agent(script.then(["fail", "session/prompt", error]), "gemini"))
    assert result.failure_kind is Kind.NETWORK


async def test_output_that_codex_tells_in_pieces_is_one(ground, script):
    def piece(data, **more):
        delta = {"terminal_output_delta": {"data": data, "terminal_id": "t"}}
        return told(sessionUpdate="tool_call_update", toolCallId="t", _meta=delta, **more)

    begun = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "in_progress"}
    script.then(told(**begun, rawInput={"command": "make"}), piece("one\n"), piece("two\n", status="completed"))
    await ground.run(ground.agent(script.then(said("DONE")).ends(), "codex"))
    assert [result.output for result in ground.told(ToolResult)] == ["one\ntwo\n"]
