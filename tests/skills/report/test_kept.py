"""Reports that are found again."""

from __future__ import annotations

import pytest

from skill_cells import ABOUT, cell
from trueup.core.errors import InputError
from trueup.skills._report import build_report, keep_report, kept_report, kept_reports


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
    (tmp_path / "trueup" / "reports" / "notes.json").write_text("{}")
    assert kept_reports(environ) == [name]


@pytest.mark.parametrize("name", ["../../secret", "", "20260101T000000-0123456g", "x" * 300])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="is not the name of a report"):
        kept_report(name, {"XDG_DATA_HOME": str(tmp_path)})
