"""Two reports, compared."""

from __future__ import annotations

from msgspec.structs import replace

from skill_cells import ABOUT, cell
from trueup.skills._report import build_report, compare_reports
from trueup.skills._stats import Conclusion

NAMES = [f"case {number}" for number in range(14)]


def report(statuses, about=ABOUT, **given):
    return build_report([cell(name, status, **given) for name, status in zip(NAMES, statuses, strict=False)], about)


def test_a_version_that_mends_twelve_cases_is_better():
    found = compare_reports(report(["failed"] * 12), report(["passed"] * 12))
    assert found.conclusion is Conclusion.BETTER
    assert (found.overall.improved, found.overall.difference) == (12, 1)
    assert found.notes == []
    assert found.unpaired == []


def test_what_only_one_report_has_is_told_and_not_counted():
    found = compare_reports(report(["passed"] * 12), report(["passed"] * 11 + ["error"]))
    assert found.overall.cases == 11
    assert found.unpaired == ["case 11 on claude-code sonnet: was not judged in the second"]


def test_few_cases_are_said_to_be_few():
    found = compare_reports(report(["failed"] * 3), report(["passed"] * 3))
    assert found.conclusion is Conclusion.INCONCLUSIVE
    assert found.notes == ["only 3 cases in common: mind the interval, not the difference"]


def test_a_difference_that_may_be_the_judges_is_said_to_be():
    other = replace(ABOUT, judge_models=["another"], prompts="p2", versions={"claude-code": "2.2"})
    found = compare_reports(report(["passed"] * 12), report(["passed"] * 12, about=other))
    assert any("the judges differ" in note for note in found.notes)
    assert any("prompts of the judge differ" in note for note in found.notes)
    assert "claude-code was 2.1, and is 2.2 now" in found.notes


def test_nothing_in_common_shows_nothing():
    found = compare_reports(report(["passed"]), report(["passed"], model="opus"))
    assert (found.overall, found.conclusion) == (None, Conclusion.INCONCLUSIVE)
    assert found.notes[0] == "the two reports have no judged case in common"


def test_each_platform_and_model_is_compared_by_itself():
    before = [cell(name, "failed", model=model) for name in NAMES for model in ("sonnet", "opus")]
    after = [
        cell(name, "passed" if model == "opus" else "failed", model=model)
        for name in NAMES
        for model in ("sonnet", "opus")
    ]
    found = compare_reports(build_report(before, ABOUT), build_report(after, ABOUT))
    assert {each.model: each.comparison.conclusion.value for each in found.groups} == {
        "sonnet": "inconclusive",
        "opus": "better",
    }


def test_the_cases_that_moved_are_told_furthest_first():
    before = [cell("half", "failed"), cell("half", "passed", repeat=2), cell("turned", "passed"), cell("same")]
    after = [cell("half", "passed"), cell("half", "passed", repeat=2), cell("turned", "failed"), cell("same")]
    found = compare_reports(build_report(before, ABOUT), build_report(after, ABOUT))
    assert [(each.case, each.rate_before, each.rate_after) for each in found.moved] == [
        ("turned", 1, 0),
        ("half", 0.5, 1),
    ]
