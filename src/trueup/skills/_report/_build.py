"""A report, counted from its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from trueup.core.usage import Usage, known_dollars

from .._stats import Trial, adjusted, case_rates, compare, group_rate
from ._model import About, Arm, CellReport, CellStatus, Delta, Group, Report, Statistics, Summary

JUDGED = frozenset({CellStatus.PASSED, CellStatus.FAILED})


def build_report(
    cells: Sequence[CellReport], about: About, *, partial: bool = False, notes: Sequence[str] = ()
) -> Report:
    """Count cells. Nothing that was skipped or could not be judged passes, and no cells at all pass nothing.

    The arm without the skill is what the other is compared with: that it fails is no failure.
    """
    tested = [cell for cell in cells if cell.arm is Arm.WITH]
    return Report(
        passed=bool(tested) and all(cell.status is CellStatus.PASSED for cell in tested) and not partial,
        summary=_summary(cells, tested),
        runs=list(cells),
        statistics=_statistics(cells, tested),
        about=about,
        partial=partial,
        notes=list(notes),
    )


def trials(cells: Iterable[CellReport]) -> list[Trial]:
    """The cells that were judged."""
    return [
        Trial(case=cell.case, platform=cell.platform, model=cell.model, passed=cell.status is CellStatus.PASSED)
        for cell in cells
        if cell.status in JUDGED
    ]


def _summary(cells: Sequence[CellReport], tested: Sequence[CellReport]) -> Summary:
    count = {status: sum(cell.status is status for cell in tested) for status in CellStatus}
    # One that was never begun used nothing, and is no part that is unknown.
    paid = [cell for cell in cells if not cell.cached and cell.attempts]
    return Summary(
        cases=len({cell.case for cell in tested}),
        runs=len(tested),
        passed=count[CellStatus.PASSED],
        failed=count[CellStatus.FAILED],
        errors=count[CellStatus.ERROR],
        skipped=count[CellStatus.SKIPPED],
        cached=sum(cell.cached for cell in cells),
        usage=_sum(cell.usage for cell in paid),
        skill_usage=_sum(cell.skill_usage for cell in paid),
        judge_usage=_sum(cell.judge_usage for cell in paid),
    )


def _sum(parts: Iterable[Usage | None]) -> Usage | None:
    """None where nobody reported anything; else what somebody did not report makes the sum a lower bound."""
    every = list(parts)
    if all(part is None for part in every):
        return None
    return Usage.total(Usage() if part is None else part for part in every)


def _statistics(cells: Sequence[CellReport], tested: Sequence[CellReport]) -> Statistics:
    bare = [cell for cell in cells if cell.arm is Arm.WITHOUT]
    return Statistics(
        overall=group_rate(trials(tested)),
        groups=_groups(cells),
        cases=case_rates(trials(tested)),
        deltas=_deltas(bare, tested),
        delta=compare(trials(bare), trials(tested)),
    )


def _groups(cells: Sequence[CellReport]) -> list[Group]:
    apart: defaultdict[tuple[str, str, Arm], list[CellReport]] = defaultdict(list)
    for cell in cells:
        apart[cell.platform, cell.model, cell.arm].append(cell)
    return [_group(*key, group) for key, group in apart.items()]


def _group(platform: str, model: str, arm: Arm, cells: Sequence[CellReport]) -> Group:
    judged = [cell for cell in cells if cell.status in JUDGED]
    costs = [cost for cell in judged if cell.usage is not None and (cost := known_dollars(cell.usage)) is not None]
    times = [cell.duration_secs for cell in judged if cell.duration_secs is not None]
    return Group(
        platform=platform,
        model=model,
        arm=arm,
        rate=group_rate(trials(judged)),
        errors=sum(cell.status is CellStatus.ERROR for cell in cells),
        skipped=sum(cell.status is CellStatus.SKIPPED for cell in cells),
        turns_mean=fmean(cell.turns for cell in judged) if judged else None,
        duration_secs_mean=fmean(times) if times else None,
        cost_usd_mean=fmean(costs) if costs else None,
        cost_known_in=len(costs),
    )


def _deltas(bare: Sequence[CellReport], tested: Sequence[CellReport]) -> list[Delta]:
    places = list(dict.fromkeys((cell.platform, cell.model) for cell in bare))
    found = [
        (place, compared)
        for place in places
        if (compared := compare(trials(_on(bare, place)), trials(_on(tested, place)))) is not None
    ]
    corrected = adjusted([compared for _, compared in found])
    return [
        Delta(platform=place[0], model=place[1], comparison=compared)
        for (place, _), compared in zip(found, corrected, strict=True)
    ]


def _on(cells: Iterable[CellReport], place: tuple[str, str]) -> list[CellReport]:
    return [cell for cell in cells if (cell.platform, cell.model) == place]
