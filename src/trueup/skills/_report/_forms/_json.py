"""Reports for programs."""

from __future__ import annotations

import msgspec

from trueup.core.text import writable

from .._model import CellReport, Report


def as_json(report: Report) -> str:
    """One object, for people to look at too."""
    return msgspec.json.format(_encoded(report), indent=2).decode() + "\n"


def as_stream(report: Report) -> str:
    """A line for each cell, then one with the whole report, as a run writes them while it goes on."""
    return "".join(cell_line(cell) for cell in report.runs) + result_line(report)


def cell_line(cell: CellReport) -> str:
    """The line of a cell that ended."""
    return json_line({"type": "cell", "cell": cell})


def result_line(report: Report) -> str:
    """The last line."""
    return json_line({"type": "result", "report": report})


def json_line(value: object) -> str:
    """Anything of a report in one line."""
    return _encoded(value).decode() + "\n"


def _encoded(value: object) -> bytes:
    # A file name that is no text reaches a transcript through an agent's tools.
    return msgspec.json.encode(writable(msgspec.to_builtins(value, str_keys=True)))
