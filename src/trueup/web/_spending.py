"""What runs cost, as far as it was added up: a long run is read once, and a part of it at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from trueup.core.usage import Usage
from trueup.runs import NOTHING, RunInfo, RunStore, Totals

# Records that are read at once.
PART = 10_000
# A page does not wait longer, and shows what is not known yet when it is asked again.
WAITING_SECS = 0.15
MOST_RUNS = 10_000
# An event of a session, which says what was used until then.
_BUDGET = "budget"


class _Tally:
    """What the first records of a run used: whole parts of it, and as far as anybody asked."""

    def __init__(self) -> None:
        self._parts = [NOTHING]
        self._last = (-1, NOTHING)

    def nearest(self, seq: int) -> tuple[int, Usage]:
        """The last record until `seq` that is added up, and what it came to there."""
        parts = min((seq + 1) // PART, len(self._parts) - 1)
        whole = parts * PART - 1
        return self._last if whole < self._last[0] <= seq else (whole, self._parts[parts])

    def note(self, seq: int, usage: Usage) -> None:
        """What was added up until a record."""
        if seq + 1 == len(self._parts) * PART:
            self._parts.append(usage)
        if seq > self._last[0]:
            self._last = (seq, usage)


class Spending:
    """Adds up what runs cost, and remembers it. What takes too long is gone on with when somebody asks again."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._tallies: OrderedDict[str, _Tally] = OrderedDict()

    async def of(self, runs: Sequence[RunInfo]) -> dict[str, Totals]:
        """What these runs cost until now; those that take longer are missing."""
        told = await self._store.latest([run.run_id for run in runs], _BUDGET)
        found = {run_id: Totals(_usage_of(stored.record)) for run_id, stored in told.items()}
        with suppress(TimeoutError):
            async with asyncio.timeout(WAITING_SECS):
                for run in runs:
                    if run.run_id not in found:
                        found[run.run_id] = await self._add_up(run.run_id, run.record_count - 1)
        return found

    async def until(self, run_id: str, seq: int) -> Totals | None:
        """What the model turns of a run used until a record, that one included; None where that takes too long."""
        try:
            async with asyncio.timeout(WAITING_SECS):
                return await self._add_up(run_id, seq)
        except TimeoutError:
            return None

    async def _add_up(self, run_id: str, seq: int) -> Totals:
        tally = self._tally(run_id)
        after, usage = tally.nearest(seq)
        totals = Totals(usage)
        while after < seq:
            until = min(seq, (after + 1) // PART * PART + PART - 1)
            used = await self._store.usage(run_id, after=after, until=until)
            if used is not None:
                totals.spend(used)
            after = until
            tally.note(after, totals.usage)
        return totals

    def _tally(self, run_id: str) -> _Tally:
        tally = self._tallies.setdefault(run_id, _Tally())
        self._tallies.move_to_end(run_id)
        if len(self._tallies) > MOST_RUNS:
            self._tallies.popitem(last=False)
        return tally


def _usage_of(budget: object) -> Usage:
    try:
        return msgspec.convert(getattr(budget, "data", {}).get("usage", {}), Usage)
    except msgspec.ValidationError:
        return NOTHING
