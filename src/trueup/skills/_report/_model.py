"""A report: what every cell came to, and what that says together. Its JSON is kept stable; keys are only added."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from trueup.core.usage import Usage

from .._model import Message, MockCall
from .._stats import CaseRate, Comparison, GroupRate


class CellStatus(StrEnum):
    """How a cell ended. An `error` says nothing about the skill; a `skipped` one was not begun, or not paid to its end."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


JUDGED = frozenset({CellStatus.PASSED, CellStatus.FAILED})


class Arm(StrEnum):
    """Whether a cell had the skill."""

    WITH = "with"
    WITHOUT = "without"


class BooleanDetail(Struct, frozen=True, kw_only=True, tag_field="kind", tag="boolean"):
    value: bool
    expected: bool


class NumericDetail(Struct, frozen=True, kw_only=True, tag_field="kind", tag="numeric"):
    value: float
    threshold: float
    comparator: str


class CallsDetail(Struct, frozen=True, kw_only=True, tag_field="kind", tag="calls"):
    count: int
    negated: bool
    times: int | None = None


class SeenDetail(Struct, frozen=True, kw_only=True, tag_field="kind", tag="seen"):
    """What a deterministic eval found, beside what it wanted."""

    value: Any
    expected: Any


Detail = BooleanDetail | NumericDetail | CallsDetail | SeenDetail


class Vote(Struct, frozen=True, kw_only=True):
    """What one judge of a panel said."""

    model: str
    value: bool | float
    reason: str = ""


class EvalOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether an eval passed, and why. `votes` are there where more than one judge was asked, with their `agreement`."""

    label: str
    passed: bool
    detail: Detail
    reason: str
    votes: list[Vote] = []
    agreement: float | None = None


class CellError(Struct, frozen=True, kw_only=True):
    """Why a cell could not be judged. `stage` is how far it came: `workspace`, `conversation` or `evals`."""

    kind: str
    message: str
    context: str | None = None
    stage: str | None = None


class Transcript(Struct, frozen=True):
    """The conversation of a cell."""

    messages: list[Message] = []


class CellReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of the matrix. `usage` is of every call; `skill_usage` of the replies alone, `judge_usage` of the rest.

    `key` is the hash of all that decides what happens in the cell, `run_id` the run in which it can be looked at.
    `activated` is None where it could not be seen, `events_told` False where tool calls could not. `cached` says that
    an earlier cell of the same key is shown.
    """

    case: str
    skill: str
    platform: str
    model: str
    passed: bool
    turns: int
    evals: list[EvalOutcome]
    transcript: Transcript
    usage: Usage | None = None
    status: CellStatus
    repeat: int
    arm: Arm
    key: str
    skill_usage: Usage | None = None
    judge_usage: Usage | None = None
    error: CellError | None = None
    run_id: str | None = None
    duration_secs: float | None = None
    attempts: int = 1
    cached: bool = False
    activated: bool | None = None
    events_told: bool = True
    mock_calls: list[MockCall] | None = None
    notes: list[str] = []


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many cells there were of each kind, and what they used together."""

    cases: int
    runs: int
    passed: int
    failed: int
    usage: Usage | None = None
    errors: int = 0
    skipped: int = 0
    cached: int = 0
    skill_usage: Usage | None = None
    judge_usage: Usage | None = None


class Group(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cells of one platform, model and arm: how often they passed, and what a cell cost where that is known.

    `rate` is None where no cell was judged. `cost_known_in` is the number of cells behind `cost_usd_mean`.
    """

    platform: str
    model: str
    arm: Arm
    rate: GroupRate | None
    errors: int = 0
    skipped: int = 0
    turns_mean: float | None = None
    duration_secs_mean: float | None = None
    cost_usd_mean: float | None = None
    cost_known_in: int = 0


class Delta(Struct, frozen=True, kw_only=True):
    """What the skill changes on one platform and model: the arm with it against the arm without."""

    platform: str
    model: str
    comparison: Comparison


class Statistics(Struct, frozen=True, kw_only=True):
    """What the cells say together: over all that had the skill, by group, by case, and what the skill changes."""

    overall: GroupRate | None
    groups: list[Group]
    cases: list[CaseRate]
    deltas: list[Delta]
    delta: Comparison | None


class About(Struct, frozen=True, kw_only=True):
    """What a report was made with, so that two can be compared knowingly. `versions` are those of the platforms.

    `paths` are where the cases were found, for whoever judges them again.
    """

    trueup: str
    provider: str
    judge_models: list[str]
    prompts: str
    versions: dict[str, str | None] = {}
    votes: int = 1
    started_at: str | None = None
    ended_at: str | None = None
    paths: list[str] = []


class Report(Struct, frozen=True, kw_only=True):
    """What a run of skill tests came to. `partial` says that cells are missing, and `notes` why."""

    passed: bool
    summary: Summary
    runs: list[CellReport]
    statistics: Statistics
    about: About
    partial: bool = False
    notes: list[str] = []

    @property
    def tested(self) -> list[CellReport]:
        """The cells that had the skill."""
        return [cell for cell in self.runs if cell.arm is Arm.WITH]
