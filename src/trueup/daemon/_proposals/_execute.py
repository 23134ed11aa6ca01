"""Runs what a proposal may do: together where it can, in order where it must."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from time import perf_counter

from msgspec.structs import replace

from trueup.core.errors import TrueupError

from ._decide import Judgement, refusal
from ._graph import Plan
from ._ground import Ground, ToolCall
from ._model import (
    ActionResult,
    AnyAction,
    AssertionAction,
    Cost,
    Issue,
    Proposal,
    ProposalResult,
    StateReadAction,
    Status,
    ToolCallAction,
)
from ._outcome import Outcome, outcome_of, shown
from ._scribe import Scribe
from ._state import StateJournal, is_same
from ._turns import turn_of

MOST_AT_ONCE = 32
# So many that call nothing are done before others get their turn on the loop.
AT_A_STRETCH = 200

_ABORTED = Outcome(status="skipped", error="skipped due to abort")


class Execution:
    """One proposal while it runs. Actions are known by their place in it."""

    def __init__(self, proposal: Proposal, proposal_id: str, judgement: Judgement, ground: Ground) -> None:
        self._actions = proposal.actions
        self._proposal_id = proposal_id
        self._judgement = judgement
        self._ground = ground
        self._journal = StateJournal(ground.state)
        self._scribe = Scribe(ground)
        self._queue = _Queue(judgement.plan)
        self._results: dict[int, ActionResult] = {}
        self._calling: set[int] = set()
        self._news = asyncio.Event()
        self._aborted = False
        self._tool_calls = self._retries = 0
        refused = (place for place, issues in enumerate(judgement.issues) if issues and self._actions[place].aborts)
        # Known before anything runs, so that what comes later in the order is not begun by chance.
        self._last_rank = min((self._queue.rank[place] for place in refused), default=len(self._actions))

    async def run(self) -> ProposalResult:
        """Settle every action. Whatever ends it early, what had happened is recorded and the state is as before."""
        began = perf_counter()
        finished = False
        try:
            await self._settle_all()
            finished = True
        finally:
            if not finished or self._aborted or self._last_rank < len(self._actions):
                self._roll_back()
            for place in self._calling:
                self._scribe.note(turn_of(self._actions[place]))
            await self._scribe.finish()
        results = [self._results[place] for place in range(len(self._actions))]
        return ProposalResult(proposal_id=self._proposal_id, results=results, cost=self._cost(perf_counter() - began))

    async def _settle_all(self) -> None:
        try:
            async with asyncio.TaskGroup() as calls:
                while len(self._results) < len(self._actions):
                    await self._begin_what_is_ready(calls)
                    if self._calling:
                        self._scribe.begin()
                        self._news.clear()
                        await self._news.wait()
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _begin_what_is_ready(self, calls: asyncio.TaskGroup) -> None:
        stretch = 0
        while len(self._calling) < MOST_AT_ONCE and (place := self._queue.next()) is not None:
            action = self._actions[place]
            outcome = self._without_running(place)
            if outcome is None and isinstance(action, ToolCallAction):
                self._calling.add(place)
                if len(self._calling) == 1 and not self._queue:
                    # Nothing could run beside it: it needs no task of its own.
                    self._scribe.begin()
                    await self._call(place, action)
                else:
                    calls.create_task(self._call(place, action))
                continue
            self._settle(place, outcome or self._on_state(action))
            stretch += 1
            if stretch % AT_A_STRETCH == 0:
                await asyncio.sleep(0)

    def _without_running(self, place: int) -> Outcome | None:
        """What becomes of an action that must not run."""
        if issues := self._judgement.issues[place]:
            return _rejected(issues)
        if self._aborted or self._queue.rank[place] > self._last_rank:
            return _ABORTED
        for needed in self._judgement.plan.needs[place]:
            if (status := self._results[needed].status) != "succeeded":
                said = f"skipped: dependency '{self._judgement.ids[needed]}' {_PAST[status]}"
                return Outcome(status="skipped", error=said)
        for key in self._actions[place].state_dependencies or ():
            if key not in self._ground.state:
                return Outcome(status="skipped", error=f"skipped: state dependency '{key}' not found")
        return None

    def _on_state(self, action: AnyAction) -> Outcome:
        began = perf_counter()
        outcome = Outcome(status="succeeded")
        if isinstance(action, StateReadAction | AssertionAction):
            outcome = self._looked_up(action)
        if outcome.status == "succeeded":
            outcome = replace(outcome, changes=self._journal.write(action.writes))
        return replace(outcome, duration_ms=_ms_since(began))

    def _looked_up(self, action: StateReadAction | AssertionAction) -> Outcome:
        key, state = action.parameters.key, self._ground.state
        if key not in state:
            return Outcome(status="failed", error=f"state key '{key}' not found")
        if isinstance(action, StateReadAction):
            return Outcome(status="succeeded", output=state[key])
        expected = action.parameters.expected
        if not is_same(state[key], expected):
            said = f"assertion failed: state key '{key}' is {shown(state[key])}, expected {shown(expected)}"
            return Outcome(status="failed", error=said)
        return Outcome(status="succeeded")

    async def _call(self, place: int, action: ToolCallAction) -> None:
        began = perf_counter()
        outcome = await self._attempt(place, action)
        if outcome.status == "succeeded":
            outcome = replace(outcome, changes=self._journal.write(action.writes))
        self._calling.discard(place)
        self._settle(place, replace(outcome, duration_ms=_ms_since(began)))
        if outcome.status == "rejected" and action.aborts:
            # Unlike what was refused beforehand, nothing was held back because of it.
            self._aborted = True
        self._news.set()

    async def _attempt(self, place: int, action: ToolCallAction) -> Outcome:
        """Call until it succeeds, no more attempts are left, or another one could not help or might do it twice."""
        attempt = 1
        while True:
            call = ToolCall(
                self._judgement.ids[place], action.tool or "", action.parameters, action.timeout_ms, attempt
            )
            try:
                answer = await self._ground.call(call)
                if answer.refused is not None:
                    return _rejected([refusal(answer.refused, call.tool, call.action_id, place)])
                self._tool_calls += 1
                outcome = outcome_of(call, answer)
            except TrueupError as error:
                self._tool_calls += 1
                outcome = Outcome(status="failed", error=str(error))
            may_repeat = not outcome.terminal and (action.idempotent or not outcome.timed_out)
            if outcome.status == "succeeded" or attempt >= action.attempts or not may_repeat:
                return outcome
            attempt += 1
            self._retries += 1

    def _settle(self, place: int, outcome: Outcome) -> None:
        action = self._actions[place]
        self._results[place] = ActionResult(
            action_id=self._judgement.ids[place],
            status=outcome.status,
            output=outcome.output,
            error=outcome.error,
            terminal=outcome.terminal,
            state_changes=outcome.changes,
            duration_ms=outcome.duration_ms,
            timestamp=_now(),
        )
        turn = turn_of(
            action,
            output=outcome.output,
            timed_out=outcome.timed_out,
            issues=outcome.issues,
            duration_ms=outcome.duration_ms,
        )
        self._scribe.note(turn)
        if outcome.status == "failed" and action.aborts:
            self._aborted = True
        self._queue.over(place)

    def _roll_back(self) -> None:
        self._journal.undo()
        for place, result in self._results.items():
            if result.state_changes:
                self._results[place] = replace(result, rolled_back=True)

    def _cost(self, secs: float) -> Cost:
        ended = [result.status for result in self._results.values()]
        return Cost(
            tool_calls=self._tool_calls,
            actions_executed=ended.count("succeeded") + ended.count("failed"),
            actions_rejected=ended.count("rejected"),
            actions_skipped=ended.count("skipped"),
            total_duration_ms=round(secs * 1000, 3),
            retries=self._retries,
        )


class _Queue:
    """The actions that may begin, those first that come first in the order."""

    def __init__(self, plan: Plan) -> None:
        self._order = plan.order
        self.rank = {place: rank for rank, place in enumerate(plan.order)}
        self._waiting = [len(before) for before in plan.after]
        self._followers: list[list[int]] = [[] for _ in plan.after]
        for place, before in enumerate(plan.after):
            for earlier in before:
                self._followers[earlier].append(place)
        self._ready = [self.rank[place] for place, count in enumerate(self._waiting) if count == 0]
        heapify(self._ready)

    def __len__(self) -> int:
        return len(self._ready)

    def next(self) -> int | None:
        """Take the next one."""
        return self._order[heappop(self._ready)] if self._ready else None

    def over(self, place: int) -> None:
        """Let those begin that waited for this one only."""
        for follower in self._followers[place]:
            self._waiting[follower] -= 1
            if self._waiting[follower] == 0:
                heappush(self._ready, self.rank[follower])


def _rejected(issues: list[Issue]) -> Outcome:
    return Outcome(status="rejected", error="; ".join(issue.message for issue in issues), issues=issues)


_PAST: dict[Status, str] = {"failed": "failed", "rejected": "was rejected", "skipped": "was skipped"}


def _ms_since(began: float) -> float:
    return round((perf_counter() - began) * 1000, 3)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
