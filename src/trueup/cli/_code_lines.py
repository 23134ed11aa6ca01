"""What happens in a session, in one line each, as people read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trueup.coder import Severity, Step, events
from trueup.contract import CheckCompleted, CheckStarted
from trueup.core.protocols import Event
from trueup.core.text import visible
from trueup.harness import Message, PermissionDecided, PlanText, Reasoning, Retried, ToolCall, ToolResult

from ._progress import sentence
from ._used import used_text

LONGEST_LINE = 200


def noteworthy(event: Event) -> str | None:
    """An event in one line; None for one that says nothing to people."""
    said = _SENTENCES[type(event)](event) if type(event) in _SENTENCES else None
    return one_line(said or "") or None


def one_line(text: str) -> str:
    """What others wrote, in one line that cannot act on a terminal and is not too long."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def diff_text(diff: events.DiffReady) -> str:
    """How much was changed."""
    return f"{counted(diff.files, 'file')} changed, +{diff.insertions} -{diff.deletions}"


def tool_text(call: ToolCall) -> str:
    """A tool call."""
    return f"{call.name} {json.dumps(call.input, ensure_ascii=False) if call.input else ''}"


def _state(event: events.StateChanged) -> str:
    return ": ".join(part for part in (event.state.value.replace("_", " "), event.reason, event.message) if part)


def _baseline(event: events.ContractBaseline) -> str:
    classes = ", ".join(f"{check.name} {check.check_class.value}" for check in event.baseline.checks)
    return "; ".join([f"on the base: {classes}", *event.problems])


def _engine(event: events.EngineSelected) -> str:
    named = " ".join(part for part in (event.engine, event.version, event.model) if part)
    without = f"; without {', '.join(event.left_out)}" if event.left_out else ""
    return f"engine {named}, sandbox {event.sandbox}, network {event.network}{without}"


def _engine_ended(event: events.EngineEnded) -> str:
    how = event.message or f"exit {event.exit_code}"
    return f"the engine stopped after {event.duration_secs:.1f} s: {how}; {used_text(event.usage)}"


def _finding(event: events.FindingRaised) -> str | None:
    finding = event.finding
    return None if finding.severity is Severity.INFO else f"{finding.severity.value}: {finding.message}"


def _delivered(event: events.MergeCompleted) -> str:
    parts = (event.deliver.value, (event.commit or "")[:12], event.branch, event.patch, event.note)
    return f"delivered: {' '.join(part for part in parts if part)}"


_SENTENCES: dict[type[Event], Callable[[Any], str | None]] = {
    Step: sentence,
    CheckStarted: sentence,
    CheckCompleted: sentence,
    PlanText: lambda event: event.text,
    ToolCall: tool_text,
    ToolResult: lambda event: f"failed: {event.output}" if event.ok is False else None,
    Message: lambda event: event.text,
    Reasoning: lambda event: event.text,
    Retried: lambda event: f"tried again by the engine itself, attempt {event.attempt}: {event.message}",
    PermissionDecided: lambda event: None if event.allowed else f"refused {event.tool}: {event.reason}",
    events.StateChanged: _state,
    events.ContractProposed: lambda event: (
        f"contract with {counted(len(event.contract.checks), 'check')}, {event.source}"
    ),
    events.ContractBaseline: _baseline,
    events.EngineSelected: _engine,
    events.IterationStarted: lambda event: f"iteration {event.number}",
    events.EngineEnded: _engine_ended,
    events.DiffReady: diff_text,
    events.FindingRaised: _finding,
    events.VerdictReached: lambda event: "; ".join([event.verdict.outcome.value, *event.verdict.reasons]),
    events.BudgetSpent: lambda event: (
        f"not reported by the engine, and so not limited: {', '.join(event.unmetered)}" if event.unmetered else None
    ),
    events.UserInputRequested: lambda event: f"waits for a person ({event.about}): {event.message}",
    events.UserInput: lambda event: f"told: {event.text}",
    events.Approved: lambda event: f"approved, to be delivered: {event.deliver.value}",
    events.BaseMoved: lambda event: f"the base moved to {event.base[:12]}; what would be merged now is verified again",
    events.MergeCompleted: _delivered,
    events.ErrorHappened: lambda event: f"error: {event.message}",
}
