"""qwen-code, on what it once printed, and what must be known about it."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Mode, Retried, ToolResult, UsageReported
from trueup.harness.agents._qwen import Qwen

SESSION = "b7d6d573-8d16-43b8-a944-2863c2efe21e"


@pytest.mark.parametrize("recording", ["ok", "resume"])
def test_what_it_used_is_of_the_run_although_a_session_that_goes_on_tells_its_whole(recording):
    events, outcome = heard("qwen", recording, resume=SESSION if recording == "resume" else None)
    assert outcome.usage == Usage(2400, 100, cache_read_tokens=400)
    assert (outcome.ok, outcome.session_id, outcome.version) == (True, SESSION, "0.24.4")
    assert len(of_kind(events, UsageReported)) == 2
    assert "Exit Code: 0" in of_kind(events, ToolResult)[0].output


@pytest.mark.parametrize(
    ("recording", "kind"), [("401", Kind.AUTH), ("refused", Kind.NETWORK), ("garbage", Kind.PROTOCOL)]
)
def test_an_error_that_is_told_as_an_answer_is_none(recording, kind):
    _, outcome = heard("qwen", recording, exit_code=1)
    assert (outcome.ok, outcome.failure_kind, outcome.text) == (False, kind, "")


def test_it_says_that_it_tries_again():
    events, outcome = heard("qwen", "429", exit_code=None)
    assert of_kind(events, Retried) == [Retried(1, "retry")]
    assert not outcome.ok


def test_a_success_with_an_error_is_none():
    conversation = listening("qwen")
    for line in lines_of("qwen", "ok"):
        conversation.feed(line.replace('"is_error":false,"duration_ms"', '"is_error":true,"duration_ms"'))
    assert not conversation.outcome(ended()).ok


def test_what_was_denied_is_named():
    conversation = listening("qwen")
    denials = [{"tool_name": "run_shell_command", "tool_use_id": "x", "tool_input": {}}]
    conversation.feed(json.dumps({"type": "result", "subtype": "success", "permission_denials": denials}))
    assert conversation.outcome(ended()).denied == ["run_shell_command"]


def test_the_key_stays_in_its_variable():
    put = Qwen().invoke(
        request(env={"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}), asks=False
    )
    assert "--auth-type=openai" in put.argv
    assert not any("dummy" in word for word in put.argv)
    assert "--auth-type=openai" not in Qwen().invoke(request(), asks=False).argv, "the user's own login is left to it"


def test_a_mode_is_its_approval_mode():
    for mode, word in ((Mode.READ_ONLY, "plan"), (Mode.EDIT, "auto-edit"), (Mode.FULL, "yolo")):
        assert f"--approval-mode={word}" in Qwen().invoke(request(mode=mode), asks=False).argv


def test_a_session_is_known_by_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".qwen/projects/-old-worktree/chats" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"sessionId": SESSION, "cwd": "/old/worktree", "type": "user"}) + "\n")
    assert Qwen().began_in(SESSION, {"HOME": str(tmp_path)}) == "/old/worktree"


def test_what_the_user_configured_is_off_unless_it_is_wanted():
    minimal, own = (Qwen(user_config=each).invoke(request(), asks=False) for each in (False, True))
    assert b"disableAllHooks" in minimal.stdin
    assert b"disableAllHooks" not in own.stdin
    assert "--extensions=none" in minimal.argv
    assert "--extensions=none" not in own.argv
