"""Keeping an engine within its limits while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.protocols import Event, Recorder
from trueup.core.usage import Usage, dollars_of, tokens_of
from trueup.harness import UsageReported

from ._request import Limits


class BudgetExceededError(TrueupError):
    """A limit was reached; raised where the engine is listened to, which ends it."""


class Spent(Struct, frozen=True):
    """What was used of a budget."""

    usage: Usage
    turns: int


# What the other sessions of a race have used by now.
Rivals = Callable[[], Spent]


class Meter:
    """A recorder that adds up what an engine reports, and objects once it is too much.

    What may be used may be used whole. Whoever can ask before a call is made (`admit`) makes none too many; an engine
    that is heard of only afterwards is ended by the first one that was. In a race there is one budget for all.
    """

    def __init__(
        self, recorder: Recorder, limits: Limits, used: Usage, turns: int, rivals: Rivals | None = None
    ) -> None:
        self._recorder = recorder
        self._limits = limits
        self._used_before = used
        self._turns_before = turns
        self._rivals = rivals
        self._reported: list[Usage] = []

    @property
    def turns(self) -> int:
        return len(self._reported)

    @property
    def usage(self) -> Usage:
        # An engine that reports nothing may have called any number of models.
        return Usage.total(self._reported) if self._reported else Usage()

    async def record(self, event: Event) -> None:
        await self._recorder.record(event)
        if isinstance(event, UsageReported):
            self._reported.append(event.usage)
            self._object()

    def admit(self, under_way: int = 0) -> None:
        """Object to one more call where what may be used is used up; calls under way are turns already."""
        for unit, used, limit in self._amounts(under_way):
            if used >= limit:
                raise self._exceeded(unit, used, limit)

    def _object(self) -> None:
        for unit, used, limit in self._amounts():
            if used > limit:
                raise self._exceeded(unit, used, limit)
        self._refuse_unknown(self._used_before + self.usage)

    def _amounts(self, under_way: int = 0) -> Iterator[tuple[str, float, float]]:
        """What is known to be used by now of each limit that was set."""
        others = self._rivals() if self._rivals is not None else Spent(Usage.total([]), 0)
        used_by_now, limits = self._used_before + self.usage + others.usage, self._limits
        amounts = (
            ("turns", self._turns_before + self.turns + others.turns + under_way, limits.turns),
            ("tokens", tokens_of(used_by_now), limits.tokens),
            ("dollars", dollars_of(used_by_now), limits.usd),
        )
        for unit, used, limit in amounts:
            if used is not None and limit is not None:
                yield unit, used, limit

    def _refuse_unknown(self, used_by_now: Usage) -> None:
        """Where the person is strict, what is not known is not waited for until it has become much."""
        known = used_by_now if self._turns_before else self.usage
        unknown = unmetered(self._limits, known, self._turns_before + self.turns) if self._limits.strict else []
        if unknown:
            what = f"what the engine used of its {' and '.join(unknown)} is unknown"
            raise BudgetExceededError(f"{what}, so that it can be held to no limit, and it was ended")

    def _exceeded(self, unit: str, used: float, limit: float) -> BudgetExceededError:
        if self._rivals is None:
            return BudgetExceededError(f"the engine used {used:g} {unit} of the {limit:g} it may use, and was ended")
        what = f"the engines of this race used {used:g} {unit} of the {limit:g} that they may use together"
        return BudgetExceededError(f"{what}, and this one was ended")


class Unmetered:
    """A recorder for an engine whose calls are metered elsewhere: on the wire, and not by its own word."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def record(self, event: Event) -> None:
        if not isinstance(event, UsageReported):
            await self._recorder.record(event)


def unmetered(limits: Limits, usage: Usage, turns: int) -> list[str]:
    """The limits that were set and that nobody could hold the engine to, since it did not report, or only in part."""
    unknown = {
        "turns": limits.turns is not None and turns == 0,
        "tokens": limits.tokens is not None and (tokens_of(usage) is None or usage.incomplete),
        "dollars": limits.usd is not None and (dollars_of(usage) is None or usage.incomplete),
    }
    return [unit for unit, is_unknown in unknown.items() if is_unknown]
