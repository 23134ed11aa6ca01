"""The clustered bootstrap: how far a number would move if other cases had been drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

# Enough that the ends of an interval keep still, and bounded so that ten thousand cases take no longer than ten.
MOST_RESAMPLES = 2000
MOST_DRAWS = 1_000_000
FEWEST_RESAMPLES = 400

T = TypeVar("T")


def mean_interval(clusters: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean of clusters; each of them is one number, however much is nested in it."""
    # Many times quicker than `fmean`, whose care for the last digit is not needed here.
    return interval(clusters, lambda drawn: sum(drawn) / len(drawn))


def interval(clusters: Sequence[T], measure: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """The 95 % interval of what `measure` makes of clusters: the same for the same input, on every machine."""
    chance = Random(len(clusters))  # noqa: S311 - a repeatable report is wanted, and no secret
    times = max(FEWEST_RESAMPLES, min(MOST_RESAMPLES, MOST_DRAWS // len(clusters)))
    found = sorted(measure(chance.choices(clusters, k=len(clusters))) for _ in range(times))
    tail = int(0.025 * times)
    return found[tail], found[-1 - tail]
