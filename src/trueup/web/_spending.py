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
    """Adds up what runs cost, and remembers it. What takes too long is known when somebody asks again."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._tallies: OrderedDict[str, _Tally] = OrderedDict()
        self._reading: dict[tuple[str, int, int], asyncio.Task[Usage]] = {}

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
        while after < seq:
            until = min(seq, (after + 1) // PART * PART + PART - 1)
            # Shielded: who waits no longer must not have the same part read anew for ever.
            usage = await asyncio.shield(self._part(run_id, tally, after, until, usage))
            after = until
        return Totals(usage)

    def _part(self, run_id: str, tally: _Tally, after: int, until: int, usage: Usage) -> asyncio.Task[Usage]:
        """Somebody who reads a part of a run, and notes what it came to whether or not anybody waits."""
        key = (run_id, after, until)
        if key not in self._reading:
            self._reading[key] = asyncio.create_task(self._read(run_id, tally, after, until, usage))
            self._reading[key].add_done_callback(lambda task: self._finish(key, task))
        return self._reading[key]

    async def _read(self, run_id: str, tally: _Tally, after: int, until: int, usage: Usage) -> Usage:
        totals = Totals(usage)
        used = await self._store.usage(run_id, after=after, until=until)
        if used is not None:
            totals.spend(used)
        tally.note(until, totals.usage)
        return totals.usage

    def _finish(self, key: tuple[str, int, int], task: asyncio.Task[Usage]) -> None:
        del self._reading[key]
        if not task.cancelled():
            # Heard here, where nobody waits any more.
            task.exception()

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
