"""What cells come to together."""

from __future__ import annotations

import msgspec
import pytest

from skill_cells import ABOUT, cell
from trueup.core.errors import InputError
from trueup.core.usage import Usage
from trueup.skills._report import Arm, Report, build_report, read_report
from trueup.skills._stats import Conclusion


def test_a_report_has_the_keys_that_programs_read():
    data = msgspec.to_builtins(build_report([cell(), cell("waves", "failed")], ABOUT))
    assert data["passed"] is False
    assert data["summary"].items() >= {"cases": 2, "runs": 2, "passed": 1, "failed": 1}.items()
    run = data["runs"][0]
    assert run.keys() >= {"case", "skill", "platform", "model", "passed", "turns", "evals", "transcript", "usage"}
    assert run["evals"][0] == {
        "label": "greets by name",
        "passed": True,
        "detail": {"kind": "boolean", "value": True, "expected": True},
        "reason": "It names Ada.",
    }
    assert run["transcript"]["messages"][0] == {"role": "user", "content": "Greet Ada."}


@pytest.mark.parametrize("status", ["failed", "error", "skipped"])
def test_a_report_passes_only_if_every_cell_did(status):
    assert build_report([cell()], ABOUT).passed
    assert not build_report([cell(), cell("other", status)], ABOUT).passed


def test_nothing_that_ran_has_not_passed():
    assert not build_report([], ABOUT).passed
    assert not build_report([cell()], ABOUT, partial=True, notes=["interrupted"]).passed


def test_what_could_not_be_judged_is_no_failure_of_the_skill():
    report = build_report([cell(), cell("other", "error")], ABOUT)
    assert (report.summary.failed, report.summary.errors) == (0, 1)
    assert report.statistics.overall.rate == 1
    assert report.statistics.overall.judged == 1


def test_costs_of_other_runs_are_not_counted_again():
    report = build_report([cell(), cell("other", cached=True)], ABOUT)
    assert report.summary.usage.cost_usd == 0.5
    assert report.summary.cached == 1


def test_a_cost_that_nobody_knows_stays_unknown():
    known, unknown = cell(), cell("other", usage=Usage(input_tokens=3))
    report = build_report([known, unknown], ABOUT)
    assert (report.summary.usage.cost_usd, report.summary.usage.incomplete) == (0.5, True)
    assert (report.statistics.groups[0].cost_usd_mean, report.statistics.groups[0].cost_known_in) == (0.5, 1)
    assert build_report([cell(usage=None)], ABOUT).summary.usage is None


def test_the_skill_is_compared_with_nothing_but_the_bare_harness():
    names = [f"case {number}" for number in range(12)]
    bare = [cell(name, "failed", arm=Arm.WITHOUT) for name in names]
    report = build_report([*bare, *(cell(name) for name in names)], ABOUT)
    assert report.passed
    assert report.summary.runs == 12
    assert report.statistics.delta.conclusion is Conclusion.BETTER
    assert [(each.platform, each.comparison.difference) for each in report.statistics.deltas] == [("claude-code", 1)]


def test_a_report_is_read_as_it_was_written(tmp_path):
    report = build_report([cell(), cell("other", "error")], ABOUT)
    file = tmp_path / "report.json"
    file.write_bytes(msgspec.json.encode(report))
    assert read_report(file) == report
    stream = tmp_path / "report.jsonl"
    stream.write_bytes(b'{"type":"event"}\n' + msgspec.json.encode({"type": "result", "report": report}) + b"\n")
    assert read_report(stream) == report
    assert isinstance(read_report(stream), Report)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"passed": true}', "\xff", "[" * 100_000])
def test_what_is_no_report_is_told(tmp_path, text):
    file = tmp_path / "report.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="is not a report of `trueup test`"):
        read_report(file)


def test_a_report_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_report(tmp_path / "gone.json")


def test_a_cell_that_told_nothing_makes_the_sum_a_lower_bound():
    silent = cell("silent", usage=None, judge_usage=None)
    told = cell("told", judge_usage=Usage.total([]))
    found = build_report([silent, told], ABOUT).summary
    assert (found.usage.cost_usd, found.usage.incomplete) == (0.5, True)
    assert found.judge_usage.incomplete


def test_a_cell_that_was_never_begun_used_nothing():
    never = cell("never", "skipped", usage=None, attempts=0)
    assert not build_report([cell(), never], ABOUT).summary.usage.incomplete


def test_what_counts_is_how_a_cell_ended_and_not_what_else_a_file_says():
    report = build_report([cell(passed=False), cell("other", "failed", passed=True)], ABOUT)
    assert [each.rate for each in report.statistics.cases] == [1, 0]
