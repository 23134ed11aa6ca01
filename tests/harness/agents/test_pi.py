"""pi, on what it once printed, and what must be known about it."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import Kind
from trueup.core.process import Command, Process, run
from trueup.core.usage import Usage
from trueup.harness import Mode, Retried, ToolCall, ToolKind, UsageReported
from trueup.harness.agents._pi import Pi

SESSION = "01a1de1b-e401-729d-a66f-8368de857983"
PROXY = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/anthropic", "ANTHROPIC_API_KEY": "dummy"}


@pytest.mark.parametrize("recording", ["ok", "resume"])
def test_each_call_counts_also_in_a_session_that_goes_on(recording):
    events, outcome = heard("pi", recording, resume=SESSION if recording == "resume" else None)
    assert outcome.usage == Usage(2400, 100, 0.00762, cache_read_tokens=400, cache_write_tokens=0)
    assert (outcome.ok, outcome.session_id) == (True, SESSION)
    assert len(of_kind(events, UsageReported)) == 2
    assert of_kind(events, ToolCall)[0].tool_kind is ToolKind.SHELL


@pytest.mark.parametrize(
    ("recording", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("refused", Kind.NETWORK),
        ("garbage", Kind.PROTOCOL),
    ],
)
def test_a_failure_has_its_kind_although_it_exits_with_0(recording, kind):
    _, outcome = heard("pi", recording, exit_code=0)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)


def test_its_own_tries_are_told():
    events, _ = heard("pi", "429")
    assert [each.attempt for each in of_kind(events, Retried)] == [1, 2, 3]


def test_a_run_that_ends_before_it_comes_to_rest_is_not_ok():
    conversation = listening("pi")
    for line in lines_of("pi", "ok"):
        if "agent_settled" not in line:
            conversation.feed(line)
    assert not conversation.outcome(ended()).ok


def test_one_that_has_nothing_to_do_is_not_ok():
    """From another folder it goes on with nothing, does nothing, and exits with 0."""
    conversation = listening("pi", resume=SESSION)
    conversation.feed('{"type":"agent_settled"}')
    assert conversation.outcome(ended()).failure_kind is Kind.PROTOCOL


def test_a_mode_is_the_tools_that_it_is_given():
    def tools(mode: Mode) -> set[str]:
        words = Pi().invoke(request(mode=mode), asks=False).argv
        return set(words[words.index("--tools") + 1].split(","))

    assert not tools(Mode.READ_ONLY) & {"bash", "edit", "write"}
    assert tools(Mode.EDIT) - tools(Mode.READ_ONLY) == {"edit", "write"}
    assert tools(Mode.FULL) - tools(Mode.EDIT) == {"bash"}


async def test_another_address_is_told_in_a_folder_that_is_gone_with_it(tmp_path):
    scratch, home = tmp_path / "tmp", tmp_path / "home"
    scratch.mkdir()
    program = tmp_path / "pi"
    program.write_text('#!/bin/sh\ncat "$PI_CODING_AGENT_DIR/models.json"\necho\ncat\nexit 7\n')
    program.chmod(0o755)
    put = Pi(str(program)).invoke(request(env=PROXY, prompt="the prompt"), asks=False)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(scratch), **PROXY, **put.env}
    finished = await run(Command(argv=put.argv, env=env, stdin=put.stdin, timeout_secs=10))
    models, prompt = finished.stdout.text.split("\n")
    assert json.loads(models) == {"providers": {"anthropic": {"baseUrl": PROXY["ANTHROPIC_BASE_URL"]}}}
    assert (prompt, finished.exit_code, list(scratch.iterdir())) == ("the prompt", 7, [])


async def test_the_folder_is_gone_also_where_it_was_ended(tmp_path):
    program = tmp_path / "pi"
    program.write_text("#!/bin/sh\necho ready\nsleep 300\n")
    program.chmod(0o755)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    put = Pi(str(program)).invoke(request(env=PROXY), asks=False)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(scratch), **put.env}
    async with Process(Command(argv=put.argv, env=env, stdin=put.stdin, grace_secs=5)) as process:
        assert await anext(process.lines()) == "ready"
        assert list(scratch.iterdir())
        process.stop()
        await process.wait()
    assert list(scratch.iterdir()) == []


def test_without_another_address_the_users_own_folder_is_used():
    put = Pi().invoke(request(env={"ANTHROPIC_API_KEY": "dummy"}), asks=False)
    assert put.argv[0] == "pi"


def test_a_session_is_known_by_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".pi/agent/sessions/trueup" / f"2026-11-15T07-28-52-226Z_{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(lines_of("pi", "ok")[0] + "\n")
    assert Pi().began_in(SESSION, {"HOME": str(tmp_path)}) == "/repo"
