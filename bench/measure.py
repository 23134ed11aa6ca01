"""How a measurement is taken and told."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Self

Work = Callable[[], Awaitable[object]]


def milliseconds(seconds: float) -> str:
    """A duration as people read it."""
    return f"{seconds * 1000:.2f} ms"


def report(what: str, measured: str, limit: str, holds: bool) -> bool:
    """Print one line, and pass on whether the limit holds."""
    print(f"{'ok  ' if holds else 'MISS'}  {what:<48} {measured:<52} limit {limit}", flush=True)
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
