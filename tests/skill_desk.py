"""A desk at which agents answer: programs on a PATH, a home, the folder of a cell and a skill."""

from __future__ import annotations

from pathlib import Path

from trueup.skills._case import HarnessProviderConfig, Mock
from trueup.skills._harness_provider import HarnessProvider
from trueup.skills._model import AssistantTurn, Message, RespondRequest, Role, SkillRef
from trueup.testing import EventLog, ScriptedAgent

WORDS = "Herons stand still in shallow water until a fish comes by."


class Desk:
    """Where a provider is tried. Its agents do what a script in the prompt says."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "programs"
        self.home = root / "home"
        self.folder = root / "cell"
        for made in (self.programs, self.home, self.folder):
            made.mkdir()
        self.environ = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": "sk-scripted",
            "OPENAI_API_KEY": "sk-scripted",
        }
        self.log = EventLog()
        self.skill = self.write_skill(root / "skills" / "heron")

    def write_skill(self, folder: Path, body: str = WORDS) -> SkillRef:
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: About herons.\n---\n{body}\n")
        return SkillRef(folder.name, str(folder), body)

    def add(self, *names: str) -> None:
        """Put scripted agents on the PATH."""
        for name in names:
            ScriptedAgent(speak=name).install(self.programs / name)  # type: ignore[arg-type]

    def add_program(self, name: str, script: str) -> None:
        """Put a shell script on the PATH."""
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def provider(self, **config) -> HarnessProvider:
        return HarnessProvider(HarnessProviderConfig(**config), self.environ, self.folder)

    def request(self, *said: str, platform: str = "claude-code", **more) -> RespondRequest:
        """What a cell asks: messages of the user and the assistant in turn."""
        roles = (Role.USER, Role.ASSISTANT)
        messages = tuple(Message(roles[number % 2], text) for number, text in enumerate(said))
        asked = {"skill": self.skill, "model": "", "folder": self.folder, "recorder": self.log, **more}
        return RespondRequest(platform=platform, messages=messages, **asked)

    async def respond(self, *said: str, platform: str = "claude-code", delivery: str = "system", **more):
        asked = self.request(*said, platform=platform, **more)
        turn = await self.provider(delivery=delivery).respond(asked)
        assert isinstance(turn, AssistantTurn)
        return turn


def script(*lines: str) -> str:
    """A message of a user that has a scripted agent do something."""
    return "\n".join(["Please.", *(f"SCRIPT: {line}" for line in lines)])


# The agent's own command line, as a tool of it sees it.
ARGV = r"shell tr '\0' '\n' < /proc/$PPID/cmdline"


def argv_told(turn: AssistantTurn) -> list[str]:
    return next(event.output or "" for event in turn.events if event.kind == "tool_result").splitlines()


def mocks(*declared: Mock) -> dict[str, tuple[Mock, ...]]:
    return {"mocks": declared}
