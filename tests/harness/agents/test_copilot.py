"""Copilot, on output that it once gave, and on the file that it wrote."""

from __future__ import annotations

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import Message, Mode, Retried, SessionNamed, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.harness.agents._copilot import Copilot

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}
TWO_CALLS = Usage(input_tokens=2400, output_tokens=100, cache_read_tokens=400, cache_write_tokens=0)


def test_a_run_is_told_and_its_tokens_come_from_the_file():
    events, outcome = heard("copilot", "ok")
    assert [type(event) for event in events] == [ToolCall, ToolResult, Message, SessionNamed, UsageReported]
    assert (events[0].tool_kind, events[0].input["command"]) == (ToolKind.SHELL, "echo hi > m1.txt")
    assert (events[1].id, events[1].ok) == (events[0].id, True)
    assert (outcome.ok, outcome.text, outcome.usage) == (True, "DONE", TWO_CALLS)


def test_after_a_resume_the_file_counts_the_whole_session_so_the_run_is_not_known():
    session = heard("copilot", "ok")[1].session_id
    assert any('"inputTokens": 3600' in line for line in lines_of("copilot", "resume")), (
        "2400 of it are the first run's"
    )
    events, outcome = heard("copilot", "resume", resume=session)
    assert (outcome.ok, outcome.session_id, outcome.usage) == (True, session, Usage(incomplete=True))
    assert of_kind(events, UsageReported) == []


def test_without_the_file_nothing_is_known_of_what_was_used():
    lines = [line for line in lines_of("copilot", "ok") if line.startswith('{"')]
    conversation = listening("copilot")
    for line in lines:
        conversation.feed(line)
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.usage) == (True, Usage(incomplete=True))


def test_a_file_that_is_made_is_a_tool_that_writes():
    events, _ = heard("copilot", "write")
    [call] = of_kind(events, ToolCall)
    assert (call.name, call.tool_kind, call.input["file_text"]) == ("create", ToolKind.WRITE, "hello")


def test_what_the_mode_does_not_allow_is_counted():
    events, outcome = heard("copilot", "denied", mode=Mode.READ_ONLY)
    assert (outcome.ok, outcome.denied) == (True, ["bash"])
    assert of_kind(events, ToolResult)[0].ok is False


@pytest.mark.parametrize(
    ("name", "kind", "told", "retries"),
    [
        ("401", Kind.AUTH, "Authentication failed with provider", 2),
        ("429", Kind.RATE_LIMIT, "Failed to get response from the AI model; retried 5 times", 5),
        ("500", Kind.OVERLOADED, "Failed to get response from the AI model; retried 5 times", 5),
        ("refused", Kind.NETWORK, "Could not connect to local model provider", 5),
        ("garbage", Kind.PROTOCOL, "Failed to get response from the AI model; retried 5 times", 5),
    ],
)
def test_why_it_failed_is_in_a_record(name, kind, told, retries):
    events, outcome = heard("copilot", name, exit_code=1)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)
    assert outcome.error.startswith(told)
    assert len(of_kind(events, Retried)) == retries
    assert outcome.usage.incomplete


def test_a_session_that_is_not_there_is_told_on_stderr_alone():
    stderr = "Error: No session, task, or name matched '9'.\nTo resume by session or task ID:  copilot --resume=<id>\n"
    outcome = listening("copilot", resume="9").outcome(ended(1, stderr))
    assert (outcome.failure_kind, outcome.session_id) == (Kind.SESSION_NOT_FOUND, None)


def test_a_result_with_another_exit_code_is_no_success():
    conversation = listening("copilot")
    conversation.feed('{"type":"result","sessionId":"s","exitCode":1}')
    assert not conversation.outcome(ended()).ok


def test_a_vendor_is_named_by_variables_and_nobody_else_is_asked():
    put = Copilot().invoke(request(env=HERE, model="some-model"), asks=False)
    assert put.env == {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:4000/v1",
        "COPILOT_PROVIDER_API_KEY": "a-real-key",
    }


def test_a_key_alone_leaves_it_to_the_persons_own_copilot():
    assert Copilot().invoke(request(env={"OPENAI_API_KEY": "for-something-else"}), asks=False).env == {}


def test_a_key_that_it_would_blot_out_of_its_own_words_is_refused():
    with pytest.raises(InputError, match="blots"):
        Copilot().invoke(request(env={**HERE, "OPENAI_API_KEY": "x"}, model="some-model"), asks=False)


def test_a_system_prompt_is_a_file_of_a_folder_that_it_looks_into():
    put = Copilot().invoke(request(system="be brief"), asks=False)
    assert put.env == {"TRUEUP_FILE_0": '---\napplyTo: "**"\n---\nbe brief'}
    assert '>"$folder/.github/instructions/trueup.instructions.md"' in put.argv[2]
    assert 'export COPILOT_CUSTOM_INSTRUCTIONS_DIRS="$folder"' in put.argv[2]


def test_a_session_is_known_to_belong_to_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".copilot" / "session-state" / "0c46b220" / "events.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"type":"session.start","data":{"context":{"cwd":"/home/ada/here"}}}\n{"type":"x"}\n')
    assert Copilot().began_in("0c46b220", {"HOME": str(tmp_path)}) == "/home/ada/here"
    assert Copilot().began_in("0c46b220", {"COPILOT_HOME": str(tmp_path / ".copilot")}) == "/home/ada/here"
    assert Copilot().began_in("../0c46b220", {"HOME": str(tmp_path)}) is None
    file.write_text("not JSON")
    assert Copilot().began_in("0c46b220", {"HOME": str(tmp_path)}) is None
