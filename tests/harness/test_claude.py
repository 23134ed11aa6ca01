"""Claude Code as a harness, on what the real program printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from trueup.core.errors import Kind
from trueup.core.process import Finished, Output
from trueup.core.protocols import Action, Decision
from trueup.core.usage import Usage
from trueup.harness import (
    Ask,
    HarnessRequest,
    Message,
    Mode,
    Outcome,
    Reasoning,
    Retried,
    Say,
    SessionNamed,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
)
from trueup.harness._claude import ClaudeCode
from trueup.harness._claude_talk import ClaudeConversation

RECORDED = Path(__file__).parent / "recorded" / "claude"
EXIT_0 = Finished(exit_code=0, duration_secs=1)
EXIT_1 = Finished(exit_code=1, duration_secs=1)


class Heard:
    """A recorded run, listened to from its first line to its last."""

    def __init__(self, name: str, **request) -> None:
        self.conversation = ClaudeConversation(HarnessRequest(prompt="do it", **request))
        self.lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
        self.over_after: int | None = None
        self.said = []
        for number, line in enumerate(self.lines):
            self.said += self.conversation.feed(line)
            if self.conversation.is_over and self.over_after is None:
                self.over_after = number

    def __getitem__(self, kind):
        return [said for said in self.said if isinstance(said, kind)]

    def outcome(self, finished: Finished = EXIT_1) -> Outcome:
        return self.conversation.outcome(finished)

    @property
    def reported(self) -> list[Usage]:
        return [event.usage for event in self[UsageReported]]

    @property
    def written(self) -> list[dict]:
        return [json.loads(say.data) for say in self[Say]]


def record(**fields) -> str:
    return json.dumps(fields)


def failed(words: str, **fields) -> Outcome:
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    conversation.feed(record(type="result", subtype="success", is_error=True, result=words, **fields))
    return conversation.outcome(EXIT_1)


# What it tells


def test_a_run_is_told_in_the_common_words():
    heard = Heard("talk")
    assert [event.text for event in heard[Message]] == ["Reading.", "DONE"]
    assert [event.text for event in heard[Reasoning]] == ["Which file?"]
    assert [event.session_id for event in heard[SessionNamed]] == [heard.outcome().session_id]
    [call], [came] = heard[ToolCall], heard[ToolResult]
    assert (call.name, call.tool_kind, call.input) == ("Read", ToolKind.READ, {"file_path": "/repo/a.txt"})
    assert (came.id, came.ok, came.output) == (call.id, True, "1\ta\n2\t")
    assert came.duration_secs is not None
    assert 0 <= came.duration_secs < 5


def test_only_a_record_of_success_is_success():
    told = Heard("ok").outcome(EXIT_0)
    assert (told.ok, told.text, told.failure_kind) == (True, "DONE", None)
    assert told.version == "2.1.325"


def test_its_version_is_told_before_anything_else():
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    conversation.feed(next(line for line in Heard("talk").lines if "control_response" in line))
    assert conversation.outcome(EXIT_1).version == "2.1.325"


def test_exit_0_without_a_result_is_no_success():
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    for line in (RECORDED / "ok.jsonl").read_text().splitlines()[:-1]:
        conversation.feed(line)
    told = conversation.outcome(EXIT_0)
    assert (told.ok, told.failure_kind, told.usage.incomplete) == (False, Kind.PROTOCOL, True)


def test_a_failed_tool_is_told_as_failed_although_the_run_succeeds():
    heard = Heard("unknown_tool")
    [call], [came] = heard[ToolCall], heard[ToolResult]
    assert (call.tool_kind, came.id, came.ok) == (ToolKind.OTHER, call.id, False)
    assert heard.outcome(EXIT_0).ok


def test_an_empty_reply_is_told_as_nothing_said_and_nothing_done():
    heard = Heard("empty")
    assert (heard[Message], heard[ToolCall], heard.outcome(EXIT_0).text) == ([], [], "")


def test_an_error_dressed_as_an_answer_is_not_a_message_of_the_agent():
    assert Heard("401")[Message] == []


@pytest.mark.parametrize(
    "line",
    ["", "plain words", "{", "[]", "null", '{"type": "new"}', '{"type": "result", "is_error": 3}', '{"type": "user"}'],
)
def test_lines_that_mean_nothing_are_nothing(line):
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    assert conversation.feed(line) == []
    assert not conversation.is_over


def broken(value) -> Iterator:
    """A value with one thing in it, at any depth, replaced by what does not belong there."""
    yield from (5, "x", [None], {"x": []})
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in items:
        for wrong in broken(inner):
            copy = value.copy()
            copy[key] = wrong
            yield copy


def shape(record: dict) -> tuple:
    """What tells one kind of record from another."""
    said = record.get("message")
    content = said.get("content") if isinstance(said, dict) else None
    blocks = tuple(block["type"] for block in content) if isinstance(content, list) else ()
    return record["type"], record.get("subtype"), (record.get("event") or {}).get("type"), blocks


def test_no_record_is_too_broken_to_be_read():
    lines = [line for file in sorted(RECORDED.iterdir()) for line in file.read_text().splitlines()]
    kinds = {shape(record): record for record in map(json.loads, lines)}
    assert len(kinds) > 20
    for known in kinds.values():
        conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
        for wrong in broken(known):
            conversation.feed(msgspec.json.encode(wrong).decode())
        conversation.outcome(EXIT_0)


# How it fails


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("overloaded", Kind.OVERLOADED),
        ("connection_refused", Kind.NETWORK),
        ("garbage", Kind.PROTOCOL),
        ("usage_limit", Kind.QUOTA),
        ("prompt_too_long", Kind.CONTEXT_LENGTH),
        ("too_large", Kind.INPUT_TOO_LARGE),
        ("no_such_model", Kind.MODEL_NOT_FOUND),
        ("model_refuses", Kind.REFUSED),
        ("unknown_session", Kind.SESSION_NOT_FOUND),
        ("max_turns", Kind.OTHER),
        ("budget", Kind.OTHER),
    ],
)
def test_a_failure_has_its_kind(name, kind):
    told = Heard(name).outcome()
    assert (told.ok, told.failure_kind) == (False, kind)


def test_success_with_an_error_is_a_failure():
    last = json.loads(Heard("401").lines[-1])
    assert (last["subtype"], last["is_error"]) == ("success", True)
    told = Heard("401").outcome(EXIT_0)
    assert (told.ok, told.error) == (False, "Failed to authenticate. API Error: 401 scripted 401")
    assert told.text == ""


@pytest.mark.parametrize(
    ("name", "limit"),
    [("max_turns", "Reached maximum number of turns (2)"), ("budget", "Reached maximum budget ($0.01)")],
)
def test_reached_limits_are_named_with_what_to_do(name, limit):
    told = Heard(name).outcome()
    assert told.error == f"{limit}: it is not done; allow it more, or go on with its session"
    assert told.session_id is not None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Invalid API key · Fix external API key", Kind.AUTH),
        ("Not logged in · Please run /login", Kind.AUTH),
        ("OAuth token has expired. Please obtain a new token or refresh your existing token.", Kind.AUTH),
        ("OAuth token revoked · Please run /login", Kind.AUTH),
        ("Claude AI usage limit reached|1794747125", Kind.QUOTA),
        ("5-hour limit reached ∙ resets 3pm", Kind.QUOTA),
        ("You've hit your weekly limit · resets Oct 9", Kind.QUOTA),
        ("Credit balance is too low", Kind.QUOTA),
        ("API Error: 401 no such key", Kind.AUTH),
        ("API Error: 529 Overloaded", Kind.OVERLOADED),
        ("API Error: Repeated 529 Overloaded errors", Kind.OVERLOADED),
        ("Prompt is too long", Kind.CONTEXT_LENGTH),
        ("API Error: Unable to connect to API (ENOTFOUND)", Kind.NETWORK),
        ("API Error: Connection error.", Kind.NETWORK),
        ("Request timed out", Kind.TIMEOUT),
        ("this workspace has not been trusted", Kind.UNTRUSTED_DIRECTORY),
        ("something that nobody has seen before", Kind.OTHER),
    ],
)
def test_words_tell_the_kind_where_no_field_does(words, kind):
    assert failed(words).failure_kind is kind


def test_fields_are_believed_before_words():
    assert failed("rate limit while you run /login", api_error_status=529).failure_kind is Kind.OVERLOADED


def test_a_used_up_plan_is_not_a_passing_rate_limit():
    assert failed("Claude usage limit reached", api_error_status=429).failure_kind is Kind.QUOTA


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons", Kind.OTHER),
        ("error: unknown option '--setting-sources'", Kind.PROTOCOL),
        ("No conversation found with session ID: 99999999-2222-4333-8444-555555555555", Kind.SESSION_NOT_FOUND),
        ("Invalid API key · Please run /login", Kind.AUTH),
        ('Error: --resume requires a valid session ID or session title. "x" is not a UUID', Kind.SESSION_NOT_FOUND),
    ],
)
def test_a_program_that_only_complains_is_heard(stderr, kind):
    said = Output(stderr.encode(), len(stderr.encode()))
    told = ClaudeConversation(HarnessRequest(prompt="do it")).outcome(structs.replace(EXIT_1, stderr=said))
    assert (told.ok, told.failure_kind, told.error) == (False, kind, stderr)


def test_the_words_of_a_stream_that_broke_off_are_not_taken_for_its_failure():
    line = record(type="assistant", message={"content": [{"type": "text", "text": "rate limit, please run /login"}]})
    said = Output(line.encode(), len(line))
    told = ClaudeConversation(HarnessRequest(prompt="do it")).outcome(structs.replace(EXIT_1, stdout=said))
    assert (told.failure_kind, told.error) == (Kind.PROTOCOL, "")


def test_a_line_that_is_only_half_kept_is_none_of_its_last_words():
    line = record(type="assistant", message={"content": [{"type": "text", "text": "rate limit, run /login " * 500}]})
    said = Output(line.encode(), len(line))
    told = ClaudeConversation(HarnessRequest(prompt="do it")).outcome(structs.replace(EXIT_1, stdout=said))
    assert (told.failure_kind, told.error) == (Kind.PROTOCOL, "")


def test_retries_are_told():
    retries = Heard("retries")[Retried]
    assert [(retry.attempt, retry.message) for retry in retries] == [(n, "429 rate_limit") for n in (1, 2, 3)]


def test_a_conversation_that_was_not_found_names_no_session():
    assert Heard("unknown_session").outcome().session_id is None


# What was denied


@pytest.mark.parametrize("name", ["denied_by_mode", "denied_by_hook"])
def test_what_was_denied_is_told_although_the_run_succeeds(name):
    heard = Heard(name)
    told = heard.outcome(EXIT_0)
    assert (told.ok, told.text, told.denied) == (True, "DONE", ["Bash(echo hi > x.txt)"])
    assert heard[ToolResult][0].ok is False


# What it used


def test_only_the_results_know_the_output_of_calls_that_are_not_streamed():
    heard = Heard("ok")
    first, second, rest = heard.reported
    assert first == second
    assert first == Usage(
        input_tokens=1000, output_tokens=1, cache_read_tokens=200, cache_write_tokens=30, incomplete=True
    )
    assert rest == Usage(input_tokens=0, output_tokens=98, cost_usd=0.007845, cache_read_tokens=0, cache_write_tokens=0)
    assert heard.outcome().usage == Usage(
        input_tokens=2000, output_tokens=100, cost_usd=0.007845, cache_read_tokens=400, cache_write_tokens=60
    )


def test_streamed_calls_are_told_exactly_while_it_runs_and_once_each():
    heard = Heard("talk")
    per_call = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=200, cache_write_tokens=0)
    assert heard.reported == [per_call, structs.replace(per_call, cost_usd=0.00762)]


@pytest.mark.parametrize(
    "name", ["ok", "talk", "gate", "resume", "subagent", "subagent_background", "max_turns", "empty"]
)
def test_reports_add_up_to_the_total(name):
    heard = Heard(name)
    total = Usage.total(heard.reported)
    assert structs.replace(total, incomplete=False, cost_usd=round(total.cost_usd, 9)) == structs.replace(
        heard.outcome().usage, cost_usd=round(heard.outcome().usage.cost_usd, 9)
    )


def test_a_resumed_run_counts_only_itself_although_the_program_tells_the_cost_of_the_whole_session():
    last = json.loads(Heard("resume").lines[-1])
    assert last["total_cost_usd"] == 0.01569
    used = Heard("resume", resume="a-session").outcome().usage
    assert (used.input_tokens, used.cost_usd) == (2000, 0.007845)


def test_the_cost_of_a_resumed_run_is_unknown_where_only_the_sessions_is_told():
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 7},
    }
    resumed = ClaudeConversation(HarnessRequest(prompt="do it", resume="a-session"))
    resumed.feed(record(**result))
    assert resumed.outcome(EXIT_0).usage == Usage(input_tokens=7)
    fresh = ClaudeConversation(HarnessRequest(prompt="do it"))
    fresh.feed(record(**result))
    assert fresh.outcome(EXIT_0).usage == Usage(input_tokens=7, cost_usd=0.5)


def test_subagents_are_counted_which_its_own_sum_leaves_out():
    heard = Heard("subagent")
    last = json.loads(next(line for line in heard.lines if '"type":"result"' in line))
    assert last["usage"]["input_tokens"] == 2000
    assert heard.outcome().usage.input_tokens == 4000


def test_a_run_that_was_cut_off_knows_a_part_of_what_it_used_and_no_cost():
    used = Heard("interrupted").outcome().usage
    assert (used.input_tokens, used.cost_usd, used.incomplete) == (1000, None, True)


def test_a_run_that_was_cut_off_after_a_result_does_not_take_it_for_the_total():
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    for line in (RECORDED / "subagent_background.jsonl").read_text().splitlines()[:-2]:
        conversation.feed(line)
    used = conversation.outcome(EXIT_1).usage
    assert (used.input_tokens, used.incomplete) == (4000, True)


# When it is over


def test_a_result_is_not_the_last_word_while_a_subagent_works():
    heard = Heard("subagent_background")
    results = [number for number, line in enumerate(heard.lines) if '"type":"result"' in line]
    assert len(results) == 2
    assert heard.over_after == len(heard.lines) - 1 > results[1]


def test_a_result_is_the_last_word_where_the_program_tells_no_state():
    heard = Heard("ok")
    assert heard.over_after == len(heard.lines) - 1


def test_a_program_that_is_done_is_told_to_leave_once():
    heard = Heard("talk")
    heard.said += heard.conversation.feed(heard.lines[-1])
    assert [say["request"]["subtype"] for say in heard.written if say["type"] == "control_request"] == ["end_session"]


# What is said to it


def invoked(asks: bool = False, **request):
    return ClaudeCode().invoke(HarnessRequest(prompt="do it", **request), asks=asks)


def begun(invocation) -> dict:
    return json.loads(invocation.stdin)["request"]


def test_the_prompt_follows_the_answer_to_the_beginning_and_is_taken_as_written():
    [prompt, _] = Heard("talk").written
    assert prompt["message"] == {"role": "user", "content": "do it"}
    assert prompt["client_composed"] is True


def test_no_prompt_is_on_the_command_line():
    invocation = invoked(system="be brief", model="opus")
    assert invocation.converses
    assert not any("do it" in word or "be brief" in word for word in invocation.argv)
    assert begun(invocation)["appendSystemPrompt"] == "be brief"


def test_text_that_cannot_be_encoded_does_not_stop_a_run():
    conversation = ClaudeConversation(HarnessRequest(prompt="a\udcffb"))
    [say] = conversation.feed(Heard("talk").lines[0])
    assert json.loads(say.data)["message"]["content"] == "a?b"


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({"model": "opus"}, "--model=opus"),
        ({"resume": "--help"}, "--resume=--help"),
        ({"turns": 3}, "--max-turns=3"),
        ({"budget_usd": 0.5}, "--max-budget-usd=0.5"),
        ({"mode": Mode.READ_ONLY}, "--permission-mode=default"),
        ({"mode": Mode.EDIT}, "--permission-mode=acceptEdits"),
        ({"mode": Mode.FULL}, "--permission-mode=bypassPermissions"),
        ({}, "--strict-mcp-config"),
        ({}, "--setting-sources="),
    ],
)
def test_a_request_becomes_words(request_, word):
    assert word in invoked(**request_).argv


def test_the_users_own_configuration_is_read_where_that_is_wanted_and_the_projects_never():
    argv = ClaudeCode(user_config=True).invoke(HarnessRequest(prompt="do it"), asks=False).argv
    assert "--setting-sources=user" in argv
    assert "--strict-mcp-config" not in argv


def test_its_surroundings_are_quiet_and_its_retries_bounded():
    env = invoked().env
    assert env["IS_SANDBOX"] == env["DISABLE_AUTOUPDATER"] == env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert int(env["CLAUDE_CODE_MAX_RETRIES"]) < 5


def test_a_new_system_prompt_for_an_old_conversation_is_not_to_be_ignored():
    assert begun(invoked(system="be brief", resume="a-session"))["systemPromptSnapshot"] is False
    assert "systemPromptSnapshot" not in begun(invoked(system="be brief"))


def test_it_is_stopped_by_its_own_protocol():
    told = [json.loads(line) for line in ClaudeConversation(HarnessRequest(prompt="do it")).cancel().splitlines()]
    assert [line["request"]["subtype"] for line in told] == ["interrupt", "end_session"]


# Asking


def test_a_callback_is_asked_for_that_blocks_what_it_does_not_answer():
    [hook] = begun(invoked(asks=True))["hooks"]["PreToolUse"]
    assert (hook["matcher"], hook["onFailure"]) == (None, "block")
    assert "hooks" not in begun(invoked(asks=False))


def test_what_holds_commands_that_nobody_would_be_asked_for_is_off():
    assert "--disable-slash-commands" in invoked(asks=True).argv
    assert "--disable-slash-commands" not in invoked(asks=False).argv


def test_every_call_is_asked_for_by_the_id_of_the_call():
    heard = Heard("gate")
    assert [ask.id for ask in heard[Ask]] == [call.id for call in heard[ToolCall]]
    assert heard[Ask][1].action == Action("Bash", {"command": "rm -rf keep", "description": "a step of the script"})
    assert heard.outcome(EXIT_0).denied == ["Bash(rm -rf keep)"]


def test_a_refusal_is_told_with_its_reason_and_a_permission_leaves_it_to_the_mode():
    heard = Heard("gate")
    requests = [json.loads(line)["request_id"] for line in heard.lines if '"hook_callback"' in line]
    allowed, denied = heard[Ask]
    yes = json.loads(heard.conversation.answer(allowed, Decision(allowed=True)))["response"]
    no = json.loads(heard.conversation.answer(denied, Decision(allowed=False, reason="keep it")))["response"]
    assert [yes["request_id"], no["request_id"]] == requests
    assert yes["response"] == {}
    assert no["response"]["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "keep it",
    }


@pytest.mark.parametrize(
    "told", [{}, {"hooks_applied": True}, {"hooks_applied": False, "hook_on_failure_supported": True}]
)
def test_a_program_that_does_not_promise_to_ask_is_given_nothing_to_do(told):
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    id_ = json.loads(invoked(asks=True).stdin)["request_id"]
    response = {"subtype": "success", "request_id": id_, "response": told}
    said = conversation.feed(record(type="control_response", response=response))
    assert conversation.is_over
    assert [json.loads(say.data)["type"] for say in said] == ["control_request"]
    assert conversation.outcome(EXIT_0).failure_kind is Kind.PROTOCOL


def test_a_program_that_need_not_ask_is_not_held_to_it():
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    id_ = json.loads(invoked().stdin)["request_id"]
    response = {"subtype": "success", "request_id": id_, "response": {}}
    [say] = conversation.feed(record(type="control_response", response=response))
    assert json.loads(say.data)["type"] == "user"


def test_a_question_that_is_not_understood_is_not_left_without_an_answer():
    conversation = ClaudeConversation(HarnessRequest(prompt="do it"))
    request = {"subtype": "elicitation", "message": "?"}
    [say] = conversation.feed(record(type="control_request", request_id="r1", request=request))
    told = json.loads(say.data)["response"]
    assert (told["subtype"], told["request_id"]) == ("error", "r1")
