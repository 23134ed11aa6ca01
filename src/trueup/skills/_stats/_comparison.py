"""Two sets of trials, paired by case: is one better, and what could these cases have shown at all?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import sqrt
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.rates import Z

from ._bootstrap import mean_interval
from ._rates import Trial, passes_of

# The normal quantile for a power of 80 %.
Z_POWER = 0.8416212335729143
SIGNIFICANT = 0.05
# So many cases that all turn the same way are the fewest whose exact test is significant: 2 × 0.5⁶ = 0.031.
FEWEST_TURNED = 6


class Conclusion(StrEnum):
    """What a comparison shows."""

    BETTER = "better"
    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"


class Comparison(Struct, frozen=True, kw_only=True):
    """The second of two sets against the first, over the cases that both have.

    `difference` is the mean over cases of how far the rate of each moved, with its 95 % interval. `improved` and
    `worsened` count the cases that moved; `p_value` is McNemar's exact test of them. `detectable` is the smallest
    difference that cases like these show four times out of five; None where no difference could be shown at all.
    """

    cases: int
    rate_before: float
    rate_after: float
    difference: float
    low: float
    high: float
    improved: int
    worsened: int
    p_value: float
    detectable: float | None
    conclusion: Conclusion


def compare(before: Iterable[Trial], after: Iterable[Trial]) -> Comparison | None:
    """Compare what both sets have: the same case on the same platform and model; None where that is nothing."""
    pairs = list(paired_rates(before, after).values())
    if not pairs:
        return None
    moved = [after - before for before, after in pairs]
    improved, worsened = sum(by > 0 for by in moved), sum(by < 0 for by in moved)
    low, high = _interval(moved)
    found = Comparison(
        cases=len(pairs),
        rate_before=fmean(before for before, _ in pairs),
        rate_after=fmean(after for _, after in pairs),
        difference=fmean(moved),
        low=low,
        high=high,
        improved=improved,
        worsened=worsened,
        p_value=mcnemar(improved, worsened),
        detectable=_detectable(moved),
        conclusion=Conclusion.INCONCLUSIVE,
    )
    return replace(found, conclusion=_conclusion(found))


def paired_rates(before: Iterable[Trial], after: Iterable[Trial]) -> dict[str, tuple[float, float]]:
    """The two rates of each case, over the platforms and models on which both sets have it."""
    first, second = _rates(before), _rates(after)
    pairs: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for where in first:
        if where in second:
            pairs[where[0]].append((first[where], second[where]))
    return {case: (fmean(a for a, _ in each), fmean(b for _, b in each)) for case, each in pairs.items()}


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with Holm's correction: of many comparisons one always looks significant."""
    order = sorted(range(len(comparisons)), key=lambda index: comparisons[index].p_value)
    result, so_far = list(comparisons), 0.0
    for rank, index in enumerate(order):
        so_far = max(so_far, min(1.0, (len(order) - rank) * comparisons[index].p_value))
        found = replace(comparisons[index], p_value=so_far)
        result[index] = replace(found, conclusion=_conclusion(found))
    return result


def mcnemar(improved: int, worsened: int) -> float:
    """The exact two-sided chance of a split at least as uneven, if each case were as likely to turn one way as the other."""
    turned = improved + worsened
    ways, at_most = 1, 0
    for count in range(min(improved, worsened) + 1):
        at_most += ways
        ways = ways * (turned - count) // (count + 1)
    chance: float = 2 * at_most / 2**turned
    return min(1.0, chance)


def _rates(trials: Iterable[Trial]) -> dict[tuple[str, str, str], float]:
    return {where: fmean(each) for where, each in passes_of(trials).items()}


def _interval(moved: Sequence[float]) -> tuple[float, float]:
    if len(set(moved)) > 1:
        return mean_interval(moved, (-1.0, 1.0))
    # All cases agree, and resampling them would show no doubt. Of cases that move otherwise, so many could be unseen.
    unseen, by = 1 - (SIGNIFICANT / 2) ** (1 / len(moved)), moved[0]
    return by - unseen * (1 + by), by + unseen * (1 - by)


def _detectable(moved: Sequence[float]) -> float | None:
    if len(moved) < FEWEST_TURNED:
        return None
    by_spread = (Z + Z_POWER) * stdev(moved) / sqrt(len(moved))
    steps = [abs(by) for by in moved if by]
    # As far as a case moves when it does: with repeats it need not turn from never to always.
    step = fmean(steps) if steps else 1.0
    return min(1.0, max(by_spread, step * FEWEST_TURNED / len(moved)))


def _conclusion(found: Comparison) -> Conclusion:
    """Both must show the same: the interval alone is too sure of few cases, the test alone does not see by how much."""
    if found.p_value >= SIGNIFICANT:
        return Conclusion.INCONCLUSIVE
    if found.low > 0 and found.improved > found.worsened:
        return Conclusion.BETTER
    return Conclusion.WORSE if found.high < 0 and found.worsened > found.improved else Conclusion.INCONCLUSIVE
