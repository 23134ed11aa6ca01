"""Everything that happens in a session, as events. Told again in order, they are the session."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from trueup.contract import Baseline, CheckCompleted, CheckStarted, Contract
from trueup.core.protocols import Event
from trueup.core.usage import Usage
from trueup.harness import (
    Message,
    PermissionDecided,
    PlanText,
    Reasoning,
    Retried,
    SessionNamed,
    ToolCall,
    ToolResult,
    UsageReported,
)
from trueup.workspace import PreparedMerge

from .._attestation import ApprovedBy
from .._steps import Step
from .._verdict import Finding, Outcome, Verdict
from ._request import Deliver, Pick
from ._states import FailureReason, State


class SessionCreated(Event, frozen=True, kw_only=True):
    """There is a session: on this repository, from this commit on, and in this race where it is in one."""

    repository: str
    base: str
    engine: str
    race: str | None = None


class StateChanged(Event, frozen=True, kw_only=True):
    """The session is in another state. A failure says why, and whether it was the engine's."""

    state: State
    previous: State
    reason: FailureReason | None = None
    message: str = ""
    by_engine: bool = False


class ContractProposed(Event, frozen=True, kw_only=True):
    """What done could mean, and where that comes from."""

    contract: Contract
    digest: str
    source: str
    notes: list[str]


class ContractBaseline(Event, frozen=True, kw_only=True):
    """What each check of the proposed contract is worth, and why it cannot be used, if so."""

    baseline: Baseline
    problems: list[str]


class ContractConfirmed(Event, frozen=True, kw_only=True):
    """What done means from here on."""

    digest: str
    by: str


class EngineSelected(Event, frozen=True, kw_only=True):
    """Who works, in what kind of confinement, and without which of the person's own settings for it."""

    engine: str
    version: str | None
    model: str | None
    sandbox: str
    network: str
    left_out: list[str] = field(default_factory=list)


class IterationStarted(Event, frozen=True, kw_only=True):
    """The engine is given a prompt."""

    number: int
    prompt: str
    workspace: str


class EngineEnded(Event, frozen=True, kw_only=True):
    """The engine stopped, by itself or because it was ended; then `reason` says why, and whose fault it was."""

    number: int
    exit_code: int | None = None
    duration_secs: float
    output_tail: str = ""
    usage: Usage
    turns: int
    reason: FailureReason | None = None
    message: str = ""
    by_engine: bool = False


class DiffReady(Event, frozen=True, kw_only=True):
    """What the engine made is taken, and kept. Ignored files (the first of them) are no part of it.

    `binaries` are those of its files that have no lines.
    """

    number: int
    tree: str
    files: int
    insertions: int
    deletions: int
    ignored: list[str]
    ignored_total: int
    binaries: int = 0


class FindingRaised(Event, frozen=True, tag="finding"):
    """Something about the change that a person should know."""

    finding: Finding


class VerdictReached(Event, frozen=True):
    """What trueup found out about the change."""

    verdict: Verdict


class BudgetSpent(Event, frozen=True, kw_only=True, tag="budget"):
    """What was used so far, and which limits nobody could meter."""

    usage: Usage
    turns: int
    engine_secs: float
    iterations: int
    unmetered: list[str]


class UserInputRequested(Event, frozen=True, kw_only=True):
    """The session waits for a person."""

    about: Literal["contract", "approval"]
    message: str


class UserInput(Event, frozen=True):
    """What a person says to the engine."""

    text: str


class Approved(Event, frozen=True, kw_only=True):
    """A person wants the verified tree delivered, knowing of these findings."""

    tree: str
    by: ApprovedBy
    deliver: Deliver
    knowing: list[Finding]


class BaseMoved(Event, frozen=True, kw_only=True):
    """The branch went on meanwhile: the change, merged with it, is another tree on another base."""

    base: str
    tree: str


class MergePrepared(Event, frozen=True, kw_only=True):
    """The commit is made; the branch is about to be moved to it."""

    merge: PreparedMerge


class MergeCompleted(Event, frozen=True, kw_only=True):
    """The change is delivered. `note` says what did not work beside it."""

    deliver: Deliver
    commit: str | None = None
    branch: str | None = None
    patch: str | None = None
    attested: bool = False
    note: str = ""


class RaceEntry(Struct, frozen=True, kw_only=True):
    """One session of a race, as it is compared with the others. `gates` and `flags` are findings of its last verdict."""

    session_id: str
    engine: str
    model: str | None
    state: State
    reason: FailureReason | None
    outcome: Outcome | None
    engine_secs: float
    usage: Usage
    turns: int
    iterations: int
    files: int
    insertions: int
    deletions: int
    gates: int
    flags: int
    binaries: int = 0

    @property
    def verified(self) -> bool:
        return self.outcome is Outcome.VERIFIED

    @property
    def changed_lines(self) -> int:
        return self.insertions + self.deletions


class RaceDecided(Event, frozen=True, kw_only=True):
    """A race is over: who won it, if anybody did, why, and how they compare."""

    race_id: str
    pick: Pick
    winner: str | None
    why: str
    entries: list[RaceEntry]


class ErrorHappened(Event, frozen=True, tag="error"):
    """Something went wrong that does not end the session by itself."""

    message: str
    kind_of_error: str


SessionEvent = (
    SessionCreated
    | StateChanged
    | ContractProposed
    | ContractBaseline
    | ContractConfirmed
    | EngineSelected
    | IterationStarted
    | EngineEnded
    | DiffReady
    | FindingRaised
    | VerdictReached
    | BudgetSpent
    | UserInputRequested
    | UserInput
    | Approved
    | BaseMoved
    | MergePrepared
    | MergeCompleted
    | RaceDecided
    | ErrorHappened
    | Step
    | PlanText
    | Message
    | Reasoning
    | Retried
    | PermissionDecided
    | SessionNamed
    | ToolCall
    | ToolResult
    | UsageReported
    | CheckStarted
    | CheckCompleted
)
