"""A report, counted from its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from trueup.core.usage import known_dollars, told_total

from .._stats import Comparison, Trial, adjusted, case_rates, compare, group_rate
from ._model import JUDGED, About, Arm, CellReport, CellStatus, Delta, Group, Report, Statistics, Summary


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


def compare_by_place(
    before: Sequence[CellReport], after: Sequence[CellReport]
) -> list[tuple[tuple[str, str], Comparison]]:
    """The comparison on each platform and model that both have, corrected for how many of them there are."""
    found = [
        (place, compared)
        for place in dict.fromkeys((cell.platform, cell.model) for cell in before)
        if (compared := compare(trials(_at(before, place)), trials(_at(after, place)))) is not None
    ]
    corrected = adjusted([compared for _, compared in found])
    return [(place, compared) for (place, _), compared in zip(found, corrected, strict=True)]


def _at(cells: Sequence[CellReport], place: tuple[str, str]) -> list[CellReport]:
    return [cell for cell in cells if (cell.platform, cell.model) == place]


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
        usage=told_total(cell.usage for cell in paid),
        skill_usage=told_total(cell.skill_usage for cell in paid),
        judge_usage=told_total(cell.judge_usage for cell in paid),
    )


def _statistics(cells: Sequence[CellReport], tested: Sequence[CellReport]) -> Statistics:
    bare = [cell for cell in cells if cell.arm is Arm.WITHOUT]
    return Statistics(
        overall=group_rate(trials(tested)),
        groups=_groups(cells),
        cases=case_rates(trials(tested)),
        deltas=[
            Delta(platform=platform, model=model, comparison=compared)
            for (platform, model), compared in compare_by_place(bare, tested)
        ],
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
