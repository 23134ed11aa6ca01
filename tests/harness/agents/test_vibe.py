"""Vibe, on output that it once gave, and on the file that it wrote."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Message, Mode, SessionNamed, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.harness.agents._vibe import KEY, Vibe

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}


def test_a_run_is_told_by_its_lines_and_how_it_went_by_its_file():
    events, outcome = heard("vibe", "ok")
    assert [type(event) for event in events] == [SessionNamed, ToolCall, ToolResult, Message, UsageReported]
    assert (events[1].name, events[1].tool_kind) == ("file_system.bash", ToolKind.SHELL)
    assert events[1].input == {"command": "echo hi > m1.txt"}
    assert (outcome.ok, outcome.text, outcome.version) == (True, "DONE", "3.0.3")
    assert outcome.usage == Usage(input_tokens=2400, output_tokens=100, cache_read_tokens=400)


def test_a_resumed_run_counts_itself_alone():
    session = heard("vibe", "ok")[1].session_id
    _, outcome = heard("vibe", "resume", resume=session)
    assert (outcome.ok, outcome.session_id, outcome.usage.input_tokens) == (True, session, 1200)


def test_a_run_without_its_file_is_not_ok_although_it_answered():
    conversation = listening("vibe")
    for line in lines_of("vibe", "ok"):
        if line.startswith('{"'):
            conversation.feed(line)
    assert conversation.text == "DONE"
    assert not conversation.outcome(ended(exit_code=0)).ok


def test_a_file_that_is_made_is_a_tool_that_writes():
    events, _ = heard("vibe", "write")
    [call] = of_kind(events, ToolCall)
    assert (call.name, call.tool_kind, call.input["content"]) == ("file_system.write_file", ToolKind.WRITE, "hello")


def test_what_the_mode_does_not_allow_is_counted():
    events, outcome = heard("vibe", "denied", mode=Mode.READ_ONLY)
    assert (outcome.ok, outcome.denied) == (True, ["file_system.bash"])
    assert of_kind(events, ToolResult)[0].ok is False


def test_why_it_failed_is_in_its_file_by_a_code():
    _, outcome = heard("vibe", "401", exit_code=1)
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.AUTH)
    assert outcome.error.startswith("Invalid API key")


def test_a_session_that_is_not_there():
    _, outcome = heard("vibe", "no_session", resume="99999999-2222-4333-8444-555555555555")
    assert (outcome.failure_kind, outcome.session_id) == (Kind.SESSION_NOT_FOUND, None)


def test_one_that_stopped_at_its_limit_is_not_done():
    _, outcome = heard("vibe", "limit", turns=1)
    assert not outcome.ok
    assert outcome.error.startswith("it stopped at its limit (turn_limit): it is not done")


@pytest.mark.parametrize("name", ["429", "500", "refused"])
def test_one_that_tries_again_for_minutes_says_nothing_and_is_not_ok(name):
    events, outcome = heard("vibe", name, exit_code=None)
    assert [type(event) for event in events] == [SessionNamed]
    assert (outcome.ok, outcome.usage) == (False, Usage(incomplete=True))


def test_an_answer_that_nobody_can_read_is_not_ok():
    _, outcome = heard("vibe", "garbage", exit_code=2)
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.PROTOCOL)


def test_dollars_are_told_where_it_knows_a_price():
    conversation = listening("vibe")
    export = {"outcome": "finished", "usage": {"input_tokens": 10, "output_tokens": 5}, "cost_usd": 0.25}
    [reported] = conversation.hear_file(json.dumps(export))
    assert reported.usage.cost_usd == 0.25


def test_limits_are_its_own():
    argv = Vibe().invoke(request(turns=3, budget_usd=0.5), asks=False).argv
    assert {"--max-turns=3", "--max-price=0.5"} <= set(argv)


def test_a_vendor_is_named_by_variables_without_its_key():
    put = Vibe().invoke(request(env=HERE, model="some-model"), asks=False)
    [provider] = json.loads(put.env["VIBE_PROVIDERS"])
    assert (provider["api_base"], provider["api_key_env_var"]) == ("http://127.0.0.1:4000/v1", KEY)
    assert put.env[KEY] == "a-real-key"
    assert json.loads(put.env["VIBE_MODELS"])[0]["name"] == "some-model"


def test_mistral_itself_needs_no_description():
    put = Vibe().invoke(request(env={"MISTRAL_API_KEY": "a-real-key"}, model="devstral"), asks=False)
    assert put.env == {"VIBE_ACTIVE_MODEL": "devstral"}


def test_a_session_is_known_to_belong_to_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".vibe" / "logs" / "session" / "unified" / "0c46b220" / "meta.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"session_id": "0c46b220", "origin_directory": "/home/ada/here"}, indent=2))
    assert Vibe().began_in("0c46b220", {"HOME": str(tmp_path)}) == "/home/ada/here"
    assert Vibe().began_in("another", {"HOME": str(tmp_path)}) is None
