"""A report as JUnit XML, which every continuous integration shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from trueup.core.text import written

from .._model import CellReport, CellStatus, Report
from ._words import Column, column_name, columns, where, why

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_CHARACTERS = 20_000


def as_junit(report: Report) -> str:
    """A suite for each platform and model, a test case for each cell."""
    cells = report.tested
    root = Element("testsuites", {"name": "trueup test", **_counts(cells)})
    for column in columns(cells):
        _suite(root, column, [cell for cell in cells if (cell.platform, cell.model) == column])
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, column: Column, cells: Sequence[CellReport]) -> None:
    suite = SubElement(root, "testsuite", {"name": _xml(column_name(column)), **_counts(cells)})
    for cell in cells:
        name = f"{cell.case} #{cell.repeat}"
        took = f"{cell.duration_secs or 0:.3f}"
        case = SubElement(suite, "testcase", name=_xml(name), classname=_xml(column_name(column)), time=took)
        _outcome(case, cell)
        SubElement(case, "system-out").text = _xml(_transcript(cell))


def _outcome(case: Element, cell: CellReport) -> None:
    reasons = "\n".join(why(cell))
    match cell.status:
        case CellStatus.FAILED:
            first = reasons.partition("\n")[0]
            SubElement(case, "failure", message=_xml(first)).text = _xml(reasons)
        case CellStatus.ERROR:
            kind = "" if cell.error is None else cell.error.kind
            SubElement(case, "error", type=_xml(kind), message=_xml(reasons)).text = _xml(f"{where(cell)}\n{reasons}")
        case CellStatus.SKIPPED:
            SubElement(case, "skipped", message=_xml(reasons or "was not begun"))


def _counts(cells: Sequence[CellReport]) -> dict[str, str]:
    def count(status: CellStatus) -> str:
        return str(sum(cell.status is status for cell in cells))

    return {
        "tests": str(len(cells)),
        "failures": count(CellStatus.FAILED),
        "errors": count(CellStatus.ERROR),
        "skipped": count(CellStatus.SKIPPED),
        "time": f"{sum(cell.duration_secs or 0 for cell in cells):.3f}",
    }


def _transcript(cell: CellReport) -> str:
    text = "\n\n".join(f"{message.role.value}: {message.content}" for message in cell.transcript.messages)
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "\n…"
    return f"{cut}\n\ntrueup runs show {cell.run_id}" if cell.run_id else cut


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", written(text))
