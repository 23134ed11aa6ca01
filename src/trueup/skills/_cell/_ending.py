"""How a cell ended, and how far it came."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from trueup.core.errors import TrueupError
from trueup.core.text import written

from .._model import ProviderError
from .._report import CellError, CellStatus, EvalOutcome


class Stage(StrEnum):
    """How far a cell came."""

    WORKSPACE = "workspace"
    CONVERSATION = "conversation"
    EVALS = "evals"


def status_of(outcomes: Sequence[EvalOutcome], error: TrueupError | None) -> CellStatus:
    """What a cell came to."""
    if error is not None:
        return CellStatus.ERROR
    return CellStatus.PASSED if all(outcome.passed for outcome in outcomes) else CellStatus.FAILED


def cell_error(error: TrueupError, stage: Stage) -> CellError:
    """An error as a report tells it."""
    context = error.context if isinstance(error, ProviderError) else None
    return CellError(kind=error.kind.value, message=written(str(error)), context=context, stage=stage.value)
