"""Rates of passed cells, by case and over cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import comb
from statistics import fmean, variance

from msgspec import Struct

from trueup.core.rates import Z, wilson

from ._student import student

Estimate = Callable[[int, int, int], float]

# Of more repeats, only all of them are told beside these.
MOST_TOLD = 10


class Trial(Struct, frozen=True, kw_only=True):
    """One judged cell."""

    case: str
    platform: str
    model: str
    passed: bool


class CaseRate(Struct, frozen=True, kw_only=True):
    """How often one case passed on one platform and model, with Wilson's interval over its repeats."""

    case: str
    platform: str
    model: str
    passed: int
    judged: int
    rate: float
    low: float
    high: float


class GroupRate(Struct, frozen=True, kw_only=True):
    """How often cases passed: the mean of their own rates, and the interval within which other cases would leave it.

    `method` is `clustered`, by how much cases differ, or `wilson` with cases as trials where all cases agree and nothing
    is known of that. `pass_at[k]` is the chance that one of k repeats passes, `pass_all[k]` that all of them do,
    each over the cases that were repeated at least k times.
    """

    cases: int
    judged: int
    passed: int
    rate: float
    low: float
    high: float
    method: str
    pass_at: dict[int, float]
    pass_all: dict[int, float]


def case_rates(trials: Iterable[Trial]) -> list[CaseRate]:
    """The rate of each case on each platform and model, in the order in which they come."""
    return [_case_rate(*key, passes) for key, passes in passes_of(trials).items()]


def passes_of(trials: Iterable[Trial]) -> dict[tuple[str, str, str], list[bool]]:
    """Whether each repeat passed, by case, platform and model."""
    passes: defaultdict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for trial in trials:
        passes[trial.case, trial.platform, trial.model].append(trial.passed)
    return passes


def _case_rate(case: str, platform: str, model: str, passes: list[bool]) -> CaseRate:
    low, high = wilson(sum(passes), len(passes))
    return CaseRate(
        case=case,
        platform=platform,
        model=model,
        passed=sum(passes),
        judged=len(passes),
        rate=sum(passes) / len(passes),
        low=low,
        high=high,
    )


def group_rate(trials: Iterable[Trial]) -> GroupRate | None:
    """The rate over all cases of some trials; None where nothing was judged."""
    by_case: defaultdict[str, list[bool]] = defaultdict(list)
    for trial in trials:
        by_case[trial.case].append(trial.passed)
    if not by_case:
        return None
    counts = [(sum(passes), len(passes)) for passes in by_case.values()]
    rates = [passed / judged for passed, judged in counts]
    low, high, method = _interval(rates)
    return GroupRate(
        cases=len(counts),
        judged=sum(judged for _, judged in counts),
        passed=sum(passed for passed, _ in counts),
        rate=fmean(rates),
        low=low,
        high=high,
        method=method,
        pass_at=_by_k(counts, pass_at),
        pass_all=_by_k(counts, pass_all),
    )


def _interval(rates: Sequence[float]) -> tuple[float, float, str]:
    """Wilson's interval, for as many trials as cases that differ so much are worth.

    The spread is that of resampled cases, without the chance of drawing them: the plain interval of a bootstrap lies
    too high in one of ten reports whose cases mostly pass.
    """
    cases, rate = len(rates), fmean(rates)
    if len(set(rates)) == 1:
        return (*wilson(rate * cases, cases), "wilson")
    trials = rate * (1 - rate) / (variance(rates) / cases) * (Z / student(cases - 1)) ** 2
    return (*wilson(rate * trials, trials), "clustered")


def pass_at(passed: int, judged: int, k: int) -> float:
    """The chance that at least one of k repeats passes, without bias, from how many of those that were made did."""
    return 1 - comb(judged - passed, k) / comb(judged, k)


def pass_all(passed: int, judged: int, k: int) -> float:
    """The chance that all of k repeats pass, without bias, from how many of those that were made did."""
    return comb(passed, k) / comb(judged, k)


def _by_k(counts: Sequence[tuple[int, int]], estimate: Estimate) -> dict[int, float]:
    most = max(judged for _, judged in counts)
    told = sorted({*range(1, min(most, MOST_TOLD) + 1), most})
    enough = {k: [each for each in counts if each[1] >= k] for k in told}
    return {k: fmean(estimate(*each, k) for each in cases) for k, cases in enough.items()}
