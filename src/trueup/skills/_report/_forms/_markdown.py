"""A report as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from trueup.core.text import visible

from .._model import CellStatus, Report
from ._words import column_name, columns, comparison_line, dollars, grid, rate_line, square, tokens, where, why

MOST_TOLD = 30
MOST_CHARACTERS = 300
# What would be more than text in Markdown.
_MARKS = re.compile(r"([\\`*_{}\[\]#|~!])")
# What calls somebody or links to an issue on GitHub. It looks for that when backslashes are gone, but not across tags.
_CALLS = re.compile("([@#])")


def as_markdown(report: Report) -> str:
    """The matrix as a table, then the numbers, then what did not pass."""
    return "\n".join((*_head(report), *_matrix(report), *_numbers(report), *_troubles(report))) + "\n"


def _head(report: Report) -> Iterator[str]:
    count = report.summary
    mark = "✅" if report.passed else "❌"
    yield f"## {mark} trueup test: {count.passed} of {count.runs} cells passed"
    yield ""


def _matrix(report: Report) -> Iterator[str]:
    cells = report.tested
    across, rows = columns(cells), grid(cells)
    if not rows:
        return
    yield "| case | " + " | ".join(_text(column_name(column)) for column in across) + " |"
    yield "|---|" + "---|" * len(across)
    for case, row in rows.items():
        squares = " | ".join(square(row.get(column, [])) for column in across)
        yield f"| {_text(case)} | {squares} |"
    yield ""


def _numbers(report: Report) -> Iterator[str]:
    numbers = report.statistics
    if numbers.overall is not None:
        yield f"- passed: {rate_line(numbers.overall)}"
    if numbers.delta is not None:
        yield f"- the skill: {comparison_line(numbers.delta)}"
    yield f"- cost: {dollars(report.summary.usage)}; tokens: {tokens(report.summary.usage)}"
    yield from (f"- {_text(note)}" for note in report.notes)


def _troubles(report: Report) -> Iterator[str]:
    bad = [cell for cell in report.tested if cell.status in (CellStatus.FAILED, CellStatus.ERROR)]
    if not bad:
        return
    yield ""
    yield "<details><summary>What did not pass</summary>"
    yield ""
    for cell in bad[:MOST_TOLD]:
        yield f"- **{cell.status.value}** {_text(where(cell))}"
        yield from (f"  - {_text(reason)}" for reason in why(cell))
    if len(bad) > MOST_TOLD:
        yield f"- … {len(bad) - MOST_TOLD} more"
    yield ""
    yield "</details>"


def _text(text: str) -> str:
    one_line = visible(" ".join(text.split()))
    cut = one_line if len(one_line) <= MOST_CHARACTERS else one_line[: MOST_CHARACTERS - 1] + "…"
    return _CALLS.sub(r"\1<!-- -->", escape(_MARKS.sub(r"\\\1", cut), quote=False))
