"""What a session looks like while it goes on: a few lines, as a function of its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from trueup.coder import CodeRequest, Finding, Severity, State, Step, Story, events
from trueup.contract import CheckCompleted, CheckStarted
from trueup.core.protocols import Event
from trueup.core.usage import Usage
from trueup.harness import Message, PlanText, Reasoning, ToolCall, UsageReported

from ._code_lines import noteworthy, one_line
from ._used import used_text

MOST_CHECKS = 10
MOST_FINDINGS = 5

Colour = Literal["running", "green", "red"]


class Board(Struct, frozen=True, kw_only=True):
    """What is known of a session at a moment.

    `turns_used` is what the engine used in each go that has ended, `calls_used` what it told of so far in this one.
    """

    intent: str
    most_iterations: int
    state: State = State.CREATED
    iteration: int = 0
    doing: str = ""
    checks: dict[str, Colour] = {}
    findings: tuple[Finding, ...] = ()
    turns_used: tuple[Usage, ...] = ()
    calls_used: tuple[Usage, ...] = ()

    @classmethod
    def begin(cls, request: CodeRequest) -> Board:
        """Of a session that is about to start."""
        return cls(intent=request.intent, most_iterations=request.limits.iterations)

    @classmethod
    def of(cls, story: Story) -> Board:
        """Of a session that is gone on with."""
        return cls(
            intent=story.request.intent,
            most_iterations=story.request.limits.iterations + story.iterations_granted,
            state=story.state,
            iteration=len(story.attempts),
            findings=tuple(story.verdict.findings) if story.verdict else (),
            turns_used=tuple(story.usage),
        )

    @property
    def used(self) -> Usage | None:
        """What the engine used as far as it told; None where it has not worked yet."""
        parts = (*self.turns_used, *self.calls_used)
        return Usage.total(parts) if parts else None

    def after(self, event: Event) -> Board:
        """The board once something more has happened."""
        changes = _of_the_checks(self, event) or _of_the_session(self, event)
        doing = _doing(event)
        return replace(self, **(changes or ({"doing": doing} if doing else {})))

    def lines(self, elapsed_secs: float) -> Iterator[str]:
        """The board for people."""
        iteration = f" · iteration {self.iteration} of {self.most_iterations}" if self.iteration else ""
        yield f"{self.state.value.replace('_', ' ')}{iteration} · {used_text(self.used)} · {elapsed_secs:.0f} s"
        if self.doing:
            yield f"  {self.doing}"
        yield from self._check_lines()
        yield from self._finding_lines()

    def _check_lines(self) -> Iterator[str]:
        shown = self.checks
        if len(shown) > MOST_CHECKS:
            green = sum(colour == "green" for colour in shown.values())
            shown = {name: colour for name, colour in shown.items() if colour != "green"}
            yield f"  {green} checks green"
        yield from (f"  {one_line(name)}: {colour}" for name, colour in [*shown.items()][:MOST_CHECKS])

    def _finding_lines(self) -> Iterator[str]:
        above_info = [finding for finding in self.findings if finding.severity is not Severity.INFO]
        yield from (
            f"  {finding.severity.value}: {one_line(finding.message)}" for finding in above_info[:MOST_FINDINGS]
        )
        if len(above_info) > MOST_FINDINGS:
            yield f"  and {len(above_info) - MOST_FINDINGS} findings more"


def _of_the_checks(board: Board, event: Event) -> dict[str, Any]:
    match event:
        case CheckStarted(name=name):
            return {"checks": {**board.checks, name: "running"}}
        case CheckCompleted(result=result):
            return {"checks": {**board.checks, result.name: "green" if result.passed else "red"}}
        case events.FindingRaised(finding=finding):
            return {"findings": (*board.findings, finding)}
    return {}


def _of_the_session(board: Board, event: Event) -> dict[str, Any]:
    match event:
        case events.StateChanged(state=state):
            return {"state": state, "doing": "", "checks": {}}
        case events.IterationStarted(number=number):
            most = max(board.most_iterations, number)
            return {"iteration": number, "most_iterations": most, "doing": "", "findings": ()}
        case UsageReported(usage=usage):
            return {"calls_used": (*board.calls_used, usage)}
        case events.EngineEnded(usage=usage):
            return {"turns_used": (*board.turns_used, usage), "calls_used": (), "doing": ""}
    return {}


def _doing(event: Event) -> str:
    """What the engine or trueup is about, where the event says so."""
    return (noteworthy(event) or "") if isinstance(event, Step | PlanText | Message | Reasoning | ToolCall) else ""
