"""Trials, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import Literal

from msgspec import Struct

from trueup.core.rates import wilson

from ._trial import Trial

FEW = 10

By = Literal["engine", "model"]


class Tally(Struct, frozen=True, kw_only=True):
    """What the sessions of one group say. `judged` are those that show something; rate, medians and costs are of them.

    Failures and cheats are of all: whoever is caught is caught, however the session went on. `low` and `high` bound the rate with 95 % confidence. Costs are of those whose cost is known, `cost_known_in`.
    """

    group: dict[str, str | None]
    sessions: int
    judged: int
    verified: int
    rate: float | None
    low: float | None
    high: float | None
    iterations_median: float | None
    cost_known_in: int
    cost_usd: float | None
    cost_usd_median: float | None
    engine_secs_median: float | None
    cheats: int
    cheating_sessions: int
    failures: dict[str, int]


def tally(trials: Iterable[Trial], by: Sequence[By]) -> list[Tally]:
    """Count trials by engine, by model, or by both; the group with the most sessions first."""
    groups: defaultdict[tuple[str | None, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[tuple(getattr(trial, name) for name in by)].append(trial)
    counted = [_count(dict(zip(by, key, strict=True)), group) for key, group in groups.items()]
    return sorted(counted, key=lambda each: (-each.sessions, [value or "" for value in each.group.values()]))


def compare(tallies: Sequence[Tally]) -> Iterator[str]:
    """What must be said beside the numbers, so that nobody reads too much into them."""
    few = [each for each in tallies if 0 < each.judged < FEW]
    if few:
        yield f"{len(few)} of {len(tallies)} groups rest on fewer than {FEW} judged sessions: mind the intervals, not the rates"
    rated = [(each.low, each.high) for each in tallies if each.low is not None and each.high is not None]
    apart = [pair for pair in combinations(rated, 2) if pair[0][0] > pair[1][1] or pair[1][0] > pair[0][1]]
    if len(rated) > 1 and not apart:
        yield "all intervals overlap: these sessions do not show that one is better than another"


def _count(group: dict[str, str | None], trials: list[Trial]) -> Tally:
    judged = [trial for trial in trials if trial.verified is not None]
    verified = [trial for trial in judged if trial.verified]
    costs = [trial.cost_usd for trial in judged if trial.cost_usd is not None]
    low, high = wilson(len(verified), len(judged)) if judged else (None, None)
    return Tally(
        group=group,
        sessions=len(trials),
        judged=len(judged),
        verified=len(verified),
        rate=len(verified) / len(judged) if judged else None,
        low=low,
        high=high,
        iterations_median=median(trial.iterations for trial in verified) if verified else None,
        cost_known_in=len(costs),
        cost_usd=sum(costs) if costs else None,
        cost_usd_median=median(costs) if costs else None,
        engine_secs_median=median(trial.engine_secs for trial in judged) if judged else None,
        cheats=sum(trial.cheats for trial in trials),
        cheating_sessions=sum(trial.cheats > 0 for trial in trials),
        failures=dict(Counter(trial.reason.value for trial in trials if trial.reason is not None).most_common()),
    )
