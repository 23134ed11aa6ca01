"""What a run may spend, by the skill, the judge and the simulated user together, and stopping before it is passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.usage import Usage, dollars_of, tokens_of

from .._cell import CellSpec
from .._model import ProviderError

# A call that failed like this was not served, and so not charged either.
_NOT_CHARGED = frozenset(
    {Kind.AUTH, Kind.RATE_LIMIT, Kind.QUOTA, Kind.MODEL_NOT_FOUND, Kind.OVERLOADED, Kind.SPAWN, Kind.INPUT}
)


class Limits(Struct, frozen=True, kw_only=True):
    """What a run may spend. `strict` takes a call that does not report for one that spent all of it."""

    usd: float | None = None
    tokens: int | None = None
    strict: bool = False


class BudgetSpentError(ProviderError):
    """A call was not made, since the budget is spent."""

    def __init__(self, message: str) -> None:
        super().__init__("budget", message, kind=Kind.QUOTA)


class Budget:
    """Lets cells begin while what is spent, and what those under way are expected to spend, leaves enough for them.

    A cell is expected to spend what the largest did that has ended: of the same case, platform and model, else of the
    same platform and model. Where none has, its price is unknown: it is expected to spend what the largest of all did,
    and no other of unknown price runs beside it; and the very first cell runs alone. So what can pass the budget is
    how much cells under way exceed the largest before them. Even then no call begins once the budget is passed.

    What a call spent counts when it ends, that of a failed or repeated one too. A call that does not report is counted
    apart, for a note; where the limits are strict, it spends everything.
    """

    def __init__(self, limits: Limits) -> None:
        purses = [
            _Purse("dollars", limits.usd, dollars_of, limits.strict) if limits.usd is not None else None,
            _Purse("tokens", limits.tokens, tokens_of, limits.strict) if limits.tokens is not None else None,
        ]
        self._purses = [purse for purse in purses if purse is not None]
        self._changed = asyncio.Event()
        self.refusal: str | None = None

    async def admits(self, spec: CellSpec) -> bool:
        """Whether a cell may begin, once that can be said; one that may is expected to be settled."""
        while not all(purse.has_enough_for(spec) for purse in self._purses):
            if not any(purse.may_free_some for purse in self._purses):
                self.refusal = next(why for purse in self._purses if (why := purse.refusal(spec)) is not None)
                return False
            self._changed.clear()
            await self._changed.wait()
        for purse in self._purses:
            purse.begin(spec)
        return True

    def settle(self, spec: CellSpec, *, judged: bool) -> None:
        """A cell has ended, and spends no more; one that was judged shows what others may take."""
        for purse in self._purses:
            purse.settle(spec, judged=judged)
        self._changed.set()

    def must_not_be_spent(self) -> None:
        """Before a call."""
        for purse in self._purses:
            if purse.spent_why is not None:
                self.refusal = self.refusal or purse.spent_why
                raise BudgetSpentError(purse.spent_why)

    def charge(self, spec: CellSpec, usage: Usage | None) -> None:
        """A call has ended."""
        for purse in self._purses:
            purse.charge(spec, usage)
        self._changed.set()

    def charge_failed(self, spec: CellSpec, error: ProviderError) -> None:
        """A call has failed, which may have cost something all the same."""
        if error.usage is not None or error.kind not in _NOT_CHARGED:
            self.charge(spec, error.usage)

    def notes(self) -> Iterator[str]:
        """What could not be counted."""
        for purse in self._purses:
            if purse.unreported:
                calls = "1 call" if purse.unreported == 1 else f"{purse.unreported} calls"
                yield f"{calls} did not report any {purse.unit}, or not all: the budget does not count what is unknown"


class _Running(Struct):
    """What a cell is expected to spend, and what it has spent; `scouts` says that its price was not known."""

    expected: float
    scouts: bool
    spent: float = 0.0

    @property
    def held(self) -> float:
        return max(0.0, self.expected - self.spent)


_Group = tuple[str, ...]


class _Purse:
    """One limit: what is spent of it, and what is held back for the cells that are under way."""

    def __init__(self, unit: str, limit: float, amount_of: Callable[[Usage], float | None], strict: bool) -> None:
        self.unit = unit
        self.unreported = 0
        self.spent_why: str | None = None
        self._limit = limit
        self._amount_of = amount_of
        self._strict = strict
        self._spent = 0.0
        self._held = 0.0
        self._scouts = 0
        self._running: dict[int, _Running] = {}
        self._largest: dict[_Group, float] = {}

    @property
    def may_free_some(self) -> bool:
        """Whether cells under way may spend less than is held back for them."""
        return bool(self._running) and self.spent_why is None

    def has_enough_for(self, spec: CellSpec) -> bool:
        if self.spent_why is not None:
            return False
        if not self._largest:
            return not self._running
        if self._scouts and not self._is_known(spec):
            return False
        return not self._passes(self._spent + self._held + self._expected(spec))

    def refusal(self, spec: CellSpec) -> str | None:
        if self.spent_why is not None or self.has_enough_for(spec):
            return self.spent_why
        spent, next_one = (_show(amount, self.unit) for amount in (self._spent, self._expected(spec)))
        limit = _show(self._limit, self.unit)
        return f"the budget of {limit} would be passed: {spent} are spent, and the next cell may take {next_one}"

    def begin(self, spec: CellSpec) -> None:
        running = _Running(expected=self._expected(spec), scouts=not self._is_known(spec))
        self._running[id(spec)] = running
        self._scouts += running.scouts
        self._held += running.held

    def charge(self, spec: CellSpec, usage: Usage | None) -> None:
        amount = None if usage is None else self._amount_of(usage)
        if usage is None or amount is None or usage.incomplete:
            self._note_unreported()
        if amount:
            self._spend(spec, amount)

    def settle(self, spec: CellSpec, *, judged: bool) -> None:
        running = self._running.pop(id(spec))
        self._held -= running.held
        self._scouts -= running.scouts
        # One that broke off says little about what a whole cell takes.
        for group in _groups(spec) if judged else ():
            self._largest[group] = max(running.spent, self._largest.get(group, 0.0))

    def _spend(self, spec: CellSpec, amount: float) -> None:
        self._spent += amount
        running = self._running[id(spec)]
        self._held -= running.held
        running.spent += amount
        self._held += running.held
        if self._passes(self._spent) and self.spent_why is None:
            spent, limit = _show(self._spent, self.unit), _show(self._limit, self.unit)
            self.spent_why = f"the budget of {limit} is spent: {spent}"

    def _passes(self, amount: float) -> bool:
        # Ten cells of $0.1 are one dollar, also where their sum is a trifle more.
        return amount > self._limit * (1 + 1e-9)

    def _note_unreported(self) -> None:
        self.unreported += 1
        if self._strict and self.spent_why is None:
            self.spent_why = f"a call did not report its {self.unit}, and a strict budget takes that for all of it"

    def _is_known(self, spec: CellSpec) -> bool:
        return (spec.platform, spec.model) in self._largest

    def _expected(self, spec: CellSpec) -> float:
        known = (self._largest[group] for group in _groups(spec) if group in self._largest)
        # Before anything is known, all that is left is held back for the first cell.
        return next(known, max(0.0, self._limit - self._spent - self._held))


def _groups(spec: CellSpec) -> tuple[_Group, ...]:
    """Cells that are expected to cost alike, the nearest first."""
    return (spec.case.name, spec.platform, spec.model, spec.arm.value), (spec.platform, spec.model), ()


def _show(amount: float, unit: str) -> str:
    return f"${amount:.4g}" if unit == "dollars" else f"{amount:,.0f} tokens"
