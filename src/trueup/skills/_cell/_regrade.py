"""Evals once more, on a conversation that was held before."""

from __future__ import annotations

import time

from msgspec.structs import replace

from trueup.runs import RunStore

from .._model import Provider
from .._report import CellReport, CellStatus, EvalOutcome
from ._calls import Calls
from ._ending import Stage, cell_error, status_of
from ._evidence import Evidence
from ._grading import IN_WORKSPACE, Grading
from ._labels import labels
from ._recording import CellRun, recorded
from ._run import EVALS_AT_ONCE
from ._spec import CellSpec


def can_regrade(earlier: CellReport) -> bool:
    """Whether the conversation of a cell came to its end, so that there is something to judge."""
    if earlier.status is CellStatus.SKIPPED:
        return False
    return earlier.error is None or earlier.error.stage == Stage.EVALS


async def regrade_cell(
    spec: CellSpec,
    earlier: CellReport,
    provider: Provider,
    *,
    runs: RunStore | None = None,
    owner: str | None = None,
) -> CellReport:
    """Judge a conversation of before anew.

    Its `usage` is what that takes; `skill_usage` stays what the replies had cost. What needs the workspace stays as it
    was found then, and a note says so. A cell that cannot be regraded is given back, with a note too.
    """
    if not can_regrade(earlier):
        return replace(earlier, notes=[*earlier.notes, "not regraded: the conversation did not come to its end"])
    kept = _found_in_workspace(spec, earlier)
    notes = [f"not looked at again, as the workspace is gone: {', '.join(kept)}"] if kept else []
    run = CellRun(runs, notes, owner)
    began = time.monotonic()
    async with recorded(run, spec, earlier.run_id or earlier.key):
        calls = Calls(provider, run)
        outcomes, error = await Grading(_evidence(spec, earlier), calls, run, EVALS_AT_ONCE).grade(kept)
        status = status_of(outcomes, error)
        report = replace(
            earlier,
            case=spec.case.name,
            key=spec.key,
            evals=outcomes,
            status=status,
            passed=status is CellStatus.PASSED,
            error=None if error is None else cell_error(error, Stage.EVALS),
            usage=calls.usage,
            judge_usage=calls.judge_usage,
            run_id=run.run_id or earlier.run_id,
            duration_secs=time.monotonic() - began,
            attempts=1,
            cached=False,
        )
        await run.end(report)
    return replace(report, notes=[*earlier.notes, *(note for note in notes if note not in earlier.notes)])


def _found_in_workspace(spec: CellSpec, earlier: CellReport) -> dict[str, EvalOutcome]:
    """What can be found no more, by label."""
    own = labels(spec.case.evals)
    gone = {label for eval_, label in zip(spec.case.evals, own, strict=True) if isinstance(eval_, IN_WORKSPACE)}
    return {each.label: each for each in earlier.evals if each.label in gone}


def _evidence(spec: CellSpec, earlier: CellReport) -> Evidence:
    return Evidence(
        spec=spec,
        messages=tuple(earlier.transcript.messages),
        turns=earlier.turns,
        skill_usage=earlier.skill_usage,
        events_told=earlier.events_told,
        mock_calls=earlier.mock_calls,
        activated=earlier.activated,
    )
