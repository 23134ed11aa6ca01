"""What an error means for a session."""

from __future__ import annotations

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.harness import EngineError, EngineStalledError

from ._meter import BudgetExceededError
from ._states import FailureReason

_BY_KIND = {
    Kind.AUTH: FailureReason.AUTH_REQUIRED,
    Kind.INPUT: FailureReason.CONFIGURATION,
    Kind.SPAWN: FailureReason.CONFIGURATION,
    Kind.MODEL_NOT_FOUND: FailureReason.CONFIGURATION,
    Kind.QUOTA: FailureReason.BUDGET_EXHAUSTED,
    Kind.INFRASTRUCTURE: FailureReason.INFRASTRUCTURE,
}


class Failure(Struct, frozen=True):
    """Why a session cannot go on, and whether the engine is to blame."""

    reason: FailureReason
    message: str
    by_engine: bool = False


def failure_of(error: TrueupError) -> Failure:
    """The failure that an error stands for."""
    if isinstance(error, BudgetExceededError):
        reason = FailureReason.BUDGET_EXHAUSTED
    elif isinstance(error, EngineStalledError):
        reason = FailureReason.STALLED
    else:
        reason = _BY_KIND.get(error.kind, FailureReason.ERROR)
    return Failure(reason, str(error), isinstance(error, EngineError))
