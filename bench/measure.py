"""How a measurement is taken and told."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable

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


async def medians(rounds: int, reference: Work, ours: Work) -> tuple[float, float]:
    """The medians of both, taken in turns so that they see the same machine."""
    pairs = [(await timed(reference), await timed(ours)) for _ in range(rounds)]
    before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
    return before, after
