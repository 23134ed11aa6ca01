"""A cell as a run, so that it can be opened and looked at. What cannot be recorded is noted, and breaks no cell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import InfrastructureError, TrueupError
from trueup.core.protocols import Event
from trueup.core.usage import Usage
from trueup.runs import Ended, EndStatus, EventRecord, ModelTurn, Record, RunStore, Started, as_record

from .._model import ToolEvent
from .._report import CellError, CellReport, CellStatus, EvalOutcome
from ._spec import CellSpec

KIND = "cell"
_TOOL_EVENTS = frozenset({"tool_call", "tool_result"})


class Call(Struct, frozen=True, kw_only=True):
    """One call of a provider: which (`respond`, `user`, `judge`, `done_when`), about what, and what it came to.

    `about` is None where it was written down when the call began.
    """

    op: str
    model: str
    text: str
    duration_secs: float
    usage: Usage | None = None
    about: dict[str, Any] | None = None
    tools: tuple[str, ...] = ()


class CellRun:
    """Writes a cell down. Also the `Recorder` of whatever a harness tells while it works.

    `tools_told` counts the tool events that were told that way. Without a store, or after something could not be written, it keeps still.
    """

    def __init__(self, store: RunStore | None, notes: list[str], owner: str | None = None) -> None:
        self.run_id: str | None = None
        self.tools_told = 0
        self._store = store
        self._notes = notes
        self._owner = owner

    async def begin(self, spec: CellSpec, regraded: str | None = None) -> None:
        if self._store is None:
            return
        try:
            info = await self._store.start(_started(spec, regraded), kind=KIND, owner=self._owner)
            self.run_id = info.run_id
        except TrueupError as error:
            self._give_up(error)

    async def record(self, event: Event) -> None:
        """Take something that happens while the skill replies."""
        self.tools_told += type(event).__struct_config__.tag in _TOOL_EVENTS
        await self._append(as_record(event))

    async def begins(self, op: str, about: dict[str, Any]) -> None:
        """Write down that a call begins, of which there is something to see before it ends."""
        await self._append(EventRecord(op, about))

    async def called(self, call: Call) -> None:
        """Write an answer of the provider down as a turn, behind what was asked."""
        turn = ModelTurn(
            assistant_text=call.text,
            requested_tool_calls=[{"name": name} for name in call.tools],
            model_id=call.model or None,
            token_usage=call.usage,
            duration_ms=call.duration_secs * 1000,
        )
        asked = [] if call.about is None else [EventRecord(call.op, call.about)]
        await self._append(*asked, turn)

    async def failed(self, op: str, about: dict[str, Any], error: TrueupError) -> None:
        """Write down that a call of the provider did not answer."""
        await self._append(EventRecord(f"{op}_failed", {**about, "kind": error.kind.value, "message": str(error)}))

    async def saw_tools(self, events: tuple[ToolEvent, ...]) -> None:
        """Write tool events down that came together with a reply."""
        fields = ("name", "input", "output", "ok")
        found = (
            (event.kind, {name: value for name in fields if (value := getattr(event, name)) not in (None, "")})
            for event in events
        )
        await self._append(*(EventRecord(kind, data) for kind, data in found))

    async def judged(self, outcome: EvalOutcome) -> None:
        # What a person looks for comes first, before the detail.
        first = {"label": outcome.label, "passed": outcome.passed, "reason": outcome.reason}
        await self._append(EventRecord("eval", first | msgspec.to_builtins(outcome)))

    async def end(self, report: CellReport) -> None:
        """Close the run of a cell that came to its end."""
        outcome = {"status": report.status.value, "passed": report.passed, "turns": report.turns, "key": report.key}
        status: EndStatus = "incomplete" if report.error is not None else "completed"
        why = None if report.error is None else _why(report.error)
        await self._end(Ended(status, summary=_summary(report), outcome=outcome, termination=why))

    async def give_up(self, why: str, *, cancelled: bool) -> None:
        """Close the run of a cell that has no report."""
        await self._end(Ended("cancelled" if cancelled else "incomplete", termination=why))

    async def _append(self, *records: Record) -> None:
        if self._store is None or self.run_id is None or not records:
            return
        try:
            appended = await self._store.append(self.run_id, records, owner=self._owner)
            if appended.dropped is not None:
                raise InfrastructureError(f"run {self.run_id} takes no more records ({appended.dropped})")
        except TrueupError as error:
            self._give_up(error)

    async def _end(self, ended: Ended) -> None:
        if self._store is None or self.run_id is None:
            return
        try:
            await self._store.end(self.run_id, ended, owner=self._owner)
            self._store = None
        except TrueupError as error:
            self._give_up(error)

    def _give_up(self, error: TrueupError) -> None:
        self._store = None
        self._notes.append(f"the run of this cell is not recorded as a whole: {error}")


@asynccontextmanager
async def recorded(run: CellRun, spec: CellSpec, regraded: str | None = None) -> AsyncIterator[None]:
    """Begin the run of a cell, and leave none open behind that was cancelled or broke."""
    beginning = asyncio.ensure_future(run.begin(spec, regraded))
    try:
        await asyncio.shield(beginning)
        yield
    except BaseException as error:
        await asyncio.shield(_give_up(run, beginning, error))
        raise


async def _give_up(run: CellRun, beginning: asyncio.Future[None], error: BaseException) -> None:
    # Whether there is a run to end is known only when it has begun.
    await asyncio.wait([beginning])
    cancelled = isinstance(error, asyncio.CancelledError)
    await run.give_up("the cell was cancelled" if cancelled else f"trueup failed: {error!r}", cancelled=cancelled)


def _started(spec: CellSpec, regraded: str | None) -> Started:
    data: dict[str, Any] = {
        "case": spec.case.name,
        "skill": spec.skill.name,
        "platform": spec.platform,
        "platform_version": spec.platform_version,
        "model": spec.model,
        "repeat": spec.repeat,
        "arm": spec.arm.value,
        "delivery": spec.delivery.value,
        "judges": list(spec.judges),
        "key": spec.key,
        "input": spec.case.input,
    }
    if regraded is not None:
        data["regrades"] = regraded
    verb = "regrade" if regraded is not None else "test"
    arm = "with" if spec.skill_ref is not None else "without"
    intent = f"{verb} {spec.case.name!r} {arm} skill {spec.skill.name} on {_subject(spec)}, repeat {spec.repeat}"
    labels = ", ".join(each.name or str(each.__struct_config__.tag) for each in spec.case.evals)
    return Started(intent, agent_id=spec.platform, agent_name=_subject(spec), outcome_description=labels, data=data)


def _subject(spec: CellSpec) -> str:
    return f"{spec.platform} {spec.model}".strip()


def _summary(report: CellReport) -> str:
    if report.error is not None:
        return f"error: {_why(report.error)}"
    passed = sum(each.passed for each in report.evals)
    failed = ", ".join(each.label for each in report.evals if not each.passed)
    told = f"{report.status.value}: {passed} of {len(report.evals)} evals passed"
    return f"{told}; not {failed}" if report.status is CellStatus.FAILED else told


def _why(error: CellError) -> str:
    return f"{error.context}: {error.message}" if error.context else error.message
