"""The clustered bootstrap: how far a number would move if other cases had been drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from random import Random
from typing import TypeVar

from trueup.core.rates import Z

from ._student import student

# Enough that the ends of an interval keep still, and bounded so that ten thousand cases take no longer than ten.
MOST_RESAMPLES = 2000
MOST_DRAWS = 1_000_000
FEWEST_RESAMPLES = 400

T = TypeVar("T")


def mean_interval(clusters: Sequence[float], bounds: tuple[float, float]) -> tuple[float, float]:
    """The 95 % interval of a mean of clusters; each of them is one number, however much is nested in it."""
    # Many times quicker than `fmean`, whose care for the last digit is not needed here.
    return interval(clusters, lambda drawn: sum(drawn) / len(drawn), bounds)


def interval(
    clusters: Sequence[T], measure: Callable[[Sequence[T]], float], bounds: tuple[float, float]
) -> tuple[float, float]:
    """The 95 % interval of what `measure` makes of clusters: the same for the same input, on every machine.

    Resamples of few clusters differ less than other clusters would, so it is widened by as much as Student's interval
    of a mean is, within the bounds that the number has. One cluster shows nothing about others.
    """
    count = len(clusters)
    if count == 1:
        return bounds
    chance = Random(count)  # noqa: S311 - a repeatable report is wanted, and no secret
    times = max(FEWEST_RESAMPLES, min(MOST_RESAMPLES, MOST_DRAWS // count))
    found = sorted(measure(chance.choices(clusters, k=count)) for _ in range(times))
    tail = int(0.025 * times)
    centre, wider = measure(clusters), student(count - 1) / Z * sqrt(count / (count - 1))
    low, high = (centre + wider * (end - centre) for end in (found[tail], found[-1 - tail]))
    return max(bounds[0], low), min(bounds[1], high)
