"""The real opencode, gemini, goose and pi as engines of sessions and in a race, alone and over ACP."""

from __future__ import annotations

import os

import pytest

from agent_desk import ANTHROPIC, GEMINI, OPENAI, WIRES, Wire
from agents_from_npm import PACKAGES
from session_play import Play
from trueup.coder import Absent, CodeRequest, Limits, Outcome, Pick, Races, Runner, State, events
from trueup.core.usage import Usage
from trueup.runs import RunStore
from trueup.testing import ScriptedModel, Text, Tool

pytestmark = pytest.mark.agents

DONE = Text("DONE")
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
SUITE = "python3 -m unittest discover -s tests -t . -q"
# The package of each engine.
ENGINES = {
    "opencode": "opencode",
    "gemini": "gemini",
    "goose": "goose",
    "pi": "pi",
    "acp:claude-code": "claude-agent-acp",
    "acp:codex": "codex-acp",
}


@pytest.fixture
async def play(project, npm_agents, agent_programs, tmp_path, monkeypatch):
    """A repository with every agent on PATH, and keys that none of them may see."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, program in agent_programs.items():
        (tools / name).symlink_to(program)
    monkeypatch.setenv("PATH", f"{npm_agents}:{tools}:{os.environ['PATH']}")
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


def reachable(monkeypatch, model: ScriptedModel, *wires: Wire) -> None:
    # Whoever runs this may have keys of their own, and an agent takes the first that it finds.
    for wire in (ANTHROPIC, OPENAI, GEMINI):
        monkeypatch.delenv(wire.key, raising=False)
        monkeypatch.delenv(wire.url, raising=False)
    for wire in wires:
        for name, value in wire.variables(model.url).items():
            monkeypatch.setenv(name, "sk-the-real-key-of-the-user" if name == wire.key else value)


def wanted(play: Play, engine: str, model: str | None) -> CodeRequest:
    return CodeRequest(
        intent="Make slugs join by dashes",
        folder=str(play.project.root),
        engine=engine,
        model=model,
        contract_file=play.contract(SUITE),
        limits=Limits(iterations=2, engine_secs=120, retry_secs=0.01),
    )


@pytest.mark.parametrize("name", list(ENGINES))
async def test_honest_work_is_verified_and_merged_and_the_key_never_seen(play, monkeypatch, name):
    look = "env > seen; cat /proc/*/environ >> seen 2>/dev/null"
    async with ScriptedModel([Tool.shell(f"{look}; {MEND}"), DONE]) as model:
        wire = WIRES[name.removeprefix("acp:")]
        reachable(monkeypatch, model, wire)
        request = wanted(play, name, wire.model)
        story = await play.sessions.start(request, Absent(yes=True), play.watching)
        assert any("sk-the-real-key-of-the-user" in str(call.headers) for call in model.asked)
    assert story.state is State.MERGED, story.message
    assert "'-'" in (play.project.root / "slug.py").read_text()
    assert "sk-the-real-key" not in (play.project.root / "seen").read_text()
    assert story.used.input_tokens
    [selected] = play.watching.of(events.EngineSelected)
    assert selected.version in PACKAGES[ENGINES[name]]
    assert selected.network == "proxy"


async def test_three_agents_race_and_each_is_verified_by_itself(play, monkeypatch):
    runners = [Runner("claude-code", ANTHROPIC.model), Runner("codex", "fake-model"), Runner("pi", ANTHROPIC.model)]
    async with ScriptedModel([Tool.shell(MEND), DONE], per_conversation=True) as model:
        reachable(monkeypatch, model, ANTHROPIC, OPENAI)
        request = wanted(play, "claude-code", None)
        races = Races(play.store, play.sessions)
        raced = await races.start(request, runners, Pick.SMALLEST, Absent(yes=True), play.watching)
    entries = raced.race.decided.entries
    assert [entry.engine for entry in entries] == ["claude-code", "codex", "pi"]
    assert [entry.outcome for entry in entries] == [Outcome.VERIFIED] * 3
    assert all(entry.usage != Usage() and entry.changed_lines == 2 for entry in entries)
    stories = await races.stories(raced.race)
    assert sorted(story.state for story in stories) == sorted([State.MERGED, State.ABANDONED, State.ABANDONED])
    assert raced.story.state is State.MERGED
    assert "'-'" in (play.project.root / "slug.py").read_text()
