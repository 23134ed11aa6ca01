"""`trueup code` with the real agents, in their sandbox, with nothing but the proxy to reach."""

from __future__ import annotations

import os
import shutil

import pytest

from session_play import Play
from trueup.coder import Absent, CodeRequest, FailureReason, Limits, State, events
from trueup.runs import RunStore
from trueup.testing import Fault, ScriptedModel, Tokens, Tool

pytestmark = pytest.mark.agents

ENGINES = {"claude-code": ("claude", "ANTHROPIC", ""), "codex": ("codex", "OPENAI", "/v1")}
MODELS = {"claude-code": None, "codex": "fake-model"}
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
CHEAT = "sed -i s/a-nice-title/a_nice_title/ tests/test_slug.py"
SUITE = "python3 -m unittest discover -s tests -t . -q"


@pytest.fixture(params=list(ENGINES))
async def agent(request, project, agent_programs, tmp_path, monkeypatch):
    """One of the agents, on PATH, with a key that must never be seen by it."""
    program, vendor, suffix = ENGINES[request.param]
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy(agent_programs[program], tools / program)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv(f"{vendor}_API_KEY", "sk-the-real-key-of-the-user")

    def point_at(model: ScriptedModel) -> None:
        monkeypatch.setenv(f"{vendor}_BASE_URL", f"{model.url}{suffix}")

    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        play = Play(project, store)
        play.name, play.point_at = request.param, point_at
        yield play


async def code(agent: Play, script, **more):
    async with ScriptedModel(script) as model:
        agent.point_at(model)
        contract = agent.contract(SUITE)
        limits = more.pop("limits", Limits(iterations=3, engine_secs=120, retry_secs=0.01))
        request = CodeRequest(
            intent="Make slugs join by dashes",
            folder=str(agent.project.root),
            engine=agent.name,
            model=MODELS[agent.name],
            contract_file=contract,
            limits=limits,
            **more,
        )
        return await agent.sessions.start(request, Absent(yes=True), agent.watching), model


async def test_honest_work_is_merged_and_metered(agent):
    story, model = await code(agent, [Tool.shell(MEND), "Done."])
    assert story.state is State.MERGED, story.message
    assert story.used.input_tokens
    assert agent.watching.of(events.EngineSelected)[0].version
    assert agent.watching.of(events.EngineSelected)[0].network == "proxy"
    trace = await agent.store.trace(story.id)
    assert [record for record in trace if type(record.record).__name__ == "ModelTurn"]
    assert any("sk-the-real-key-of-the-user" in str(request.headers) for request in model.requests)


async def test_the_agent_never_sees_the_key(agent):
    story, _ = await code(agent, [Tool.shell(f"env > seen; cat /proc/*/environ >> seen 2>/dev/null; {MEND}"), "Done."])
    assert story.state is State.MERGED, story.message
    assert "sk-the-real-key" not in (agent.project.root / "seen").read_text()


async def test_a_cheat_is_sent_back_and_repaired(agent):
    undo = "git checkout -q tests"
    story, _ = await code(agent, [Tool.shell(CHEAT), "Done.", Tool.shell(f"{undo}; {MEND}"), "Really done."])
    assert story.state is State.MERGED, story.message
    assert len(story.attempts) == 2
    assert "'-'" in (agent.project.root / "slug.py").read_text()


async def test_a_budget_ends_the_agent_on_the_wire(agent):
    usage = Tokens(input=5000, output=100)
    steps = [Tool.shell("sleep 0.2; date +%N > now") for _ in range(20)]
    limits = Limits(iterations=3, tokens=12_000, retry_secs=0.01, engine_secs=100)
    async with ScriptedModel(steps, usage=usage) as model:
        agent.point_at(model)
        request = CodeRequest(
            intent="Go on for ever",
            folder=str(agent.project.root),
            engine=agent.name,
            model=MODELS[agent.name],
            contract_file=agent.contract(SUITE),
            limits=limits,
        )
        story = await agent.sessions.start(request, Absent(yes=True), agent.watching)
        assert len(model.asked) <= 4
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED), story.message


async def test_a_key_that_is_refused_is_told_as_such(agent):
    story, _ = await code(agent, [Fault(401)])
    assert (story.reason, story.failed_by_engine) == (FailureReason.AUTH_REQUIRED, True), story.message


async def test_nothing_but_the_vendor_is_reached(agent):
    asks = "python3 -c \"import urllib.request as r; r.urlopen('http://example.org', timeout=5)\" > said 2>&1 || true"
    story, _ = await code(agent, [Tool.shell(f"{asks}; {MEND}"), "Done."])
    assert story.state is State.MERGED, story.message
    assert "403" in (agent.project.root / "said").read_text()


async def test_answers_are_recorded_and_played_again_without_the_vendor(agent, tmp_path):
    cassette = str(tmp_path / "answers.jsonl")
    script = [Tool.shell("date +%N > now"), "Done.", Tool.shell(MEND), "Really done."]
    first, _ = await code(agent, script, cassette=cassette)
    assert first.state is State.MERGED, first.message
    assert "sk-the-real-key" not in (tmp_path / "answers.jsonl").read_text()
    await agent.git("reset", "-q", "--hard", "HEAD~1")
    async with ScriptedModel([Fault(500)]) as nobody:
        agent.point_at(nobody)
        again = first.request
        second = await agent.sessions.start(again, Absent(yes=True), agent.watching)
        assert nobody.requests == []
    assert second.state is State.MERGED, second.message
    assert len(second.attempts) == 2


async def test_what_the_user_set_up_for_the_agent_is_named_and_left_out_unless_it_is_wanted(agent, private_home):
    folder = {"claude-code": ".claude", "codex": ".codex"}[agent.name]
    name = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}[agent.name]
    (private_home / folder).mkdir()
    (private_home / folder / name).write_text("Always answer in rhymes.")
    _, model = await code(agent, [Tool.shell(MEND), "Done."])
    assert agent.watching.of(events.EngineSelected)[0].left_out == [str(private_home / folder / name)]
    assert not any("in rhymes" in request.raw.decode() for request in model.requests)
    await agent.git("reset", "-q", "--hard", "HEAD~1")
    _, model = await code(agent, [Tool.shell(MEND), "Done."], user_config=True)
    assert any("in rhymes" in request.raw.decode() for request in model.requests)
