"""A judge against people: how often they agree, beyond chance, and to which side the judge leans."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from statistics import fmean

from msgspec import Struct

from trueup.core.rates import wilson

from ._bootstrap import interval


class Rated(Struct, frozen=True, kw_only=True):
    """What a person and a judge said of the same eval of the same cell."""

    case: str
    person: bool | float
    judge: bool | float


class BooleanAgreement(Struct, frozen=True, kw_only=True):
    """Yes or no. `false_yes` and `false_no` count where the judge said so and the person did not.

    `kappa` is Cohen's, with its interval over cases; None where one of the two always said the same. `bias` is how
    much more often the judge says yes.
    """

    labels: int
    cases: int
    agreement: float
    low: float
    high: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    bias: float
    false_yes: int
    false_no: int


class NumericAgreement(Struct, frozen=True, kw_only=True):
    """Scores. `bias` is how much higher the judge scores, with its interval over cases; `error` how far off it is.

    One case shows nothing about others, and has no interval.

    `kappa` is weighted by the square of the distance: 1 is the same score always, 0 no better than chance.
    """

    labels: int
    cases: int
    bias: float
    low: float | None
    high: float | None
    error: float
    kappa: float | None


class Agreement(Struct, frozen=True, kw_only=True):
    """The judge against people, apart for what is yes or no and what is a score."""

    boolean: BooleanAgreement | None = None
    numeric: NumericAgreement | None = None


def agreement_of(rated: Sequence[Rated]) -> Agreement:
    """Count how a judge and people agree. A label of one kind against a value of the other is left out by the caller."""
    truths = [each for each in rated if isinstance(each.judge, bool)]
    scores = [each for each in rated if not isinstance(each.judge, bool)]
    return Agreement(
        boolean=_boolean(truths) if truths else None,
        numeric=_numeric(scores) if scores else None,
    )


def _boolean(rated: Sequence[Rated]) -> BooleanAgreement:
    agreed = sum(each.person == each.judge for each in rated)
    clusters = _by_case(rated)
    kappa = cohen_kappa(rated)
    kappa_low, kappa_high = (None, None) if kappa is None else _interval(clusters, _kappa_or_zero, (-1.0, 1.0))
    low, high = (
        _interval(clusters, _share, (0.0, 1.0)) if 0 < agreed < len(rated) else _unanimous(agreed > 0, len(clusters))
    )
    return BooleanAgreement(
        labels=len(rated),
        cases=len(clusters),
        agreement=agreed / len(rated),
        low=low,
        high=high,
        kappa=kappa,
        kappa_low=kappa_low,
        kappa_high=kappa_high,
        bias=_bias(rated),
        false_yes=sum(bool(each.judge) and not each.person for each in rated),
        false_no=sum(bool(each.person) and not each.judge for each in rated),
    )


def _numeric(rated: Sequence[Rated]) -> NumericAgreement:
    clusters = _by_case(rated)
    low, high = (None, None) if len(clusters) == 1 else _interval(clusters, _bias, (-math.inf, math.inf))
    return NumericAgreement(
        labels=len(rated),
        cases=len(clusters),
        bias=_bias(rated),
        low=low,
        high=high,
        error=fmean(abs(each.judge - each.person) for each in rated),
        kappa=quadratic_kappa(rated),
    )


def cohen_kappa(rated: Sequence[Rated]) -> float | None:
    """Agreement beyond what the two would reach by chance, given how often each says yes."""
    person, judge = (fmean(side) for side in zip(*((each.person, each.judge) for each in rated), strict=True))
    by_chance = person * judge + (1 - person) * (1 - judge)
    if by_chance == 1:
        return None
    return (_share(rated) - by_chance) / (1 - by_chance)


def quadratic_kappa(rated: Sequence[Rated]) -> float | None:
    """Agreement of scores beyond chance, where a score twice as far off counts four times as much."""
    observed = fmean((each.judge - each.person) ** 2 for each in rated)
    judges, people = [each.judge for each in rated], [each.person for each in rated]
    # The mean over every judge's score against every person's, without going through all pairs.
    by_chance = fmean(j * j for j in judges) + fmean(p * p for p in people) - 2 * fmean(judges) * fmean(people)
    return None if by_chance <= 0 else 1 - observed / by_chance


def _bias(rated: Sequence[Rated]) -> float:
    return fmean(each.judge - each.person for each in rated)


def _share(rated: Sequence[Rated]) -> float:
    return fmean(each.person == each.judge for each in rated)


def _unanimous(agreed: bool, cases: int) -> tuple[float, float]:
    return wilson(cases if agreed else 0, cases)


def _kappa_or_zero(rated: Sequence[Rated]) -> float:
    # A resample in which one of the two always says the same shows no agreement beyond chance.
    return cohen_kappa(rated) or 0.0


def _by_case(rated: Sequence[Rated]) -> list[list[Rated]]:
    groups: defaultdict[str, list[Rated]] = defaultdict(list)
    for each in rated:
        groups[each.case].append(each)
    return list(groups.values())


def _interval(
    clusters: list[list[Rated]], measure: Callable[[Sequence[Rated]], float], bounds: tuple[float, float]
) -> tuple[float, float]:
    return interval(clusters, lambda drawn: measure(list(chain.from_iterable(drawn))), bounds)
