"""A checkout, a plain launcher, and a model on loopback for the native agent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trueup.core.process import Command, Process
from trueup.core.protocols import Action, Decision, Gate
from trueup.harness import Message, PermissionDecided, Retried, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.model import Access
from trueup.native import Job, Outcome, Voice, work
from trueup.testing import EventLog, ScriptedModel

WIRES = {
    "anthropic": "claude-opus-5-5@{url}",
    "chat": "openai-compatible:scripted-model@{url}/v1",
    "responses": "gpt-6.1-sol@{url}/v1",
}

VOICE = Voice(
    message=Message,
    tool_call=lambda name, id_, kind, input_: ToolCall(name, id_, ToolKind(kind), input_),
    tool_result=ToolResult,
    permission=PermissionDecided,
    usage=UsageReported,
    retried=Retried,
)


class Here:
    """A `Launcher` that starts programs in a folder, without walls."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def launch(self, command: Command):
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LANG": "C.UTF-8", **(command.env or {})}
        placed = msgspec.structs.replace(command, cwd=self._folder / command.cwd, env=env)
        async with Process(placed) as process:
            yield process


class Denies:
    """A gate that refuses what names a word, and remembers what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[Action] = []

    async def decide(self, action: Action) -> Decision:
        self.asked.append(action)
        refused = self.word in str(action.params)
        return Decision(allowed=not refused, rule="house", reason="not in this house" if refused else "")


class Desk:
    """A git checkout to work in, and everything that the agent told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launcher = Here(folder)
        self.log = EventLog()
        subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
        (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")

    async def work(
        self, model: ScriptedModel, *, wire: str = "anthropic", gate: Gate | None = None, **job: Any
    ) -> Outcome:
        given = {
            "prompt": "make add() correct",
            "model": WIRES[wire].format(url=model.url),
            "access": Access(retry_delays_secs=(0.01, 0.01), timeout_secs=30),
            **job,
        }
        return await work(Job(**given), self.launcher, self.log, VOICE, gate)

    def heard(self, kind: type) -> list[Any]:
        return [event for event in self.log.events if isinstance(event, kind)]

    async def told(self, *calls: Any, **job: Any) -> list[str]:
        """Have the model make calls, a turn for each; what it was told of each."""
        async with ScriptedModel([*calls, "done"]) as model:
            outcome = await self.work(model, **job)
            assert outcome.ok, outcome.error
            return model.asked[-1].tool_results


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def denies() -> Callable[[str], Denies]:
    return Denies


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for every vendor, and no other way to reach a real one."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-scripted-0123456789")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
