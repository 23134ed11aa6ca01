"""Reports that are found again."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from skill_cells import ABOUT, cell
from trueup.core.errors import InputError
from trueup.skills._report import (
    Transcript,
    build_report,
    keep_report,
    kept_cell,
    kept_head,
    kept_outline,
    kept_report,
    kept_reports,
)


def test_a_kept_report_is_found_again(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    assert kept_reports(environ) == []
    report = build_report([cell()], ABOUT)
    name = keep_report(report, environ)
    assert kept_reports(environ) == [name]
    assert kept_report(name, environ) == report


def test_what_is_no_report_is_not_among_them(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    name = keep_report(build_report([], ABOUT), environ)
    (tmp_path / "trueup" / "reports" / "notes.jsonl").write_text("{}")
    assert kept_reports(environ) == [name]


@pytest.mark.parametrize("name", ["../../secret", "", "20260101T000000-0123456g", "x" * 300])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="is not the name of a report"):
        kept_report(name, {"XDG_DATA_HOME": str(tmp_path)})


def test_the_newest_is_first_within_a_second_too(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    names = [keep_report(build_report([], ABOUT), environ) for _ in range(5)]
    assert kept_reports(environ) == names[::-1]


def test_an_outline_is_the_report_without_its_transcripts(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    report = build_report([cell(), cell("other", "error"), cell("third", "failed", notes=["n"])], ABOUT, notes=["m"])
    bare = [asdict(replace(each, transcript=Transcript())) for each in report.runs]
    outline = kept_outline(keep_report(report, environ), environ)
    assert [asdict(each) for each in outline.runs] == bare
    assert replace(outline, runs=[]) == replace(report, runs=[])


def test_a_head_is_what_was_counted(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    report = build_report([cell(), cell("other", "failed")], ABOUT, partial=True)
    head = kept_head(keep_report(report, environ), environ)
    assert (head.passed, head.partial, head.summary) == (False, True, report.summary)
    assert head.rate == report.statistics.overall


def test_one_cell_is_found_by_its_key_and_repeat(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    report = build_report([cell(), cell(repeat=2), cell("other", "failed")], ABOUT)
    name = keep_report(report, environ)
    assert kept_cell(name, "key-of-greets", 2, environ) == report.runs[1]
    assert kept_cell(name, "key-of-greets", 3, environ) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a report that was kept whole"),
        (b"{}", "missing required field"),
        (b"\xff" * 100, "is not a report"),
        (b"[" * 100_000, "is not a report"),
    ],
)
def test_what_was_not_kept_whole_is_told_with_its_place(tmp_path, content, why):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    name = keep_report(build_report([cell()], ABOUT), environ)
    (tmp_path / "trueup" / "reports" / f"{name}.jsonl").write_bytes(content)
    for read in (kept_head, kept_outline, kept_report):
        with pytest.raises(InputError, match=why):
            read(name, environ)


def test_a_report_that_lost_its_last_cell_is_not_taken_for_a_whole_one(tmp_path):
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    name = keep_report(build_report([cell(), cell(repeat=2)], ABOUT), environ)
    file = tmp_path / "trueup" / "reports" / f"{name}.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="has 1 of 2 cells, and is not whole"):
        kept_outline(name, environ)
