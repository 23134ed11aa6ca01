"""Engines by the names that people give them."""

from __future__ import annotations

import pytest

from trueup.core.errors import InputError, Kind
from trueup.harness import EngineError, Surroundings, parse_engine
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
    with pytest.raises(InputError, match="claude-code, codex, native, auto"):
        await parse_engine("clod", around())
