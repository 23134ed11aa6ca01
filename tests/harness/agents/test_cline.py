"""Cline, on output that it once gave."""

from __future__ import annotations

import json

import pytest

from agent_recordings import heard, listening, of_kind, request
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Message, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.harness.agents._cline import Cline

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}


def test_a_run_is_told_call_by_call():
    events, outcome = heard("cline", "ok")
    one_call = Usage(input_tokens=1200, output_tokens=50, cache_read_tokens=200, cache_write_tokens=0)
    assert [event.usage for event in of_kind(events, UsageReported)] == [one_call, one_call]
    assert [event.text for event in of_kind(events, Message)] == ["Running a command.", "DONE"]
    assert outcome.usage == one_call + one_call
    [call], [result] = of_kind(events, ToolCall), of_kind(events, ToolResult)
    assert (call.tool_kind, call.input) == (ToolKind.SHELL, {"commands": ["echo hi > m8cf646.txt"]})
    assert (result.ok, result.duration_secs) == (True, 0.052)


def test_a_file_that_is_made_is_a_tool_that_writes():
    events, _ = heard("cline", "write")
    [call], [result] = of_kind(events, ToolCall), of_kind(events, ToolResult)
    assert (call.name, call.tool_kind) == ("editor", ToolKind.WRITE)
    assert result.output == "File created successfully at: /repo/m1be194.txt"


def test_a_tool_that_was_rejected_went_wrong_and_the_run_goes_on():
    conversation = listening("cline")
    told = {
        "type": "content_end",
        "contentType": "tool",
        "toolName": "x",
        "toolCallId": "c",
        "output": {"error": "no x"},
    }
    [result] = conversation.feed(json.dumps({"type": "agent_event", "event": {**told, "error": "no x"}}))
    assert result == ToolResult("c", False, "no x")
    error = {"type": "error", "error": {"message": "1 tool call(s) failed"}, "errorClass": "unknown"}
    conversation.feed(json.dumps({"type": "agent_event", "event": error}))
    conversation.feed('{"type":"run_result","finishReason":"completed","text":"DONE"}')
    assert conversation.succeeded
    assert conversation.failure is None, "it got over it"


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("401", Kind.AUTH, "scripted 401"),
        ("429", Kind.RATE_LIMIT, "scripted 429"),
        ("500", Kind.OTHER, "scripted 500"),
        ("refused", Kind.NETWORK, "Cannot connect to API"),
        ("garbage", Kind.OTHER, "Response stream ended without a finish reason."),
    ],
)
def test_an_error_is_given_as_the_answer_and_is_none(name, kind, told):
    """Of most statuses it tells only what the vendor said, so that a kind is known by words alone."""
    _, outcome = heard("cline", name, exit_code=1)
    assert (outcome.ok, outcome.failure_kind, outcome.text) == (False, kind, "")
    assert outcome.error.startswith(told)


def test_a_run_that_ended_at_a_limit_is_not_ok():
    conversation = listening("cline")
    conversation.feed('{"type":"run_result","finishReason":"max_iterations","text":"as far as I got"}')
    assert not conversation.succeeded
    assert conversation.failure is not None


def test_it_starts_no_daemon_that_would_be_left_behind():
    assert Cline().invoke(request(), asks=False).env["CLINE_SESSION_BACKEND_MODE"] == "local"


def test_what_it_keeps_is_in_the_folder_of_the_run_where_a_vendor_is_named():
    put = Cline().invoke(request(env=HERE, model="some-model"), asks=False)
    told = json.loads(put.env["TRUEUP_FILE_0"])["providers"]["openai-compatible"]["settings"]
    assert told == {
        "provider": "openai-compatible",
        "apiKey": "a-real-key",
        "model": "some-model",
        "baseUrl": "http://127.0.0.1:4000/v1",
    }
    assert '"--data-dir"' not in put.argv[2]
    assert '"$folder/data"' in put.argv[2]
    assert "data-dir" not in " ".join(Cline().invoke(request(), asks=False).argv), "a person's own login is in theirs"
