"""One session, looked at: everything that its page shows, as a function of what was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from trueup.coder import Deliver, Outcome, Severity, State, Story, Told, Verdict, events, told_again, told_of
from trueup.contract import Check, CheckResult
from trueup.core.usage import Usage
from trueup.daemon import Daemon
from trueup.harness import UsageReported
from trueup.runs import RunInfo, Step, Totals, as_step

# What a session is told by, which is little; what its engine said meanwhile is on the page of its run.
TOLD_BY = frozenset(
    str(each.__struct_config__.tag)
    for each in (
        events.StateChanged,
        events.ContractProposed,
        events.ContractBaseline,
        events.ContractConfirmed,
        events.EngineSelected,
        events.IterationStarted,
        UsageReported,
        events.EngineEnded,
        events.DiffReady,
        events.VerdictReached,
        events.UserInput,
        events.UserInputRequested,
        events.Approved,
        events.BaseMoved,
        events.MergePrepared,
        events.MergeCompleted,
        events.RaceDecided,
        events.ErrorHappened,
    )
)

_NEXT = {
    State.CREATED: "A contract is being proposed, and tried on the untouched base.",
    State.CONTRACT_PROPOSED: "Waits for you: read the contract, and confirm it. Nobody works before that.",
    State.CONTRACT_CONFIRMED: "The engine is about to begin.",
    State.RUNNING: "The engine works. Then trueup takes its change, and runs the checks on it.",
    State.VERIFYING: "trueup runs the checks on the change, where the engine cannot reach them.",
    State.NEEDS_APPROVAL: "Waits for you: the change is verified. Read it, then approve it, send it back or discard it.",
    State.MERGED: "Done: the change was verified, approved and delivered.",
    State.REPORTED: "Done: the change was verified and approved, and delivered without a commit.",
    State.FAILED: "Over, without a change that could be delivered.",
    State.ABANDONED: "Over: it was given up.",
}
_LEFT = "Nobody works on it: it was left in the middle. Go on with it, or cancel it."
_NO_NEWS = ("verified, and waits for approval", "the contract waits for somebody to agree to it")
_AT_WORK = (State.CONTRACT_CONFIRMED, State.RUNNING, State.VERIFYING)
_STATE_TONES = {
    State.CONTRACT_PROPOSED: "amber",
    State.NEEDS_APPROVAL: "amber",
    State.MERGED: "good",
    State.REPORTED: "good",
    State.FAILED: "error",
}
_OUTCOME_TONES = {Outcome.VERIFIED: "good", Outcome.REFUSED: "refused", Outcome.UNPROVEN: "amber"}
_SEVERITY_TONES = {Severity.GATE: "refused", Severity.FLAG: "amber", Severity.INFO: ""}


class CheckRow(Struct, frozen=True, kw_only=True):
    """A check of the contract: what it is worth and why, and what it came to on the change, if it was run there."""

    check: Check
    check_class: str = ""
    why: str = ""
    fix: str = ""
    base: CheckResult | None = None
    result: CheckResult | None = None
    as_it_is: CheckResult | None = None

    @property
    def expects(self) -> str:
        """What the command must do."""
        parts = ["exit 0"] if self.check.expect_exit_zero else []
        parts += [] if self.check.output_contains is None else [f"output with {self.check.output_contains!r}"]
        return " and ".join(parts) or "to end"


class Iteration(Struct, kw_only=True):
    """One go of the engine: what it was told, what it changed, what that was found to be, and what it took."""

    number: int
    words: list[str]
    began_at: str
    ended: events.EngineEnded | None = None
    usage: list[Usage] = []
    secs: float = 0
    diff: events.DiffReady | None = None
    verdict: Verdict | None = None

    @property
    def spent(self) -> Totals:
        return Totals(Usage.total(self.usage))

    def result(self, name: str) -> CheckResult | None:
        """What a check came to."""
        checks = self.verdict.checks if self.verdict else []
        return next((check.result for check in checks if check.name == name), None)


class Look(Struct, frozen=True, kw_only=True):
    """A session as it was at a moment: `until` is the last record that is known of, `owner` the process at work."""

    story: Story
    iterations: list[Iteration]
    error: str
    run: RunInfo
    until: int
    now: Step | None
    owner: int | None

    @property
    def known(self) -> str:
        """What a browser says that it knows."""
        return f"{self.until}-{self.owner or 0}"

    @property
    def is_live(self) -> bool:
        return self.owner is not None and not self.story.state.is_final

    @property
    def tone(self) -> str:
        return state_tone(self.story.state)

    @property
    def next(self) -> str:
        """What happens next, or what is wanted of whoever looks."""
        state = self.story.state
        is_left = self.owner is None and (state in _AT_WORK or state is State.CREATED)
        return _LEFT if is_left else _NEXT[state]

    @property
    def why(self) -> str:
        """What was said about the state, where that is more than `next` says."""
        said = self.story.message or self.story.waits_because
        return "" if said in _NO_NEWS else said

    @property
    def offers(self) -> frozenset[str]:
        """What a person can do about it."""
        state = self.story.state
        if state.is_final:
            return frozenset()
        if state is State.NEEDS_APPROVAL:
            return frozenset({"approve", "respond", "discard"})
        if state is State.CONTRACT_PROPOSED:
            confirm = set() if self.story.contract_problems else {"confirm"}
            return frozenset({"respond", "cancel", *confirm})
        others = {"respond"} if state in _AT_WORK else set()
        return frozenset({"cancel", *others, *({"resume"} if self.owner is None else set())})

    @property
    def seen(self) -> str:
        """What a person decides about. A form that was made for something else is refused."""
        story = self.story
        if story.state is State.CONTRACT_PROPOSED:
            return f"contract {story.contract.digest if story.contract else ''}"
        if story.state is State.NEEDS_APPROVAL:
            return f"change {story.tree}"
        # What was said already is not said again by a second click.
        return f"work {sum(len(each.words) for each in self.iterations) + len(story.words)}"

    @property
    def verdict(self) -> Verdict | None:
        """The latest one, which may be that of the change before."""
        judged = (each.verdict for each in reversed(self.iterations) if each.verdict is not None)
        return self.story.verdict or next(judged, None)

    @property
    def judged(self) -> int | None:
        """The iteration that the latest verdict is about."""
        return next((each.number for each in reversed(self.iterations) if each.verdict == self.verdict), None)

    @property
    def checks(self) -> list[CheckRow]:
        """The contract with what is known of each check."""
        contract = self.story.contract
        return [self._row(check) for check in contract.checks] if contract else []

    @property
    def spent(self) -> Totals:
        return Totals(self.story.used)

    @property
    def can_revise(self) -> bool:
        """Whether there is a model that could write another contract."""
        return self.story.request.generate is not None

    def _row(self, check: Check) -> CheckRow:
        baseline, verdict = self.story.baseline, self.verdict
        classed = next((each for each in (baseline.checks if baseline else []) if each.name == check.name), None)
        found = next((each for each in (verdict.checks if verdict else []) if each.name == check.name), None)
        return CheckRow(
            check=check,
            check_class=classed.check_class.value if classed else found.check_class.value if found else "",
            why=classed.reason if classed else "",
            fix=classed.fix if classed else "",
            base=classed.results[-1] if classed else found.baseline if found else None,
            result=found.result if found else None,
            as_it_is=found.as_it_is if found else None,
        )


async def look_at(daemon: Daemon, session_id: str) -> Look:
    """A session as it is now; an `InputError` where there is none."""
    store, sessions = daemon.store, daemon.coding.sessions
    run = await store.find(session_id, kind="session")
    until = run.record_count - 1
    records = await store.trace(run.run_id, types={"started", *TOLD_BY})
    told = [each for each in (told_of(run.run_id, record) for record in records[1:]) if each is not None]
    latest = await store.trace(run.run_id, after=until - 1, limit=1)
    return Look(
        story=told_again(run.run_id, records),
        iterations=iterations_of(told),
        error=_latest_error(told),
        run=run,
        until=until,
        now=as_step(latest[0], run) if latest else None,
        owner=await sessions.owner(run.run_id),
    )


async def look_again(daemon: Daemon, look: Look) -> Look:
    """The session as it is now, having read little where little has happened."""
    store, session_id = daemon.store, look.story.id
    run = await store.get(session_id)
    if run is None:
        return look
    until, owner = run.record_count - 1, daemon.coding.sessions.lease(session_id).owner()
    if until == look.until:
        return replace(look, owner=owner, run=run)
    if await store.trace(session_id, after=look.until, limit=1, types=TOLD_BY) or run.ended:
        return await look_at(daemon, session_id)
    latest = await store.trace(session_id, after=until - 1, limit=1)
    return replace(look, owner=owner, run=run, until=until, now=as_step(latest[0], run) if latest else look.now)


def iterations_of(told: Iterable[Told]) -> list[Iteration]:
    """Every go of the engine, in order. One that was cut off and begun anew is one."""
    found: list[Iteration] = []
    words: list[str] = []
    for each in told:
        match each.event:
            case events.UserInput(text=text):
                words.append(text)
            case events.IterationStarted(number=number) if not found or found[-1].number != number:
                found.append(Iteration(number=number, words=words, began_at=each.at))
                words = []
            case events.EngineEnded() as ended if found:
                found[-1].ended = ended
                found[-1].usage = [*found[-1].usage, ended.usage]
                found[-1].secs += ended.duration_secs
            case events.DiffReady() as diff if found:
                found[-1].diff = diff
            case events.VerdictReached(verdict=verdict) if found:
                found[-1].verdict = verdict
    return found


def state_tone(state: State) -> str:
    """The class of a badge for a state."""
    return _STATE_TONES.get(state, "")


def outcome_tone(outcome: Outcome) -> str:
    """The class of a badge for what was found."""
    return _OUTCOME_TONES[outcome]


def severity_tone(severity: Severity) -> str:
    """The class of a badge for a finding."""
    return _SEVERITY_TONES[severity]


WAYS = {
    Deliver.MERGE: "merge into the branch that is checked out",
    Deliver.BRANCH: "a branch of its own",
    Deliver.PATCH: "a patch in a file",
    Deliver.NONE: "nothing but the word that it holds",
}


def _latest_error(told: list[Told]) -> str:
    """What went wrong since the session came to its state."""
    for each in reversed(told):
        if isinstance(each.event, events.ErrorHappened):
            return each.event.message
        if isinstance(each.event, events.StateChanged | events.IterationStarted):
            break
    return ""
