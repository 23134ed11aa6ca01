"""Cursor's agent and Crush, by what their documentation says: no recorded output is there to show it."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, listening, request
from trueup.core.errors import InputError, Kind
from trueup.harness import Message, Mode, SessionNamed, ToolCall, ToolKind, ToolResult
from trueup.harness.agents import AGENTS
from trueup.harness.agents._crush import KEY, Crush
from trueup.harness.agents._cursor import Cursor

SHELL = {"shellToolCall": {"args": {"command": "make"}}}
DONE = {"shellToolCall": {"args": {"command": "make"}, "result": {"success": {"exitCode": 0, "stdout": "ok"}}}}
REJECTED = {"shellToolCall": {"args": {"command": "make"}, "result": {"rejected": {"reason": "no"}}}}
TALK = [
    {"type": "system", "subtype": "init", "session_id": "s", "model": "Auto", "permissionMode": "default"},
    {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "do it"}]}},
    {"type": "tool_call", "subtype": "started", "call_id": "c\n1", "tool_call": SHELL, "session_id": "s"},
    {"type": "tool_call", "subtype": "completed", "call_id": "c\n1", "tool_call": DONE, "session_id": "s"},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "DONE"}]}},
    {"type": "result", "subtype": "success", "is_error": False, "result": "DONE", "session_id": "s"},
]


@pytest.mark.parametrize("name", ["cursor", "crush"])
def test_it_is_said_that_they_are_untested(name):
    assert AGENTS[name].capabilities.tested is None
    assert "documentation" in AGENTS[name].capabilities.notes[0]


def test_cursor_tells_a_run_line_by_line():
    conversation = listening("cursor")
    events = [event for record in TALK for event in conversation.feed(json.dumps(record))]
    assert events[:2] == [SessionNamed("s"), ToolCall("shell", "c\n1", ToolKind.SHELL, {"command": "make"})]
    assert (events[2].id, events[2].ok, events[3]) == ("c\n1", True, Message("DONE"))
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.text, outcome.session_id, outcome.usage.incomplete) == (True, "DONE", "s", True)


def test_a_tool_that_cursor_was_refused_went_wrong():
    told = {"type": "tool_call", "subtype": "completed", "call_id": "c", "tool_call": REJECTED}
    [result] = listening("cursor").feed(json.dumps(told))
    assert result == ToolResult("c", False, '{"rejected": {"reason": "no"}}')


def test_cursor_without_a_result_is_not_ok():
    conversation = listening("cursor")
    for record in TALK[:-1]:
        conversation.feed(json.dumps(record))
    outcome = conversation.outcome(ended(1, "Error: Authentication required. Please run 'agent login' first"))
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.AUTH)


def test_cursor_has_no_mode_in_which_it_only_edits():
    with pytest.raises(InputError, match="nothing would keep it to mode 'edit'"):
        Cursor().invoke(request(mode=Mode.EDIT), asks=False)
    assert "--mode=ask" in Cursor().invoke(request(mode=Mode.READ_ONLY), asks=False).argv
    assert Cursor().invoke(request(prompt="--help"), asks=False).argv[-2:] == ("--", "--help")


def test_cursor_cannot_be_metered_while_it_runs():
    assert not Cursor.capabilities.budget_while_running


def test_crush_is_its_answer():
    conversation = listening("crush")
    assert [event for line in ("I looked.", "", "DONE") for event in conversation.feed(line)] == [
        Message("I looked."),
        Message("DONE"),
    ]
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.text, outcome.usage.incomplete) == (True, "I looked.\n\nDONE", True)


@pytest.mark.parametrize(
    ("code", "stderr", "kind"),
    [(1, "ERROR agent run failed: 401 unauthorized", Kind.AUTH), (0, "", Kind.PROTOCOL)],
)
def test_crush_without_an_answer_or_with_an_error_is_not_ok(code, stderr, kind):
    outcome = listening("crush").outcome(ended(code, stderr))
    assert (outcome.ok, outcome.failure_kind) == (False, kind)


def test_crush_is_told_a_vendor_by_a_file_without_its_key():
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}
    put = Crush().invoke(request(env=env, model="some-model"), asks=False)
    told = json.loads(put.env["TRUEUP_FILE_0"])
    assert told["providers"]["trueup"]["base_url"] == "http://127.0.0.1:4000/v1"
    assert (told["providers"]["trueup"]["api_key"], put.env[KEY]) == (f"${KEY}", "a-real-key")
    assert told["models"]["large"] == {"model": "some-model", "provider": "trueup"}
    assert 'export CRUSH_GLOBAL_CONFIG="$folder/config"' in put.argv[2]
