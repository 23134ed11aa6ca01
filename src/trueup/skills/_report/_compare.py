"""Two reports: is the second better?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from .._stats import Comparison, Conclusion, compare, paired_rates
from ._build import compare_by_place, trials
from ._model import CellReport, Report

FEW = 10


class GroupComparison(Struct, frozen=True, kw_only=True):
    """The comparison on one platform and model. Its `p_value` is corrected for how many of them there are."""

    platform: str
    model: str
    comparison: Comparison


class MovedCase(Struct, frozen=True, kw_only=True):
    """A case that passes more or less often than before, over the platforms and models that both reports have."""

    case: str
    rate_before: float
    rate_after: float


class ReportComparison(Struct, frozen=True, kw_only=True):
    """What two reports say about each other.

    `moved` are the cases that do not pass as often as before, those first that moved furthest; `unpaired` are cells
    that only one report has, `notes` what to mind.
    """

    conclusion: Conclusion
    overall: Comparison | None
    groups: list[GroupComparison]
    moved: list[MovedCase]
    unpaired: list[str]
    notes: list[str]


def compare_reports(before: Report, after: Report) -> ReportComparison:
    """Compare the cells with the skill, by case. Cells that could not be judged show nothing."""
    first, second = before.tested, after.tested
    overall = compare(trials(first), trials(second))
    return ReportComparison(
        conclusion=Conclusion.INCONCLUSIVE if overall is None else overall.conclusion,
        overall=overall,
        groups=[
            GroupComparison(platform=platform, model=model, comparison=compared)
            for (platform, model), compared in compare_by_place(first, second)
        ],
        moved=_moved(first, second),
        unpaired=_unpaired(first, second),
        notes=list(_notes(before, after, overall)),
    )


def _moved(before: Sequence[CellReport], after: Sequence[CellReport]) -> list[MovedCase]:
    pairs = paired_rates(trials(before), trials(after)).items()
    found = [MovedCase(case=case, rate_before=old, rate_after=new) for case, (old, new) in pairs if old != new]
    return sorted(found, key=lambda each: -abs(each.rate_after - each.rate_before))


def _unpaired(before: Sequence[CellReport], after: Sequence[CellReport]) -> list[str]:
    first, second = ({(t.case, t.platform, t.model) for t in trials(cells)} for cells in (before, after))
    told = dict.fromkeys(first - second, "was not judged in the second")
    told |= dict.fromkeys(second - first, "was not judged in the first")
    return [
        f"{case} on {platform} {model}".rstrip() + f": {why}" for (case, platform, model), why in sorted(told.items())
    ]


def _notes(before: Report, after: Report, overall: Comparison | None) -> Iterator[str]:
    if overall is None:
        yield "the two reports have no judged case in common"
    elif overall.cases < FEW:
        yield f"only {overall.cases} cases in common: mind the interval, not the difference"
    if before.about.judge_models != after.about.judge_models or before.about.votes != after.about.votes:
        yield "the judges differ, so a difference may be theirs: `trueup test regrade` judges both alike"
    if before.about.prompts != after.about.prompts:
        yield "the prompts of the judge differ, so a difference may be theirs: `trueup test regrade` judges both alike"
    for platform in sorted(before.about.versions.keys() & after.about.versions.keys()):
        old, new = before.about.versions[platform], after.about.versions[platform]
        if old != new:
            yield f"{platform} was {old or 'of an unknown version'}, and is {new or 'of an unknown version'} now"
    for name, report in (("first", before), ("second", after)):
        if report.partial:
            yield f"the {name} report is partial"
