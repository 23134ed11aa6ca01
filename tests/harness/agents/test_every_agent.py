"""What holds for every agent that trueup speaks to, whatever it prints."""

from __future__ import annotations

import asyncio
import os
import uuid
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from agent_recordings import RECORDED, ended, heard, lines_of, listening, of_kind, request
from coded import is_running
from trueup.core.errors import InputError, Kind
from trueup.core.process import Command, Process
from trueup.core.usage import Usage
from trueup.harness import HarnessResult, Mode, SessionNamed, Status, ToolCall, ToolResult, UsageReported
from trueup.harness._driver import DrivenHarness
from trueup.harness.agents import AGENTS, BUILT_IN, SystemPrompt
from trueup.testing import EventLog

RECORDED_AGENTS = sorted(name for name in AGENTS if (RECORDED / name / "ok.jsonl").exists())
ONLY_BY_WORD = ("cursor", "kimi-code")
TELLS_NO_VERSION = ("mini-swe-agent",)
every_agent = pytest.mark.parametrize("name", sorted(AGENTS))
every_recorded_agent = pytest.mark.parametrize("name", RECORDED_AGENTS)
FAILED = sorted(
    (name, file.stem)
    for name in RECORDED_AGENTS
    for file in (RECORDED / name).glob("*.jsonl")
    if file.stem in {"401", "429", "500", "refused", "garbage"}
)


@pytest.fixture
def here(tmp_path):
    """A `Launcher` without walls, with a home of its own."""

    class Here:
        def __init__(self) -> None:
            self.environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}

        @asynccontextmanager
        async def launch(self, command: Command):
            env = {**self.environ, **(command.env or {})}
            async with Process(msgspec.structs.replace(command, env=env)) as process:
                yield process

    return Here()


def install(folder: Path, agent: str, script: str) -> None:
    """A program of an agent's name that does what a script says."""
    program = folder / AGENTS[agent].program
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@every_recorded_agent
def test_a_good_run_is_told_whole(name):
    events, outcome = heard(name, "ok")
    assert (outcome.ok, outcome.failure_kind, outcome.error) == (True, None, "")
    assert outcome.text == "DONE"
    about = AGENTS[name].capabilities
    assert about.usage is (outcome.usage.input_tokens is not None)
    assert about.cost or outcome.usage.cost_usd is None, "of a model without a price nothing is told"
    calls, results = of_kind(events, ToolCall), of_kind(events, ToolResult)
    assert about.tool_events is bool(calls)
    if calls:
        assert "echo hi" in str(calls[0].input)
        assert calls[0].id == results[0].id
        assert results[0].ok is not False
    if about.resume:
        assert of_kind(events, SessionNamed) == [SessionNamed(outcome.session_id)], "told once"


@every_recorded_agent
def test_what_is_reported_call_by_call_adds_up_to_the_run(name):
    events, outcome = heard(name, "ok")
    reported = of_kind(events, UsageReported)
    if reported:
        assert Usage.total(each.usage for each in reported) == outcome.usage


@pytest.mark.parametrize(("name", "recording"), FAILED)
def test_a_run_that_failed_is_not_ok_although_its_program_ends_with_0(name, recording):
    _, outcome = heard(name, recording, exit_code=0)
    assert not outcome.ok
    assert outcome.failure_kind is not None
    assert outcome.usage.incomplete, "what a failed call used is not known to be nothing"


@every_recorded_agent
def test_without_its_last_record_a_run_is_not_ok(name):
    conversation = listening(name)
    for line in lines_of(name, "ok")[:-2]:
        conversation.feed(line)
    outcome = conversation.outcome(ended())
    assert not outcome.ok
    assert outcome.usage.incomplete


@every_agent
def test_a_run_that_says_nothing_is_not_ok(name):
    outcome = listening(name).outcome(ended(exit_code=0))
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.PROTOCOL)


@every_recorded_agent
def test_lines_that_mean_nothing_change_nothing(name):
    conversation = listening(name)
    for line in lines_of(name, "ok"):
        for noise in (
            "",
            "Warning: a colour",
            '{"type":"of tomorrow","x":1}',
            "[1]",
            '{"type":7}',
            line[: len(line) // 2],
        ):
            assert conversation.feed(noise) == []
        conversation.feed(line)
    _, undisturbed = heard(name, "ok")
    found = conversation.outcome(ended())
    # Some agents let us name the session.
    assert msgspec.structs.replace(found, session_id=None) == msgspec.structs.replace(undisturbed, session_id=None)


@every_recorded_agent
def test_no_line_can_do_harm(name):
    conversation = listening(name)
    records = [msgspec.json.decode(line) for line in lines_of(name, "ok")]
    kinds = {(tag, record[tag]) for record in records for tag in ("type", "role") if tag in record}
    for tag, kind in sorted(kinds):
        for value in (
            "null",
            "[]",
            "{}",
            "9e999",
            '"x"',
            "-1",
            "[" * 5000 + "]" * 5000,
            '{"a":' * 5000 + "1" + "}" * 5000,
        ):
            for field in (
                "part",
                "message",
                "error",
                "stats",
                "usage",
                "content",
                "id",
                "session_id",
                "sessionID",
                "data",
            ):
                conversation.feed(f'{{"{tag}":"{kind}","{field}":{value}}}')
    conversation.feed('{"type":"' + "x" * 1_000_000)
    conversation.feed("\ud800")
    assert isinstance(conversation.outcome(ended()).ok, bool)


@every_agent
def test_a_long_prompt_is_never_a_word_of_the_command(name):
    if name in ONLY_BY_WORD:
        with pytest.raises(InputError, match="the prompt is larger than 64 KiB"):
            AGENTS[name]().invoke(request(prompt="x" * 100_000), asks=False)
        return
    put = AGENTS[name]().invoke(request(prompt="x" * 100_000), asks=False)
    assert b"x" * 100_000 in put.stdin
    assert max(len(word) for word in (*put.argv, *put.env.values())) < 64 * 1024


@every_agent
def test_no_prompt_is_taken_for_an_option(name):
    put = AGENTS[name]().invoke(request(prompt="--help @file"), asks=False)
    options = put.argv[: put.argv.index("--")] if "--" in put.argv else put.argv
    assert not any(word.startswith("--help") for word in options)


@every_agent
def test_no_key_is_a_word_of_the_command(name):
    keys = {variable: f"secret-{variable}" for vendor in AGENTS[name].vendors for variable in vendor.key_variables}
    urls = {
        variable: "http://127.0.0.1:4000/v1"
        for vendor in AGENTS[name].vendors
        for variable in vendor.base_url_variables
    }
    put = AGENTS[name]().invoke(request(env={**keys, **urls}, model="some"), asks=False)
    assert not any("secret-" in word for word in put.argv), "the words of a command can be read by everybody"
    assert b"secret-" not in put.stdin


@every_agent
def test_what_it_cannot_do_is_refused_before_anything_is_spent(name):
    about, dialect = AGENTS[name].capabilities, AGENTS[name]()
    beyond = {
        "mode": (about.modes, "mode", [mode for mode in Mode if mode not in about.modes]),
        "resume": (about.resume, "session", [] if about.resume else ["some"]),
        "system": (about.system_prompt, "system prompt", ["x"] if about.system_prompt is SystemPrompt.NONE else []),
        "turns": (about.turns, "turns", [] if about.turns else [3]),
        "budget_usd": (about.budget_usd, "dollars", [] if about.budget_usd else [0.5]),
    }
    for what, (_, word, values) in beyond.items():
        for value in values:
            with pytest.raises(InputError, match=f"^{name} cannot do what is asked of it: .*{word}"):
                dialect.invoke(request(**{what: value}), asks=False)


@every_agent
def test_what_it_can_do_is_put_to_it(name):
    about, dialect = AGENTS[name].capabilities, AGENTS[name]()
    plain = dialect.invoke(request(), asks=False)
    asked = {mode.value: {"mode": mode} for mode in about.modes if mode is not Mode.FULL}
    asked |= {"resume": {"resume": "ses-77"}} if about.resume else {}
    asked |= {"system": {"system": "be terse"}} if about.system_prompt is not SystemPrompt.NONE else {}
    asked |= {"turns": {"turns": 7}} if about.turns else {}
    asked |= {"model": {"model": "some-model"}} if about.model else {}
    for what, each in asked.items():
        put = dialect.invoke(request(**each), asks=False)
        assert (put.argv, put.env, put.stdin) != (plain.argv, plain.env, plain.stdin), f"{what} is put nowhere"


@every_agent
def test_no_gate_is_promised_that_would_not_be_asked(name):
    with pytest.raises(InputError, match=f"{name} cannot be asked before it uses a tool"):
        AGENTS[name]().invoke(request(), asks=True)


@every_agent
async def test_one_that_is_not_installed_says_how_to_install_it(name):
    found = await AGENTS[name]().probe({"PATH": "/nonexistent", "HOME": "/nonexistent"})
    assert not found.installed
    assert f"no `{AGENTS[name].program}` on PATH; " in found.note
    assert len(AGENTS[name].install) > 10


@every_agent
async def test_it_is_found_with_its_version_and_its_key(name, tmp_path):
    install(tmp_path, name, "echo some-agent 1.22.3")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    found = await AGENTS[name]().probe(environ)
    assert (found.installed, found.path) == (True, str(tmp_path / AGENTS[name].program))
    assert found.version == (None if name in TELLS_NO_VERSION else "1.22.3")
    vendors = AGENTS[name].vendors
    if vendors:
        assert found.logged_in is False
        key = vendors[0].key_variables[0]
        assert key in found.note
        assert (await AGENTS[name]().probe({**environ, key: "x"})).logged_in is True


@every_recorded_agent
async def test_what_it_leaves_behind_is_ended_with_it(name, tmp_path, here):
    """A hub, a server, or a tool in a session of its own, which holds the agent's output open."""
    (tmp_path / "said").write_text("\n".join(lines_of(name, "ok")) + "\n")
    long_time = f"300.{uuid.uuid4().int}"
    install(tmp_path, name, f"cat >/dev/null; setsid sleep {long_time} & sleep 0.1; cat {tmp_path}/said")
    harness = DrivenHarness(AGENTS[name](), here.environ)
    result = await harness.run(request(cwd=str(tmp_path), timeout_secs=20), here, EventLog())
    assert (result.status, result.text) == (Status.OK, "DONE")
    assert result.duration_secs < 15
    assert not is_running(long_time)


def test_every_harness_says_what_it_can_do():
    assert list(BUILT_IN) == ["claude-code", "codex", "native"]
    assert not set(BUILT_IN) & set(AGENTS)
    for name, agent in AGENTS.items():
        assert agent.name == name
        assert (agent.capabilities.tested is not None) is (RECORDED / name).is_dir(), "tested is what recordings show"


def test_a_program_of_an_entry_of_path_that_is_meant_from_here_is_named_whole(tmp_path, monkeypatch):
    install(tmp_path, RECORDED_AGENTS[0], "true")
    monkeypatch.chdir(tmp_path)
    found = AGENTS[RECORDED_AGENTS[0]]().program_in({"PATH": "."})
    assert found == os.fspath(tmp_path / AGENTS[RECORDED_AGENTS[0]].program)


async def test_agents_at_once_do_not_hear_each_other(tmp_path, here):
    for name in RECORDED_AGENTS:
        (tmp_path / f"{name}-said").write_text("\n".join(lines_of(name, "ok")) + "\n")
        install(tmp_path, name, f"cat {tmp_path}/{name}-said")

    async def run(name: str) -> HarnessResult:
        harness = DrivenHarness(AGENTS[name](), here.environ)
        return await harness.run(request(cwd=str(tmp_path), timeout_secs=20), here, EventLog())

    results = await asyncio.gather(*(run(name) for name in RECORDED_AGENTS))
    assert [(each.harness, each.status) for each in results] == [(name, Status.OK) for name in RECORDED_AGENTS]
