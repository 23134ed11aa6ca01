"""All evals of a cell, together: judges are asked at the same time, the workspace is looked at by one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.core.errors import TrueupError
from trueup.core.text import written

from .._case import (
    Activated,
    Boolean,
    Called,
    CommandEval,
    Contains,
    CostBelow,
    Eval,
    FileEval,
    JsonEval,
    Matches,
    NotActivated,
    NotCalled,
    Numeric,
    ToolCalled,
    ToolOrder,
    TurnsBelow,
)
from .._report import EvalOutcome
from ._behaviour import (
    cost_below,
    mock_called,
    mock_not_called,
    skill_activated,
    tool_called,
    tool_order,
    turns_below,
)
from ._calls import Calls
from ._evidence import Evidence, Finding, UnseenError
from ._judging import judge_boolean, judge_numeric
from ._labels import labels
from ._places import look_at_file, run_command
from ._recording import CellRun
from ._replies import contains, is_json, matches

IN_WORKSPACE = (FileEval, CommandEval)

_LOOKS: Mapping[type, Callable[[Any, Evidence], Finding]] = {
    Contains: contains,
    Matches: matches,
    JsonEval: is_json,
    ToolCalled: tool_called,
    ToolOrder: tool_order,
    Called: mock_called,
    NotCalled: mock_not_called,
    Activated: skill_activated,
    NotActivated: skill_activated,
    CostBelow: cost_below,
    TurnsBelow: turns_below,
}


class Grading:
    """The evals of a finished conversation; at most `at_once` of them are looked at or judged at the same time."""

    def __init__(self, evidence: Evidence, calls: Calls, run: CellRun, at_once: int) -> None:
        self._evidence = evidence
        self._calls = calls
        self._run = run
        self._slots = asyncio.Semaphore(at_once)
        self._in_workspace = asyncio.Lock()

    async def grade(self, kept: Mapping[str, EvalOutcome]) -> tuple[list[EvalOutcome], TrueupError | None]:
        """Every outcome that there is, in the order of the case, and the first error where one could not be had.

        `kept` are outcomes of before, by label, which are not asked for again. An error ends none of the others: what
        they found and cost is kept, so that only the rest need be done again.
        """
        evals = self._evidence.spec.case.evals
        # Begun in this order, so that those which look at the workspace get it in this order.
        tasks = [
            self._outcome(eval_, label, kept.get(label)) for eval_, label in zip(evals, labels(evals), strict=True)
        ]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [each for each in found if isinstance(each, EvalOutcome)], _first_error(found)

    async def _outcome(self, eval_: Eval, label: str, earlier: EvalOutcome | None) -> EvalOutcome:
        if earlier is not None:
            return earlier
        finding = await self._find(eval_)
        outcome = EvalOutcome(
            label=label,
            passed=finding.passed,
            detail=finding.detail,
            reason=written(finding.reason),
            votes=finding.votes,
            agreement=finding.agreement,
        )
        await self._run.judged(outcome)
        return outcome

    async def _find(self, eval_: Eval) -> Finding:
        match eval_:
            case Boolean():
                return await judge_boolean(eval_, self._evidence, self._calls, self._slots)
            case Numeric():
                return await judge_numeric(eval_, self._evidence, self._calls, self._slots)
            case FileEval() | CommandEval():
                return await self._look_in_workspace(eval_)
            case _:
                look = _LOOKS[type(eval_)]
                # A thread costs more than a look at a short reply, and less than the loop would wait for a long one.
                if self._evidence.is_long:
                    return await asyncio.to_thread(look, eval_, self._evidence)
                return look(eval_, self._evidence)

    async def _look_in_workspace(self, eval_: FileEval | CommandEval) -> Finding:
        folder = self._evidence.folder
        if folder is None:
            raise UnseenError(
                "the workspace of this cell is gone, and what it held was not looked at before; run it again"
            )
        # One at a time: a command may make what the next eval looks at, and two builds disturb each other.
        async with self._in_workspace, self._slots:
            if isinstance(eval_, FileEval):
                return await look_at_file(eval_, folder)
            return await run_command(eval_, folder)


def _first_error(found: Sequence[EvalOutcome | BaseException]) -> TrueupError | None:
    errors = [each for each in found if isinstance(each, BaseException)]
    for error in errors:
        # A fault of trueup's own is not the cell's.
        if not isinstance(error, TrueupError):
            raise error
    return next((each for each in errors if isinstance(each, TrueupError)), None)
