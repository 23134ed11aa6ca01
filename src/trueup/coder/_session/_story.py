"""A session as it is known: its events, told in order."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from trueup.contract import Baseline, Contract
from trueup.core.protocols import Event
from trueup.core.usage import Usage
from trueup.harness import SessionNamed, UsageReported

from .._verdict import Outcome, Verdict
from ._request import CodeRequest
from ._states import FailureReason, State
from .events import (
    Approved,
    BaseMoved,
    ContractBaseline,
    ContractConfirmed,
    ContractProposed,
    DiffReady,
    EngineEnded,
    EngineSelected,
    IterationStarted,
    MergeCompleted,
    MergePrepared,
    RaceDecided,
    StateChanged,
    UserInput,
    UserInputRequested,
    VerdictReached,
)


class Attempt(Struct, frozen=True, kw_only=True):
    """One iteration of the engine: what it left, and what that was found to be."""

    number: int
    tree: str
    verdict: Verdict | None = None

    @property
    def verified(self) -> bool:
        return self.verdict is not None and self.verdict.outcome is Outcome.VERIFIED


class Story(Struct, kw_only=True):
    """Everything that a session has come to so far. `words` are a person's, for the engine's next prompt."""

    id: str
    request: CodeRequest
    base: str
    state: State = State.CREATED
    reason: FailureReason | None = None
    message: str = ""
    waits_because: str = ""
    failed_by_engine: bool = False
    contract: Contract | None = None
    contract_source: str = ""
    contract_notes: list[str] = []
    contract_problems: list[str] = []
    digest: str | None = None
    baseline: Baseline | None = None
    engine: EngineSelected | None = None
    workspace: str | None = None
    conversation: str | None = None
    attempts: list[Attempt] = []
    tree: str | None = None
    diff: DiffReady | None = None
    verdict: Verdict | None = None
    words: list[str] = []
    iterations_granted: int = 0
    usage: list[Usage] = []
    usage_reported: list[Usage] = []
    turns: int = 0
    engine_secs: float = 0
    engine_ended: EngineEnded | None = None
    approved: Approved | None = None
    prepared: MergePrepared | None = None
    delivered: MergeCompleted | None = None
    race: RaceDecided | None = None

    @property
    def used(self) -> Usage:
        """What the engine's model calls used, as far as it told; those of an iteration that was cut off included."""
        return Usage.total([*self.usage, *self.usage_reported])

    @property
    def calls(self) -> int:
        """The model calls that the engine told of, those of an iteration under way included."""
        return self.turns + len(self.usage_reported)

    @property
    def iterations_left(self) -> int:
        return self.request.limits.iterations + self.iterations_granted - len(self.attempts)

    def tell(self, event: Event) -> None:
        """Let one more thing have happened."""
        match event:
            case StateChanged():
                self._enter(event)
            case ContractProposed():
                self.contract, self.contract_source = event.contract, event.source
                self.contract_notes, self.baseline = event.notes, None
            case ContractBaseline():
                self.baseline, self.contract_problems = event.baseline, event.problems
            case ContractConfirmed():
                self.digest = event.digest
            case _:
                self._tell_of_the_work(event)

    def _tell_of_the_work(self, event: Event) -> None:
        match event:
            case EngineSelected():
                self.engine = event
            case IterationStarted():
                self.workspace, self.words = event.workspace, []
                self._book_what_was_cut_off()
            case UsageReported(usage=usage):
                self.usage_reported = [*self.usage_reported, usage]
            case EngineEnded():
                self._count(event)
            case DiffReady():
                self.diff, self.tree, self.verdict = event, event.tree, None
                self.attempts = [*self.attempts, Attempt(number=event.number, tree=event.tree)]
            case SessionNamed(session_id=conversation):
                self.conversation = conversation
            case _:
                self._tell_of_the_end(event)

    def _tell_of_the_end(self, event: Event) -> None:
        match event:
            case VerdictReached(verdict=verdict):
                self.verdict = verdict
                if self.attempts and self.attempts[-1].tree == verdict.tree:
                    judged = msgspec.structs.replace(self.attempts[-1], verdict=verdict)
                    self.attempts = [*self.attempts[:-1], judged]
            case UserInput(text=text):
                self._hear(text)
            case Approved():
                self.approved = event
            case UserInputRequested(about=about, message=message):
                self.waits_because = message
                self.approved = None if about == "approval" else self.approved
            case BaseMoved():
                self.base, self.tree = event.base, event.tree
                self.baseline = self.verdict = None
                # Another checkout: an engine that remembers this one would write into it.
                self.workspace = self.conversation = None
            case MergePrepared():
                self.prepared = event
            case MergeCompleted():
                self.delivered = event
            case RaceDecided():
                self.race = event

    def _enter(self, event: StateChanged) -> None:
        self.state, self.reason, self.message = event.state, event.reason, event.message
        self.failed_by_engine, self.waits_because = event.by_engine, ""
        if event.state is State.RUNNING:
            self.approved, self.prepared = None, None

    def _book_what_was_cut_off(self) -> None:
        """An iteration that began anew was paid for all the same."""
        self.usage, self.turns = [*self.usage, *self.usage_reported], self.turns + len(self.usage_reported)
        self.usage_reported = []

    def _count(self, event: EngineEnded) -> None:
        self.engine_ended, self.usage_reported = event, []
        self.usage = [*self.usage, event.usage]
        self.turns += event.turns
        self.engine_secs += event.duration_secs

    def _hear(self, text: str) -> None:
        self.words = [*self.words, text]
        if self.iterations_left < 1:
            # Whoever sends a change back wants the engine to have another go at it.
            self.iterations_granted += 1 - self.iterations_left
