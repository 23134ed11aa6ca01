"""gemini-cli, on what it once printed, and what must be known about it."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.process import Command, run
from trueup.core.usage import Usage
from trueup.harness import Message, Mode, ToolCall, ToolKind, UsageReported
from trueup.harness.agents._gemini import MOST_ATTEMPTS, MOST_PROMPT, Gemini

SESSION = "cdf58678-c05d-4698-9d0e-be0771819742"
SHOW = "cat $GEMINI_CLI_SYSTEM_SETTINGS_PATH; echo; cat ${GEMINI_SYSTEM_MD:-/dev/null}; echo; cat"


async def seen_by_its_program(**asked) -> list[str]:
    """Its settings, its system prompt and its prompt, as the program finds them."""
    put = Gemini("/bin/sh").invoke(request(**asked), asks=False)
    # In place of gemini's words, a script that shows what gemini would read.
    argv = (*put.argv[: put.argv.index("/bin/sh", 1) + 1], "-c", SHOW)
    finished = await run(Command(argv=argv, env={"PATH": "/usr/bin:/bin", **put.env}, stdin=put.stdin, timeout_secs=10))
    assert finished.exit_code == 0, finished.stderr.text
    return finished.stdout.text.split("\n", 2)


@pytest.mark.parametrize("recording", ["ok", "resume"])
def test_what_it_used_is_of_the_run_also_in_a_session_that_goes_on(recording):
    events, outcome = heard("gemini", recording, resume=SESSION if recording == "resume" else None)
    assert outcome.usage == Usage(2400, 100, cache_read_tokens=400)
    assert (outcome.ok, outcome.session_id) == (True, SESSION)
    assert of_kind(events, UsageReported) == [UsageReported(outcome.usage)]
    assert [each.text for each in of_kind(events, Message)] == ["Running a command.", "DONE"], "not the user's"


def test_a_tool_that_writes_is_told_as_one():
    events, _ = heard("gemini", "write")
    assert of_kind(events, ToolCall)[0].tool_kind in {ToolKind.WRITE, ToolKind.SHELL}


def test_an_answer_in_pieces_is_one_and_what_came_before_a_tool_is_another():
    conversation = listening("gemini")
    for piece in ("one ", "two"):
        conversation.feed(json.dumps({"type": "message", "role": "assistant", "content": piece, "delta": True}))
    conversation.feed('{"type":"result","status":"success"}')
    outcome = conversation.outcome(ended())
    assert (outcome.text, outcome.usage) == ("one two", Usage(incomplete=True))


@pytest.mark.parametrize(
    ("recording", "exit_code", "kind"),
    [
        # Its exit code is the status of HTTP, cut to a byte.
        ("401", 145, Kind.AUTH),
        ("garbage", 1, Kind.PROTOCOL),
        # It was still trying, and had said nothing of it, when it was ended.
        ("429", None, Kind.PROTOCOL),
        ("500", None, Kind.PROTOCOL),
        ("refused", None, Kind.PROTOCOL),
    ],
)
def test_a_failure_has_its_kind(recording, exit_code, kind):
    _, outcome = heard("gemini", recording, exit_code=exit_code)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ('Error resuming session: Invalid session identifier "x".', Kind.SESSION_NOT_FOUND),
        ("Please set an Auth method in your settings.json: GEMINI_API_KEY, not logged in", Kind.AUTH),
    ],
)
def test_what_it_only_says_aside_has_a_kind_too(stderr, kind):
    outcome = listening("gemini", resume=SESSION)
    found = outcome.outcome(ended(42, stderr))
    assert (found.ok, found.failure_kind) == (False, kind)
    assert (found.session_id is None) is (kind is Kind.SESSION_NOT_FOUND), "a session that is gone is not named again"


async def test_its_settings_come_in_a_file_that_goes_before_all_others():
    settings, _, prompt = await seen_by_its_program(prompt="do it", env={"GEMINI_API_KEY": "dummy"})
    told = json.loads(settings)
    assert told["general"]["maxAttempts"] == MOST_ATTEMPTS, "else it tries for minutes and says nothing"
    assert told["security"]["auth"]["selectedType"] == "gemini-api-key"
    assert told["hooksConfig"]["enabled"] is False
    assert (prompt, "dummy" in settings) == ("do it", False)


async def test_a_system_prompt_of_any_size_comes_in_a_file():
    system = "be terse " * 20_000
    _, said, prompt = await seen_by_its_program(system=system.strip(), prompt="p" * 200_000)
    assert (said, prompt) == (system.strip(), "p" * 200_000)


async def test_nothing_is_left_of_its_files(tmp_path):
    put = Gemini("true").invoke(request(system="secret"), asks=False)
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), **put.env}
    finished = await run(Command(argv=put.argv, env=env, stdin=put.stdin, timeout_secs=10))
    assert (finished.exit_code, list(tmp_path.iterdir())) == (0, [])


def test_a_prompt_of_which_it_would_read_the_beginning_is_refused():
    with pytest.raises(InputError, match="at most 8 MiB") as error:
        Gemini().invoke(request(prompt="x" * (MOST_PROMPT + 1)), asks=False)
    assert error.value.kind is Kind.INPUT_TOO_LARGE


def test_a_mode_is_its_approval_mode():
    for mode, word in ((Mode.READ_ONLY, "plan"), (Mode.EDIT, "auto_edit"), (Mode.FULL, "yolo")):
        assert f"--approval-mode={word}" in Gemini().invoke(request(mode=mode), asks=False).argv


def test_what_the_user_configured_is_off_unless_it_is_wanted():
    minimal = Gemini().invoke(request(), asks=False)
    own = Gemini(user_config=True).invoke(request(), asks=False)
    assert "--extensions=none" in minimal.argv
    assert "--extensions=none" not in own.argv
    assert b"hooksConfig" not in own.stdin
