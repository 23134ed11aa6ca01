"""Engines by the names that people give them."""

from __future__ import annotations

import asyncio

import pytest

from trueup.core.errors import InputError, Kind
from trueup.core.trust import trust
from trueup.harness import (
    EngineError,
    HarnessRequest,
    Mode,
    Surroundings,
    capabilities_of,
    find_harness,
    harness_names,
    parse_engine,
)
from trueup.harness.agents import AGENTS
from trueup.testing import ScriptedAgent


@pytest.fixture
def around(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()

    def made(*installed: str, **environ: str) -> Surroundings:
        for name in installed:
            ScriptedAgent(speak=name).install(tools / name)
        home = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        return Surroundings(
            folder=tmp_path,
            repository=tmp_path,
            in_base=lambda path: False,
            environ={**home, **environ},
            confined=True,
        )

    return made


async def test_auto_is_the_first_that_is_installed_and_logged_in(around):
    both = around("claude", "codex", OPENAI_API_KEY="sk-x")
    assert (await parse_engine("auto", both)).name == "codex", "claude is there, but not logged in"
    both = around(OPENAI_API_KEY="sk-x", ANTHROPIC_API_KEY="sk-y")
    assert (await parse_engine("auto", both)).name == "claude-code"


async def test_auto_says_what_is_wrong_with_each_where_none_can_be_used(around):
    with pytest.raises(EngineError, match=r"claude-code is not installed(.|\n)*codex is not installed") as error:
        await parse_engine("auto", around())
    assert error.value.kind is Kind.SPAWN


async def test_an_agent_that_is_not_logged_in_says_how_to(around):
    engine = await parse_engine("claude-code", around("claude"))
    with pytest.raises(EngineError, match="ANTHROPIC_API_KEY") as error:
        await engine.version()
    assert error.value.kind is Kind.AUTH


async def test_an_agents_program_is_shown_to_it_also_behind_a_link(around, tmp_path):
    surroundings = around("codex", OPENAI_API_KEY="sk-x")
    real = tmp_path / "elsewhere" / "codex"
    real.parent.mkdir()
    (tmp_path / "tools" / "codex").rename(real)
    (tmp_path / "tools" / "codex").symlink_to(real)
    engine = await parse_engine("codex", surroundings)
    assert set(engine.files) == {str(tmp_path / "tools" / "codex"), str(real)}


async def test_an_unknown_name_is_refused_with_those_there_are(around):
    with pytest.raises(InputError, match=r"claude-code, codex, opencode, .*pi, .*native, auto"):
        await parse_engine("clod", around())


def agent_in(folder, name, script="echo 1.2.3"):
    """A program of an agent's name."""
    program = folder / AGENTS[name].program
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


async def test_every_agent_is_an_engine_with_the_vendor_whose_key_there_is(around, tmp_path):
    surroundings = around(OPENAI_API_KEY="sk-x")
    program = agent_in(tmp_path / "tools", "pi")
    engine = await parse_engine("pi", surroundings)
    assert (engine.name, engine.vendor.name, engine.asks_first, await engine.version()) == (
        "pi",
        "openai",
        False,
        "1.2.3",
    )
    assert str(program) in engine.files
    engine = await parse_engine("pi", around(OPENAI_API_KEY="sk-x", ANTHROPIC_API_KEY="sk-y"))
    assert engine.vendor.name == "anthropic"


async def test_an_agents_own_login_is_not_counted_on_where_it_is_not_seen(around, tmp_path):
    agent_in(tmp_path / "tools", "gemini")
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "oauth_creds.json").write_text('{"access_token": "x"}')
    engine = await parse_engine("gemini", around())
    with pytest.raises(EngineError, match=r"own login is not seen in the sandbox: set GEMINI_API_KEY") as error:
        await engine.version()
    assert error.value.kind is Kind.AUTH
    engine = await parse_engine("gemini", around(GEMINI_API_KEY="x"))
    assert (await engine.version(), engine.vendor.name) == ("1.2.3", "gemini")


async def test_auto_goes_on_to_the_other_agents_and_names_those_that_are_not_there(around, tmp_path):
    agent_in(tmp_path / "tools", "goose")
    assert (await parse_engine("auto", around(OPENAI_API_KEY="sk-x"))).name == "goose"
    with pytest.raises(EngineError, match=r"goose is installed but cannot(.|\n)*nor is any of opencode, .* installed"):
        await parse_engine("auto", around())


def test_what_codex_cannot_do_is_refused_whoever_asks(around):
    harness = find_harness("codex", around().environ)
    with pytest.raises(InputError, match="codex cannot do what is asked of it: it knows no limit of turns"):
        asyncio.run(harness.run(HarnessRequest(prompt="x", turns=3), None, None))


def test_what_a_person_describes_goes_before_what_is_known(around, tmp_path):
    surroundings = around()
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "trueup.yaml"
    file.write_text("agents:\n  goose:\n    argv: [my-goose, '{prompt}']\n")
    trust(file.read_bytes(), str(file), surroundings.environ)
    names = harness_names(surroundings.environ, file.parent)
    assert names.count("goose") == 1
    able = capabilities_of("goose", surroundings.environ, file.parent)
    assert (able.resume, able.model, able.usage, able.modes) == (False, False, False, (Mode.FULL,))
    assert capabilities_of("goose", surroundings.environ, tmp_path).resume


def test_capabilities_are_known_of_all_that_can_be_named(around, tmp_path):
    environ = around().environ
    for name in (*harness_names(environ, tmp_path), "native"):
        assert capabilities_of(name, environ, tmp_path).modes
    with pytest.raises(InputError, match="unknown agent 'clod'"):
        capabilities_of("clod", environ, tmp_path)


async def test_an_agent_that_speaks_acp_is_named_as_such(around):
    surroundings = around()
    engine = await parse_engine("acp:goose", surroundings)
    assert (engine.name, engine.asks_first) == ("acp:goose", True)
    assert find_harness("acp:my-agent --acp", surroundings.environ).name == "acp:my-agent"
    assert capabilities_of("acp:goose", surroundings.environ, surroundings.folder).permission == "acp"
    with pytest.raises(InputError, match="acp:PROGRAM ARGUMENTS"):
        await parse_engine("nobody-knows", surroundings)
    with pytest.raises(InputError):
        await parse_engine("acp:", surroundings)
