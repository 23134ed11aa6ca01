"""What real agents once printed, and what is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trueup.core.process import Finished, Output
from trueup.core.protocols import Event
from trueup.harness import HarnessRequest, Mode, Outcome
from trueup.harness.agents import AGENTS, Listening

RECORDED = Path(__file__).parent / "harness" / "recorded"


def request(**asked: Any) -> HarnessRequest:
    return HarnessRequest(**{"prompt": "do it", "mode": Mode.FULL, **asked})


def listening(agent: str, **asked: Any) -> Listening:
    """Who listens to an agent that was put a request."""
    put = request(**asked)
    dialect = AGENTS[agent]()
    return dialect.invoke(put, asks=False).conversation or dialect.converse(put)


def lines_of(agent: str, name: str) -> list[str]:
    """What was printed: as `.jsonl` where each line is a record, else as `.txt`."""
    file = RECORDED / agent / f"{name}.jsonl"
    return (file if file.exists() else file.with_suffix(".txt")).read_text(encoding="utf-8").splitlines()


def ended(exit_code: int | None = 0, stderr: str = "") -> Finished:
    said = stderr.encode()
    return Finished(exit_code=exit_code, duration_secs=1, stderr=Output(said, len(said)))


def heard(agent: str, name: str, *, exit_code: int = 0, stderr: str = "", **asked: Any) -> tuple[list[Event], Outcome]:
    """What is told of a recorded run, and what it comes to."""
    conversation = listening(agent, **asked)
    events = [event for line in lines_of(agent, name) for event in conversation.feed(line)]
    return events, conversation.outcome(ended(exit_code, stderr))


def of_kind(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
