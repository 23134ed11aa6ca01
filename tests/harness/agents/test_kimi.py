"""Kimi Code, on output that it once gave."""

from __future__ import annotations

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import Message, Retried, SessionNamed, ToolCall, ToolKind, ToolResult
from trueup.harness.agents import SystemPrompt
from trueup.harness.agents._kimi import Kimi

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}
SESSION = "session_ecd5bc64-c358-4492-8191-f086e5f04cc5"


def test_a_run_is_told_and_its_tokens_are_not():
    events, outcome = heard("kimi-code", "ok")
    assert events == [
        Message("Running a command."),
        ToolCall(
            "Bash",
            "call_5134c348231f4b9ba21e",
            ToolKind.SHELL,
            {"command": "echo hi > m3a5bb4.txt", "description": "scripted step"},
        ),
        ToolResult("call_5134c348231f4b9ba21e", None, "Command executed successfully."),
        Message("DONE"),
        SessionNamed(SESSION),
    ]
    assert outcome.usage == Usage(incomplete=True)
    assert (outcome.version, outcome.session_id) == ("2.1.0", SESSION)


def test_a_session_goes_on_under_its_id():
    _, outcome = heard("kimi-code", "resume", resume=SESSION)
    assert (outcome.ok, outcome.session_id) == (True, SESSION)
    assert f"--session={SESSION}" in Kimi().invoke(request(resume=SESSION), asks=False).argv


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ("provider.auth_error: 401 scripted 401", Kind.AUTH, "401 scripted 401"),
        ("provider.rate_limit: 429 scripted", Kind.RATE_LIMIT, "429 scripted"),
        ("provider.rate_limit: 429 exceeded your current quota", Kind.QUOTA, "429 exceeded your current quota"),
        ("provider.not_found: 404 no model", Kind.MODEL_NOT_FOUND, "404 no model"),
        ("provider.api_error: 500 scripted", Kind.OVERLOADED, "500 scripted"),
        ("provider.connection_error: Connection error.", Kind.NETWORK, "Connection error."),
        (
            'Session "session_9" was created under a different directory.',
            Kind.SESSION_NOT_FOUND,
            'Session "session_9" was created under a different directory.',
        ),
        ('Session "session_9" not found.', Kind.SESSION_NOT_FOUND, 'Session "session_9" not found.'),
    ],
)
def test_why_it_failed_is_on_stderr_alone(said, kind, told):
    stderr = f"error: failed to run prompt: {said}\nSee log: /home/user/.kimi-code/logs/kimi-code.log\n"
    _, outcome = heard("kimi-code", "401", exit_code=1, stderr=stderr)
    assert (outcome.ok, outcome.failure_kind, outcome.error) == (False, kind, told)


def test_a_run_that_says_how_to_go_on_and_ends_badly_is_not_ok():
    conversation = listening("kimi-code")
    for line in lines_of("kimi-code", "ok"):
        conversation.feed(line)
    assert not conversation.outcome(ended(exit_code=1)).ok


@pytest.mark.parametrize(("name", "times"), [("429", 9), ("500", 8), ("refused", 8), ("garbage", 7)])
def test_each_time_that_it_tries_again_is_told(name, times):
    events, outcome = heard("kimi-code", name, exit_code=None)
    assert [event.attempt for event in of_kind(events, Retried)] == list(range(1, times + 1))
    assert not outcome.ok


def test_a_vendor_is_named_by_variables():
    put = Kimi().invoke(request(env=HERE, model="some-model"), asks=False)
    assert put.env["KIMI_MODEL_NAME"] == "some-model"
    assert (put.env["KIMI_MODEL_BASE_URL"], put.env["KIMI_MODEL_API_KEY"]) == (HERE["OPENAI_BASE_URL"], "a-real-key")
    assert "--model=some-model" not in put.argv, "that would be a name of its own settings"


def test_a_system_prompt_is_a_file_in_the_place_of_its_own_when_a_session_begins():
    assert Kimi.capabilities.system_prompt is SystemPrompt.REPLACES
    put = Kimi().invoke(request(system="be brief"), asks=False)
    assert put.env["TRUEUP_FILE_0"].endswith("---\nbe brief")
    assert '"--agent-file"' not in put.argv[2]
    assert '"$folder/agent.md"' in put.argv[2]


def test_a_system_prompt_is_told_before_the_prompt_when_a_session_goes_on():
    put = Kimi().invoke(request(system="be brief", resume=SESSION), asks=False)
    assert put.argv[-1] == "--prompt=be brief\n\ndo it"


def test_a_prompt_that_is_too_long_for_a_word_is_refused():
    with pytest.raises(InputError, match="the prompt is larger than 64 KiB") as refused:
        Kimi().invoke(request(prompt="x" * 70_000), asks=False)
    assert refused.value.kind is Kind.INPUT_TOO_LARGE
