"""A report as one page that stands alone: nothing in it is run or loaded, whatever an agent wrote."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from trueup.core.text import visible, written

from ..._model import ToolEvent
from .._model import Arm, CellReport, CellStatus, Group, Report
from ._words import (
    between,
    column_name,
    columns,
    comparison_line,
    dollars,
    grid,
    percent,
    rate_line,
    repeats_line,
    square,
    tokens,
    where,
    why,
)

if TYPE_CHECKING:
    from jinja2 import Template

MOST_CHARACTERS = 20_000


class Square(NamedTuple):
    """One square of the heat map: what is written in it, how warm it is, and the first cell behind it."""

    text: str
    warmth: str
    anchor: str | None


class Row(NamedTuple):
    """One case of the heat map."""

    case: str
    squares: list[Square]


class Bar(NamedTuple):
    """A rate with its interval, as shares of the width of a picture."""

    name: str
    rate: float
    low: float
    high: float
    line: str
    repeats: str
    cost: str


def as_html(report: Report) -> str:
    """The matrix as a heat map, rates with their intervals, and every cell with its transcript."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    arms = [(arm, [cell for cell in report.runs if cell.arm is arm]) for arm in Arm]
    return _template("report.html").render(
        report=report,
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        maps=[
            (arm, [column_name(each) for each in columns(cells)], list(_rows(cells))) for arm, cells in arms if cells
        ],
        bars=[bar for group in report.statistics.groups if (bar := _bar(group)) is not None],
        deltas=[
            (column_name((each.platform, each.model)), comparison_line(each.comparison))
            for each in report.statistics.deltas
        ],
    )


def _rows(cells: Sequence[CellReport]) -> Iterator[Row]:
    across = columns(cells)
    for case, row in grid(cells).items():
        yield Row(case, [_square(row.get(column, [])) for column in across])


def _square(cells: Sequence[CellReport]) -> Square:
    return Square(square(cells), _warmth(cells), anchor(cells[0]) if cells else None)


def _warmth(cells: Sequence[CellReport]) -> str:
    """A class of the style: from `r0`, nothing passed, to `r4`, everything did."""
    judged = [cell.passed for cell in cells if cell.status in (CellStatus.PASSED, CellStatus.FAILED)]
    if judged:
        return f"r{int(4 * sum(judged) / len(judged))}"
    return "error" if any(cell.status is CellStatus.ERROR for cell in cells) else "none"


def _bar(group: Group) -> Bar | None:
    if group.rate is None:
        return None
    name = column_name((group.platform, group.model)) + (" without the skill" if group.arm is Arm.WITHOUT else "")
    cost = "" if group.cost_usd_mean is None else f"${group.cost_usd_mean:.4f} a cell"
    rate = group.rate
    return Bar(name, rate.rate, rate.low, rate.high, rate_line(rate), repeats_line(rate), cost)


def anchor(cell: CellReport) -> str:
    """Where on the page a cell is."""
    return f"cell-{cell.key[:16]}-{cell.repeat}"


def said(text: str) -> str:
    """What somebody wrote, so that it can be looked at: control characters visible, and not endless."""
    cut = (
        text
        if len(text) <= MOST_CHARACTERS
        else f"{text[:MOST_CHARACTERS]}\n… {len(text) - MOST_CHARACTERS:,} more characters"
    )
    return visible(written(cut))


def told(event: ToolEvent) -> str:
    """A tool call or its result in a line or two."""
    return said(str(event.input if event.kind == "tool_call" else event.output or ""))


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("trueup.skills._report._forms", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words: dict[str, Any] = {
        each.__name__: each
        for each in (anchor, between, comparison_line, dollars, percent, rate_line, said, told, tokens, where, why)
    }
    pages.globals.update(words)
    return pages.get_template(name)


@cache
def _style() -> str:
    from importlib.resources import files

    return files(__package__).joinpath("report.css").read_text(encoding="utf-8")
