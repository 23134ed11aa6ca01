"""Keeping an engine within its limits while it works."""

from __future__ import annotations

from trueup.core.errors import TrueupError
from trueup.core.protocols import Event, Recorder
from trueup.core.usage import Usage
from trueup.harness import UsageReported

from ._request import Limits


class BudgetExceededError(TrueupError):
    """A limit was reached; raised where the engine is listened to, which ends it."""


class Meter:
    """A recorder that adds up what an engine reports, and objects once it is too much."""

    def __init__(self, recorder: Recorder, limits: Limits, used: Usage, turns: int) -> None:
        self._recorder = recorder
        self._limits = limits
        self._used_before = used
        self._turns_before = turns
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

    def _object(self) -> None:
        used_by_now = self._used_before + self.usage
        amounts = {
            "turns": (self._turns_before + self.turns, self._limits.turns),
            "tokens": (tokens_of(used_by_now), self._limits.tokens),
            "dollars": (dollars_of(used_by_now), self._limits.usd),
        }
        for unit, (used, limit) in amounts.items():
            if used is not None and limit is not None and used > limit:
                raise BudgetExceededError(f"the engine used {used:g} {unit} of the {limit:g} it may use, and was ended")


class Unmetered:
    """A recorder for an engine whose calls are metered elsewhere: on the wire, and not by its own word."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def record(self, event: Event) -> None:
        if not isinstance(event, UsageReported):
            await self._recorder.record(event)


def tokens_of(usage: Usage) -> int | None:
    """What a limit on tokens counts: those sent and those generated."""
    known = [amount for amount in (usage.input_tokens, usage.output_tokens) if amount is not None]
    return sum(known) if known else None


def dollars_of(usage: Usage) -> float | None:
    """What a limit on dollars counts: the vendor's price, else an estimate."""
    return usage.cost_usd if usage.cost_usd is not None else usage.estimated_cost_usd


def unmetered(limits: Limits, usage: Usage, turns: int) -> list[str]:
    """The limits that were set and that nobody could hold the engine to, since it did not report, or only in part."""
    unknown = {
        "turns": limits.turns is not None and turns == 0,
        "tokens": limits.tokens is not None and (tokens_of(usage) is None or usage.incomplete),
        "dollars": limits.usd is not None and (dollars_of(usage) is None or usage.incomplete),
    }
    return [unit for unit, is_unknown in unknown.items() if is_unknown]
