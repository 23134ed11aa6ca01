"""A conversation, requests about it, and programs that stand in for providers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trueup.skills._model import Message, RespondRequest, Role, SkillRef
from trueup.testing import EventLog

TALK = (Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"), Message(Role.USER, "Again?"))
SKILL = SkillRef(name="greet", path="/skills/greet", instructions="Greet people.")

PROVIDER = """\
import json, os, sys
{before}
raw = sys.stdin.buffer.read()
asked = json.loads(raw)
with open({log!r}, "a") as log:
    log.write(json.dumps({{
        "asked": asked, "raw_end": raw[-2:].decode(), "cwd": os.getcwd(), "workspace": os.environ.get("TRUEUP_WORKSPACE"),
        "argv": sys.argv[1:]}}) + "\\n")
{after}
"""


class ProgramProvider:
    """A command provider: a script of Python, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "provider.py"
        self._log = folder / "asked.jsonl"

    def answers(self, answer: Any) -> list[str]:
        """A program that reads its request and prints this."""
        return self.does(after=f"print({json.dumps(answer)!r})")

    def does(self, *, before: str = "", after: str = "") -> list[str]:
        """A program of these lines of Python, before and after it reads its request."""
        self.path.write_text(PROVIDER.format(before=before, after=after, log=str(self._log)))
        return [sys.executable, "-I", "-S", "provider.py"]

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    @property
    def asked(self) -> dict[str, Any]:
        return self.calls[-1]["asked"]


@pytest.fixture
def program(tmp_path: Path) -> ProgramProvider:
    folder = tmp_path / "project"
    folder.mkdir()
    return ProgramProvider(folder)


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    folder = tmp_path / "cell"
    folder.mkdir()
    return folder


@pytest.fixture
def request_to(cell: Path) -> Callable[..., RespondRequest]:
    """Asks for a reply to the conversation."""

    def ask(**changes: Any) -> RespondRequest:
        usual = {"platform": "claude-code", "model": "m", "skill": SKILL, "messages": TALK, "folder": cell}
        return RespondRequest(**{**usual, "recorder": EventLog(), **changes})

    return ask
