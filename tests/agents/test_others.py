"""The real opencode, gemini, goose and pi, with a scripted model in the place of their own."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from agents_from_npm import PACKAGES
from coded import is_running
from session_play import Play
from trueup.coder import Absent, CodeRequest, Limits, Outcome, Pick, Races, Runner, State, events
from trueup.core.errors import Kind
from trueup.core.process import Command, Process
from trueup.core.protocols import Action, Decision
from trueup.core.usage import Usage
from trueup.harness import (
    HarnessRequest,
    HarnessResult,
    PermissionDecided,
    Status,
    ToolCall,
    ToolKind,
    ToolResult,
    find_harness,
)
from trueup.harness.acp import acp_harness
from trueup.runs import RunStore
from trueup.testing import EventLog, Fault, ScriptedModel, Text, Tool

pytestmark = pytest.mark.agents

DONE = Text("DONE")
# What ScriptedModel says of a call, unless told otherwise: 1000 new tokens, 200 of a cache, 50 of answer.
INPUT_OF_A_CALL, OUTPUT_OF_A_CALL = 1200, 50
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
SUITE = "python3 -m unittest discover -s tests -t . -q"


class Wire(Struct, frozen=True):
    """By which variables an agent finds a vendor, and a model of the vendor's."""

    url: str
    key: str
    model: str
    suffix: str = ""

    def variables(self, url: str) -> dict[str, str]:
        return {self.url: f"{url}{self.suffix}", self.key: "sk-scripted"}


ANTHROPIC = Wire("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "claude-sonnet-4-5")
OPENAI = Wire("OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5", "/v1")
GEMINI = Wire("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "gemini-2.5-pro")
WIRES = {"opencode": OPENAI, "gemini": GEMINI, "goose": ANTHROPIC, "pi": OPENAI}


class Denies:
    """A gate that refuses what names a word, and remembers what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[Action] = []

    async def decide(self, action: Action) -> Decision:
        self.asked.append(action)
        refused = self.word in str(action.params)
        return Decision(allowed=not refused, reason="not in this house" if refused else "")


class Desk:
    """A `Launcher` for an empty folder and a home, an agent there, and everything that it told."""

    def __init__(self, name: str, programs: Path, root: Path) -> None:
        self.name = name
        self.wire = WIRES[name]
        self.home = root / "home"
        self.folder = root / "work"
        scratch = root / "scratch"
        for made in (self.home, self.folder, scratch):
            made.mkdir()
        self.environ = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(scratch),
        }
        self.log = EventLog()

    @asynccontextmanager
    async def launch(self, command: Command):
        env = {**self.environ, **(command.env or {})}
        async with Process(msgspec.structs.replace(command, env=env)) as process:
            yield process

    async def run(self, url: str, prompt: str = "do it", **more) -> HarnessResult:
        request = self.request(prompt, self.wire.variables(url), **more)
        return await find_harness(self.name, self.environ, self.folder).run(request, self, self.log)

    async def run_over_acp(self, url: str, gate: Denies) -> HarnessResult:
        # There opencode knows a model only together with its vendor.
        model = f"openai/{self.wire.model}" if self.name == "opencode" else self.wire.model
        env = {**self.wire.variables(url), **self._told_over_acp(url)}
        request = self.request("do it", env, model=model)
        return await acp_harness((self.name,), self.environ).run(request, self, self.log, gate)

    def request(self, prompt: str, env: dict[str, str], **more) -> HarnessRequest:
        usual = {"cwd": str(self.folder), "model": self.wire.model, "timeout_secs": 120}
        return HarnessRequest(prompt=prompt, env=env, **{**usual, **more})

    def _told_over_acp(self, url: str) -> dict[str, str]:
        """What a user has configured who speaks to it over ACP: the vendor is no part of the protocol."""
        match self.name:
            case "opencode":
                options = {"baseURL": f"{url}/v1", "apiKey": "sk-scripted"}
                config = {"provider": {"openai": {"options": options}}, "enabled_providers": ["openai"]}
                return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
            case "gemini":
                settings = self.home / ".gemini" / "settings.json"
                settings.parent.mkdir()
                settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
                return {}
            case _:
                return {"GOOSE_PROVIDER": "anthropic", "ANTHROPIC_HOST": url, "GOOSE_DISABLE_KEYRING": "1"}

    def told(self, kind):
        return [event for event in self.log.events if isinstance(event, kind)]

    def processes(self) -> list[str]:
        """Whatever still runs with the home of this desk."""
        return [entry.parent.name for entry in Path("/proc").glob("[0-9]*/environ") if self._is_home_in(entry)]

    def _is_home_in(self, environ: Path) -> bool:
        try:
            return f"HOME={self.home}".encode() in environ.read_bytes().split(b"\0")
        except OSError:
            return False


@pytest.fixture(params=list(PACKAGES))
def desk(request, npm_agents, tmp_path) -> Desk:
    return Desk(request.param, npm_agents, tmp_path)


async def test_it_does_a_task_and_goes_on_with_its_session(desk):
    async with ScriptedModel([Tool.shell("echo hi > made.txt; cat made.txt"), DONE, Text("AGAIN")]) as model:
        first = await desk.run(model.url, "remember the word heron")
        assert (first.status, first.text) == (Status.OK, "DONE"), first.error
        [call], [came] = desk.told(ToolCall), desk.told(ToolResult)
        second = await desk.run(model.url, "which word?", resume=first.session_id)
        asked = model.asked[-1]
    assert (desk.folder / "made.txt").read_text() == "hi\n"
    assert (call.tool_kind, call.input["command"]) == (ToolKind.SHELL, "echo hi > made.txt; cat made.txt")
    assert (came.id, came.ok) == (call.id, True)
    assert "hi" in came.output
    used = first.usage
    assert (used.input_tokens, used.output_tokens) == (2 * INPUT_OF_A_CALL, 2 * OUTPUT_OF_A_CALL)
    assert not used.incomplete
    assert (second.status, second.text, second.session_id) == (Status.OK, "AGAIN", first.session_id), second.error
    assert "heron" in json.dumps(asked.body)
    assert desk.processes() == []


async def test_a_key_that_is_refused_is_told_as_such(desk):
    async with ScriptedModel([Fault(401)]) as model:
        result = await desk.run(model.url)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.AUTH), result.error


async def test_a_refused_connection_is_no_success(npm_agents, tmp_path):
    async def refused(name: str) -> HarnessResult:
        root = tmp_path / name
        root.mkdir()
        # Opencode tries again for more than a minute, and says nothing meanwhile.
        secs = 15 if name == "opencode" else 60
        return await Desk(name, npm_agents, root).run("http://127.0.0.1:9", timeout_secs=secs)

    # At once: most of the time they wait before they try again.
    results = await asyncio.gather(*map(refused, PACKAGES))
    failed, ended = (Status.FAILED, Kind.NETWORK), (Status.TIMED_OUT, Kind.TIMEOUT)
    assert {result.harness: (result.status, result.failure_kind) for result in results} == {
        "opencode": ended,
        "gemini": failed,
        "goose": failed,
        "pi": failed,
    }


async def test_cancelled_nothing_of_it_is_left_nor_of_its_tool_in_a_session_of_its_own(desk):
    nap = f"{6000 + os.getpid()}.{time.monotonic_ns()}"
    async with ScriptedModel([Tool.shell(f"setsid --wait sleep {nap}"), DONE]) as model:
        running = asyncio.create_task(desk.run(model.url))
        async with asyncio.timeout(100):
            while not is_running(nap):
                assert not running.done(), running.result()
                await asyncio.sleep(0.1)
        assert desk.processes()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not is_running(nap)
    assert desk.processes() == []


@pytest.mark.parametrize("desk", ["opencode", "gemini", "goose"], indirect=True)
async def test_over_acp_a_gate_allows_one_command_and_keeps_it_from_another(desk):
    gate = Denies("forbidden")
    script = [Tool.shell("touch allowed.txt"), Tool.shell("touch forbidden.txt"), DONE]
    # Goose asks for a title at the same time, and does not say that it is goose.
    async with ScriptedModel(script, is_aside=lambda request: not request.tools) as model:
        result = await desk.run_over_acp(model.url, gate)
    assert result.status is Status.OK, result.error
    assert [file.name for file in desk.folder.iterdir()] == ["allowed.txt"]
    assert [event.allowed for event in desk.told(PermissionDecided)] == [True, False]
    assert len(gate.asked) == 2
    assert len(result.denied) == 1
    assert "touch forbidden.txt" in result.denied[0]
    assert desk.processes() == []


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


@pytest.mark.parametrize("name", list(PACKAGES))
async def test_honest_work_is_verified_and_merged_and_the_key_never_seen(play, monkeypatch, name):
    look = "env > seen; cat /proc/*/environ >> seen 2>/dev/null"
    async with ScriptedModel([Tool.shell(f"{look}; {MEND}"), DONE]) as model:
        reachable(monkeypatch, model, WIRES[name])
        request = wanted(play, name, WIRES[name].model)
        story = await play.sessions.start(request, Absent(yes=True), play.watching)
        assert any("sk-the-real-key-of-the-user" in str(call.headers) for call in model.asked)
    assert story.state is State.MERGED, story.message
    assert "'-'" in (play.project.root / "slug.py").read_text()
    assert "sk-the-real-key" not in (play.project.root / "seen").read_text()
    assert story.used.input_tokens
    [selected] = play.watching.of(events.EngineSelected)
    assert selected.version in PACKAGES[name]
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
