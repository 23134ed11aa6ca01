"""An ACP agent that is a real program, and a ground on which it is run through the real runner."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from trueup.core.process import Command, Process
from trueup.core.protocols import Action, Decision, Event
from trueup.harness import HarnessRequest, HarnessResult
from trueup.harness.acp import NAMED, AcpAgent, AcpHarness, Patience

PROGRAM = Path(__file__).with_name("scripted_acp_agent.py")
RECORDED = Path(__file__).parent.parent / "recorded"
PYTHON = (str(Path(sys.executable).resolve()), "-I", "-S", str(PROGRAM))


class Answering:
    """A gate that gives one answer to everything, and remembers what it was asked."""

    def __init__(self, decide: Callable[[Action], Decision]) -> None:
        self._decide = decide
        self.asked: list[Action] = []

    async def decide(self, action: Action) -> Decision:
        self.asked.append(action)
        return self._decide(action)


def said(text: str, **more: Any) -> list[Any]:
    """A step: the agent says something."""
    return told({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **more})


def told(update: dict[str, Any], session: str = "session-1") -> list[Any]:
    """A step: the agent tells something of its work."""
    return ["send", {"method": "session/update", "params": {"sessionId": session, "update": update}}]


class Script(list[Any]):
    """Steps of an agent that is asked in the usual order, until it has its prompt."""

    OPTIONS = (
        {"optionId": "a", "kind": "allow_always", "name": "No"},
        {"optionId": "b", "kind": "allow_once", "name": "Reject"},
        {"optionId": "c", "kind": "reject_once", "name": "Allow"},
    )

    def __init__(self, *, capabilities: dict[str, Any] | None = None, **opened: Any) -> None:
        info = {"name": "scripted", "version": "1.2.3"}
        told = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities or {}}
        super().__init__([["hear", "initialize"], ["answer", "initialize", told]])
        if capabilities is None:
            self.then(["hear", "session/new"], ["answer", "session/new", {"sessionId": "session-1", **opened}])

    def then(self, *steps: list[Any]) -> Script:
        self.extend(steps)
        return self

    def prompted(self) -> Script:
        return self.then(["hear", "session/prompt"])

    def asks(self, call: dict[str, Any], options: Any = OPTIONS, writes: str | None = None) -> Script:
        """Ask for a call; with a file, write it where that was allowed once."""
        asked = {"sessionId": "session-1", "toolCall": {"toolCallId": "t", **call}, "options": options}
        number = len(self)
        return self.then(["ask", number, asked], ["hear_answer", number, writes, "b"])

    def asks_all(self, calls: list[dict[str, Any]]) -> Script:
        """Ask for each of some calls, which have nothing to do with each other."""
        for number, call in enumerate(calls):
            self.asks({"toolCallId": str(number), **call})
        return self

    def ends(self, reason: str = "end_turn", **more: Any) -> Script:
        return self.then(["answer", "session/prompt", {"stopReason": reason, **more}])


class Ground:
    """Where an agent is run: in a folder, as it is; what is recorded is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.events: list[Event] = []
        self._log = folder / "heard.jsonl"

    @asynccontextmanager
    async def launch(self, command: Command):
        placed = Command(
            argv=command.argv,
            cwd=self.work / command.cwd,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **(command.env or {})},
            stdin=command.stdin,
            grace_secs=command.grace_secs,
            output_limit=command.output_limit,
        )
        async with Process(placed) as process:
            yield process

    async def record(self, event: Event) -> None:
        self.events.append(event)

    def agent(self, steps: list[Any], like: str | None = None, **known: Any) -> AcpHarness:
        """An agent that does these steps; with `like`, all that is known of a named one holds for it."""
        script = self.folder / "steps.json"
        script.write_text(json.dumps(steps))
        argv = (*PYTHON, str(script), str(self._log))
        traits = {name: getattr(NAMED[like], name) for name in AcpAgent.__struct_fields__} if like else {}
        patience = Patience(answer_secs=known.pop("answer_secs", 20), cancel_secs=0.5, grace_secs=0.2)
        agent = AcpAgent(**{**traits, **known, "argv": argv})
        return AcpHarness("acp:scripted", agent, {"PATH": "/usr/bin:/bin"}, patience)

    def replay(self, conversation: str, like: str | None = None) -> AcpHarness:
        """The agent's side of a recorded conversation."""
        return self.agent(list(steps_of(RECORDED / conversation)), like)

    async def run(self, harness: AcpHarness, gate: Any = None, **request: Any) -> HarnessResult:
        asked = HarnessRequest(**{"prompt": "do it", "cwd": str(self.work), **request})
        return await harness.run(asked, self, self, gate)

    @property
    def heard(self) -> list[dict[str, Any]]:
        """Every message that the agent heard."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def heard_of(self, method: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.heard if message.get("method") == method]

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """How each of its questions was answered."""
        results = (message["result"] for message in self.heard if "result" in message)
        return [result["outcome"] for result in results]

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def steps_of(recording: Path):
    """A recorded conversation as steps of its agent."""
    asked: dict[Any, str] = {}
    for line in recording.read_text().splitlines():
        message = json.loads(line)
        is_client = message.pop("dir") == "client->agent"
        if is_client and "method" in message:
            asked[message.get("id")] = message["method"]
            yield ["hear", message["method"]]
        elif is_client:
            yield ["hear_answer", message["id"]]
        elif "method" in message:
            yield ["send", message]
        elif "error" in message:
            yield ["fail", asked[message["id"]], message["error"]]
        else:
            yield ["answer", asked[message["id"]], message["result"]]


@pytest.fixture
def ground(tmp_path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def script() -> Script:
    """An agent that has its prompt."""
    return Script().prompted()


@pytest.fixture
def allowing() -> Answering:
    return Answering(lambda _: Decision(allowed=True))


@pytest.fixture
def refusing() -> Answering:
    return Answering(lambda _: Decision(allowed=False, reason="not today"))
