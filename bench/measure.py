"""How a measurement is taken and told."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

Work = Callable[[], Awaitable[object]]


def milliseconds(seconds: float) -> str:
    """A duration as people read it."""
    return f"{seconds * 1000:.2f} ms"


def more_milliseconds(seconds: float) -> str:
    """How much longer something takes, which may be less than nothing."""
    return f"{seconds * 1000:+.2f} ms"


class Row(NamedTuple):
    """One thing that was measured: what it came to, against which reference of the same run, and what it must hold."""

    what: str
    measured: str
    limit: str
    held: bool
    reference: str = ""
    ratio: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """As people read it, under `HEAD`."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x"
        return self.what, self.measured, self.reference, ratio, self.limit, "pass" if self.held else "short"


HEAD = ("what", "measured", "reference", "ratio", "limit", "")
# What was measured since the process began, in that order.
ROWS: list[Row] = []


def report(
    what: str, measured: str, limit: str, holds: bool, *, reference: str = "", ratio: float | None = None
) -> bool:
    """Print one line, remember it for the table, and pass on whether the limit holds."""
    row = Row(what, measured, limit, holds, reference, ratio)
    ROWS.append(row)
    against = " ".join(part for part in (row.cells[3], reference) if part)
    told = f"{measured} ({against})" if against else measured
    print(f"{'ok  ' if holds else 'MISS'}  {what:<48} {told:<60} limit {limit}", flush=True)
    return holds


async def timed(work: Work) -> float:
    """How long something takes, in seconds."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


class LoopLag:
    """How late a 1 ms timer fires: `async with LoopLag() as lag`, then `lag.p99` and `lag.worst`, in seconds."""

    def __init__(self) -> None:
        self._lags: list[float] = []

    @property
    def p99(self) -> float:
        return statistics.quantiles(self._lags, n=100)[-1]

    @property
    def worst(self) -> float:
        return max(self._lags)

    async def __aenter__(self) -> Self:
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watcher.cancel()

    async def _watch(self) -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            self._lags.append(time.perf_counter() - started - 0.001)


async def medians(rounds: int, reference: Work, ours: Work) -> tuple[float, float]:
    """The medians of both, taken in turns so that they see the same machine."""
    pairs = [(await timed(reference), await timed(ours)) for _ in range(rounds)]
    before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
    return before, after
