"""Sessions with agents that a person described."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_play import Play
from trueup.coder import Limits, State
from trueup.core.errors import InputError
from trueup.core.trust import trust
from trueup.runs import RunStore

DASH = "grep -q \"'-'\" slug.py"
AGENT = "#!/bin/bash\nread -r prompt; sed -i \"s/'_')/'-')/\" slug.py; echo \"I did it\"\n"
DESCRIPTION = "agents:\n  my-agent:\n    argv: [my-agent, --print]\n    output: text\n"


@pytest.fixture
async def play(project, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "my-agent").write_text(AGENT)
    (tools / "my-agent").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def test_an_agent_of_the_users_settings_is_an_engine_by_its_name(play):
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "trueup" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(DESCRIPTION)
    story = await play.code("", DASH, engine="my-agent")
    assert story.state is State.MERGED, story.message
    assert story.engine.engine == "my-agent"


async def test_a_repository_cannot_name_a_program_of_the_users_before_they_agree(play):
    await play.project.commit({"trueup.yaml": DESCRIPTION})
    with pytest.raises(InputError, match="trueup trust"):
        await play.code("", DASH, engine="my-agent")
    trust(DESCRIPTION.encode(), "trueup.yaml")
    story = await play.code("", DASH, engine="my-agent")
    assert story.state is State.MERGED, story.message


async def test_a_name_that_nobody_described_is_refused_with_those_there_are(play):
    with pytest.raises(InputError, match=r"claude-code, codex, opencode, .*native, auto"):
        await play.code("", DASH, engine="your-agent")


async def test_a_strict_budget_for_an_agent_that_tells_nothing_is_refused_before_anything_is_spent(play):
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "trueup" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"{DESCRIPTION}    vendor: none\n")
    for limit in ({"usd": 1}, {"tokens": 1000}):
        with pytest.raises(InputError, match=r"my-agent does not tell what it uses.*--strict-budget"):
            await play.code("", DASH, engine="my-agent", limits=Limits(iterations=1, strict=True, **limit))
    assert await play.store.list() == []
    story = await play.code("", DASH, engine="my-agent", limits=Limits(iterations=1, strict=True))
    assert story.state is State.MERGED, story.message
