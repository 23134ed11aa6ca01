"""opencode, on what it once printed, and what must be known about it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.process import Command, run
from trueup.core.usage import Usage
from trueup.harness import Mode, SessionNamed, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.harness.agents._opencode import MOST_EMPTY_STEPS, OpenCode

SESSION = "ses_e21ea6c7effeXwujzn0dk3kxNc"
PROXY = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/openai/v1", "OPENAI_API_KEY": "dummy"}


def configuration(**asked) -> dict:
    put = OpenCode().invoke(request(**asked), asks=False)
    return json.loads(put.env["OPENCODE_CONFIG_CONTENT"])


@pytest.mark.parametrize("recording", ["ok", "resume"])
def test_each_step_counts_also_in_a_session_that_goes_on(recording):
    resume = SESSION if recording == "resume" else None
    events, outcome = heard("opencode", recording, resume=resume)
    assert outcome.usage == Usage(2400, 100, 0.00762, cache_read_tokens=400, cache_write_tokens=0)
    assert (outcome.ok, outcome.session_id) == (True, SESSION)
    assert len(of_kind(events, UsageReported)) == 2
    assert events[0] == SessionNamed(SESSION)
    assert of_kind(events, ToolCall)[0].tool_kind is ToolKind.SHELL
    assert of_kind(events, ToolResult)[0].duration_secs == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    ("recording", "kind"), [("401", Kind.AUTH), ("429", Kind.RATE_LIMIT), ("refused", Kind.NETWORK)]
)
def test_a_failure_has_its_kind(recording, kind):
    _, outcome = heard("opencode", recording, exit_code=1)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)


def test_a_spent_quota_is_told_by_the_code_of_the_answer_and_not_by_its_status():
    line = lines_of("opencode", "429")[0].replace("rate_limit_exceeded", "insufficient_quota")
    conversation = listening("opencode")
    conversation.feed(line)
    assert conversation.outcome(ended(1)).failure_kind is Kind.QUOTA


def test_answers_that_cannot_be_read_end_the_run_instead_of_being_asked_for_ever():
    conversation = listening("opencode")
    lines = lines_of("opencode", "garbage")
    for line in lines[: 2 * MOST_EMPTY_STEPS - 2]:
        conversation.feed(line)
    assert not conversation.is_over
    for line in lines:
        conversation.feed(line)
    assert conversation.is_over
    outcome = conversation.outcome(ended(None))
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.PROTOCOL)


def test_a_step_that_was_cut_off_is_no_success():
    conversation = listening("opencode")
    for line in lines_of("opencode", "ok"):
        conversation.feed(line.replace('"reason":"stop"', '"reason":"length"'))
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.CONTEXT_LENGTH)


def test_the_dollars_of_a_model_without_a_price_are_unknown_and_not_none():
    conversation = listening("opencode")
    for line in lines_of("opencode", "ok"):
        conversation.feed(line.replace('"cost":0.00381', '"cost":0'))
    assert conversation.outcome(ended()).usage.cost_usd is None


def test_a_command_that_failed_is_told_as_one():
    conversation = listening("opencode")
    line = next(line for line in lines_of("opencode", "ok") if '"tool_use"' in line)
    (_, _, result) = conversation.feed(line.replace('"exit":0', '"exit":2'))
    assert result.ok is False


def test_a_mode_is_what_it_may_do_and_nobody_is_asked():
    looking = configuration(mode=Mode.READ_ONLY)["permission"]
    assert (looking["*"], looking["read"], looking.get("edit")) == ("deny", "allow", None)
    editing = configuration(mode=Mode.EDIT)["permission"]
    assert (editing["*"], editing["edit"], editing.get("bash")) == ("deny", "allow", None)
    assert next(iter(looking)) == "*", "the last rule that fits counts"
    assert "--auto" not in OpenCode().invoke(request(mode=Mode.EDIT), asks=False).argv


def test_the_key_is_only_in_its_variable_where_tools_can_read_no_more_than_the_proxys():
    told = configuration(env=PROXY, model="gpt-5")
    assert told["provider"]["openai"]["options"] == {"baseURL": PROXY["OPENAI_BASE_URL"]}
    assert (told["model"], told["enabled_providers"]) == ("openai/gpt-5", ["openai"])
    assert "dummy" not in json.dumps(told)


def test_a_system_prompt_that_is_too_long_for_a_variable_is_refused():
    with pytest.raises(InputError, match="64 KiB") as error:
        OpenCode().invoke(request(system="x" * 70_000), asks=False)
    assert error.value.kind is Kind.INPUT_TOO_LARGE


def test_a_session_is_known_by_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".local/share/opencode/opencode.db"
    file.parent.mkdir(parents=True)
    environ = {"HOME": str(tmp_path)}
    assert OpenCode().began_in(SESSION, environ) is None
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE session (id text PRIMARY KEY, directory text NOT NULL)")
        database.execute("INSERT INTO session VALUES (?, '/old/worktree')", (SESSION,))
    assert OpenCode().began_in(SESSION, environ) == "/old/worktree"
    assert OpenCode().began_in("ses_other", environ) is None
    file.write_text("no database")
    assert OpenCode().began_in(SESSION, environ) is None


async def test_in_a_new_home_one_goes_first(tmp_path):
    """Several at once would fail on making its database."""
    home = tmp_path / "home"
    program = tmp_path / "opencode"
    program.write_text(
        f"""#!/bin/sh
cat >/dev/null
mkdir {tmp_path}/making 2>/dev/null || [ -e {home}/.local/share/opencode/opencode.db ] || exit 1
sleep 0.2
: >{home}/.local/share/opencode/opencode.db
"""
    )
    program.chmod(0o755)
    put = OpenCode(str(program)).invoke(request(), asks=False)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), **put.env}
    command = Command(argv=put.argv, env=env, stdin=put.stdin, timeout_secs=20)
    finished = await asyncio.gather(*(run(command) for _ in range(4)))
    assert [each.exit_code for each in finished] == [0] * 4


async def test_a_home_that_is_in_use_is_not_waited_for(tmp_path):
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").touch()
    put = OpenCode("true").invoke(request(), asks=False)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **put.env}
    finished = await run(Command(argv=put.argv, env=env, stdin=put.stdin, timeout_secs=20))
    assert finished.exit_code == 0
    assert [each.name for each in folder.iterdir()] == ["opencode.db"]


REFUSAL = (
    'timestamp=2026-11-15T18:08:45.739Z level=ERROR message="stream error" small=false agent=build'
    ' error.error="AI_APICallError: Cannot connect to API: Unable to connect. (cause: Error: Unable to connect.)"'
)


@pytest.mark.parametrize("times", [2, 3])
async def test_it_is_not_left_to_try_again_for_a_minute_where_nobody_answers(times, tmp_path):
    """Its real log, by a program that does not end by itself; a title that fails is not counted."""
    lines = [REFUSAL.replace("small=false", "small=true"), *[REFUSAL] * times]
    program = tmp_path / "opencode"
    told = "".join(f"printf '%s\\n' '{line}' >&2\n" for line in lines)
    program.write_text(f"#!/bin/sh\necho words of its own >&2\n{told}sleep {600 if times == 3 else 0.1}\n")
    program.chmod(0o755)
    put = OpenCode(str(program)).invoke(request(env=PROXY, model="gpt-5"), asks=False)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **put.env}
    finished = await run(Command(argv=put.argv, env=env, timeout_secs=20))
    outcome = listening("opencode").outcome(finished)
    assert "words of its own" in finished.stderr.text
    assert list(tmp_path.glob("tmp.*")) == []
    if times == 3:
        assert (finished.signal, outcome.failure_kind) == (9, Kind.NETWORK)
        assert outcome.error == "Cannot connect to API: Unable to connect."
    else:
        assert (finished.exit_code, "given up" in finished.stderr.text) == (0, False)


@pytest.mark.parametrize(
    ("asked", "providers"),
    [
        ({"env": {"ANTHROPIC_API_KEY": "k"}}, None),
        ({"env": {"ANTHROPIC_API_KEY": "k"}, "model": "mine/m"}, None),
        ({"env": {"ANTHROPIC_API_KEY": "k"}, "model": "opus"}, ["anthropic"]),
        ({"env": PROXY, "model": "gpt-5"}, ["openai"]),
    ],
)
def test_a_key_alone_takes_no_vendor_of_the_users_away(asked, providers):
    assert configuration(**asked).get("enabled_providers") == providers
