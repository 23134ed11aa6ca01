"""A cell from its beginning to its report."""

from __future__ import annotations

import time

from msgspec.structs import replace

from trueup.core.errors import TrueupError
from trueup.runs import RunStore

from .._model import Provider
from .._report import CellReport, CellStatus, EvalOutcome, Transcript
from ._bounds import kept
from ._calls import Calls
from ._conversation import Conversation
from ._ending import Stage, cell_error, status_of
from ._evidence import Evidence
from ._grading import Grading
from ._recording import CellRun, recorded
from ._spec import CellSpec
from ._workspace import cell_workspace

EVALS_AT_ONCE = 8
SHORTENED_NOTE = "outputs of tools are shortened in this report"


class _Cell:
    """A cell while it runs."""

    def __init__(self, spec: CellSpec, provider: Provider, runs: RunStore | None, owner: str | None) -> None:
        self.spec = spec
        self.notes: list[str] = []
        self.run = CellRun(runs, self.notes, owner)
        self.calls = Calls(provider, self.run)
        self.conversation = Conversation(spec, self.notes)
        self.stage = Stage.WORKSPACE
        self.outcomes: list[EvalOutcome] = []

    async def work(self, at_once: int) -> TrueupError | None:
        """All of it; the error that kept it from a verdict, if there was one."""
        try:
            async with cell_workspace(self.spec.case.workspace, self.notes) as folder:
                self.stage = Stage.CONVERSATION
                await self.conversation.hold(folder, self.calls, self.run)
                self.stage = Stage.EVALS
                talk = self.conversation
                evidence = Evidence(
                    spec=self.spec,
                    messages=tuple(talk.messages),
                    turns=talk.turns,
                    folder=folder,
                    skill_usage=self.calls.skill_usage,
                    events_told=talk.events_told,
                    mock_calls=talk.mock_calls,
                    activated=talk.activated,
                )
                self.outcomes, error = await Grading(evidence, self.calls, self.run, at_once).grade({})
                return error
        except TrueupError as error:
            return error

    def report(self, error: TrueupError | None, duration_secs: float) -> CellReport:
        talk = self.conversation
        messages, shortened = kept(talk.messages)
        status = status_of(self.outcomes, error)
        return CellReport(
            case=self.spec.case.name,
            skill=self.spec.skill.path,
            platform=self.spec.platform,
            model=self.spec.model,
            turns=talk.turns,
            evals=self.outcomes,
            transcript=Transcript(messages),
            usage=self.calls.usage,
            skill_usage=self.calls.skill_usage,
            judge_usage=self.calls.judge_usage,
            repeat=self.spec.repeat,
            arm=self.spec.arm,
            key=self.spec.key,
            run_id=self.run.run_id,
            duration_secs=duration_secs,
            activated=talk.activated if talk.turns else None,
            events_told=talk.events_told,
            mock_calls=talk.mock_calls,
            notes=[*self.notes, *([SHORTENED_NOTE] if shortened else [])],
            status=status,
            passed=status is CellStatus.PASSED,
            error=None if error is None else cell_error(error, self.stage),
        )


async def run_cell(
    spec: CellSpec,
    provider: Provider,
    *,
    runs: RunStore | None = None,
    owner: str | None = None,
    evals_at_once: int = EVALS_AT_ONCE,
) -> CellReport:
    """Run a cell: its workspace, the conversation, its evals. What goes wrong is in the report.

    With `runs`, it is a run of its own; `owner` is who ends it should this process die.
    """
    cell = _Cell(spec, provider, runs, owner)
    began = time.monotonic()
    async with recorded(cell.run, spec):
        error = await cell.work(evals_at_once)
        report = cell.report(error, time.monotonic() - began)
        await cell.run.end(report)
    # What could not be recorded at the very end is known only now.
    return replace(report, notes=report.notes + [note for note in cell.notes if note not in report.notes])
