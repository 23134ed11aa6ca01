"""The native agent behind the interface of every other agent, in a real workspace."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid

import pytest

from agents_at_work import changed
from checkouts import Checkout
from trueup.core.errors import Kind
from trueup.harness import (
    EngineError,
    Harness,
    HarnessRequest,
    HarnessResult,
    Message,
    Mode,
    PermissionDecided,
    Probe,
    Retried,
    SessionNamed,
    Status,
    Task,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
)
from trueup.harness._harness_engine import HarnessEngine
from trueup.harness._vendors import ANTHROPIC
from trueup.model import Message as Turn
from trueup.native import EDITING, LOOKING, TOOLS, Job, Limits, Voice, work
from trueup.testing import EventLog, Fault, ScriptedModel, Tool
from trueup.workspace import NO_SANDBOX, Layers, Workspace, find_backend
from trueup.workspace._mirror import Mirror
from trueup.workspace._repository import Repository

VOICE = Voice(
    message=Message,
    tool_call=lambda name, id_, kind, input_: ToolCall(name, id_, ToolKind(kind), input_),
    tool_result=ToolResult,
    permission=PermissionDecided,
    usage=UsageReported,
    retried=Retried,
)
OFFERED = {Mode.READ_ONLY: LOOKING, Mode.EDIT: EDITING, Mode.FULL: TOOLS}


class NativeHarness:
    """A `Harness` without a program."""

    name = "native"

    def __init__(self) -> None:
        self._kept: dict[str, list[Turn]] = {}

    async def probe(self) -> Probe:
        return Probe(harness=self.name, installed=True)

    async def run(self, request, launcher, recorder, gate=None) -> HarnessResult:
        if request.resume is not None and request.resume not in self._kept:
            return HarnessResult(harness=self.name, status=Status.FAILED, failure_kind=Kind.SESSION_NOT_FOUND)
        session, started = request.resume or uuid.uuid4().hex, time.monotonic()
        await recorder.record(SessionNamed(session))
        limits = Limits(turns=request.turns, usd=request.budget_usd)
        job = Job(
            prompt=request.prompt,
            model=request.model,
            system=request.system,
            history=self._kept.get(session, ()),
            tools=OFFERED[request.mode],
            limits=limits,
        )
        try:
            async with asyncio.timeout(request.timeout_secs):
                done = await work(job, launcher, recorder, VOICE, gate)
        except TimeoutError:
            return HarnessResult(harness=self.name, status=Status.TIMED_OUT, failure_kind=Kind.TIMEOUT)
        self._kept[session] = done.history
        return HarnessResult(
            harness=self.name,
            status=Status.OK if done.ok else Status.FAILED,
            text=done.text,
            session_id=session,
            usage=done.usage,
            failure_kind=done.failure_kind,
            error=done.error,
            denied=done.denied,
            exit_code=0 if done.ok else 1,
            duration_secs=time.monotonic() - started,
        )


@pytest.fixture(params=["best sandbox", "no sandbox"])
async def workspace(request, tmp_path, monkeypatch):
    """A workspace of a repository with one file."""
    monkeypatch.setenv("PATH", f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin")
    user = Checkout(tmp_path / "user")
    user.write("calc.py", "def add(a, b):\n    return a - b\n")
    user.commit("the base")
    repository = await Repository.open(user.root)
    mirror = await Mirror.open(repository, tmp_path / "cache" / "mirror")
    store = tmp_path / "store" / "user"
    store.mkdir(parents=True)
    backend = NO_SANDBOX if request.param == "no sandbox" else await find_backend()
    made = await Workspace.create(Layers(repository, mirror, store, backend), user.head)
    yield made
    await made.discard()


def task(model: ScriptedModel, **more) -> Task:
    return Task(prompt="make add() correct", prompt_file="/nowhere", model=f"claude-opus-5-5@{model.url}", **more)


async def test_it_works_in_a_workspace_as_any_engine_does(workspace):
    harness: Harness = NativeHarness()
    engine = HarnessEngine(harness, ANTHROPIC, {})
    script = [
        [Tool.read("calc.py"), Tool("search", {"pattern": "add"})],
        [Tool.edit("calc.py", "a - b", "a + b"), Tool.write("notes/done.md", "done\n")],
        Tool.shell("cat notes/done.md; python3 -c 'import calc; print(calc.add(2, 3))'"),
        "add() adds now.",
    ]
    log = EventLog()
    async with workspace.open() as shell, ScriptedModel(script) as model:
        done = await engine.work(task(model), shell, log)
        assert model.asked[-1].tool_results[-1] == "done\n5\n"
        assert f"Working directory: {shell.root}\n" in model.asked[0].system
    assert (done.exit_code, done.output_tail) == (0, "add() adds now.")
    assert changed(await workspace.snapshot()) == {"calc.py": "modified", "notes/done.md": "added"}
    assert len([event for event in log.events if isinstance(event, UsageReported)]) == 4


async def test_the_key_is_where_the_tools_are_only_without_a_sandbox(workspace):
    async with workspace.open() as shell, ScriptedModel([Tool.shell("env"), "Done."]) as model:
        await HarnessEngine(NativeHarness(), ANTHROPIC, {}).work(task(model), shell, EventLog())
        assert ("sk-scripted" in model.asked[-1].tool_results[0]) is not shell.is_confined


async def test_an_engine_goes_on_with_its_conversation_or_begins_anew(desk):
    engine = HarnessEngine(NativeHarness(), ANTHROPIC, {})
    async with ScriptedModel(["First.", "Second.", "Third."]) as model:
        await engine.work(task(model), desk.launcher, desk.log)
        [named] = desk.heard(SessionNamed)
        await engine.work(task(model, resume=named.session_id), desk.launcher, desk.log)
        await engine.work(task(model, resume="forgotten"), desk.launcher, desk.log)
        assert [request.answers_so_far for request in model.asked] == [0, 1, 0]


async def test_an_engine_fails_with_the_kind_of_what_went_wrong(desk):
    async with ScriptedModel([Fault(401)]) as model:
        with pytest.raises(EngineError) as raised:
            await HarnessEngine(NativeHarness(), ANTHROPIC, {}).work(task(model), desk.launcher, desk.log)
    assert raised.value.kind is Kind.AUTH
    assert not raised.value.transient


async def test_time_is_kept_from_outside(desk):
    async with ScriptedModel([Tool.shell("sleep 271.8"), "Done."]) as model:
        request = HarnessRequest(prompt="wait", model=f"claude-opus-5-5@{model.url}", timeout_secs=1)
        result = await NativeHarness().run(request, desk.launcher, desk.log)
    assert result.status is Status.TIMED_OUT
