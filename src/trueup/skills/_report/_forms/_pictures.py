"""What the pictures of a report show: a heat map of its cells, and rates with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._model import JUDGED, Arm, CellReport, CellStatus, Group, Report
from ._words import Column, column_name, columns, grid, rate_line, repeats_line, square


class Square(NamedTuple):
    """One square of a heat map: what is written in it, how warm it is, and the cells behind it."""

    text: str
    warmth: str
    cells: Sequence[CellReport]


class Row(NamedTuple):
    """One case of a heat map."""

    case: str
    squares: list[Square]


class HeatMap(NamedTuple):
    """The cases of one arm, on every platform and model."""

    arm: Arm
    columns: list[Column]
    rows: list[Row]


class Bar(NamedTuple):
    """A rate with its interval, as shares of the width of a picture."""

    name: str
    rate: float
    low: float
    high: float
    line: str
    repeats: str
    cost: str


def heat_maps(report: Report) -> list[HeatMap]:
    """The cells of each arm that has any."""
    arms = [(arm, [cell for cell in report.runs if cell.arm is arm]) for arm in Arm]
    return [HeatMap(arm, columns(cells), list(_rows(cells))) for arm, cells in arms if cells]


def rate_bars(report: Report) -> list[Bar]:
    """The rate of each platform, model and arm that was judged."""
    return [bar for group in report.statistics.groups if (bar := _bar(group)) is not None]


def _rows(cells: Sequence[CellReport]) -> Iterator[Row]:
    across = columns(cells)
    for case, row in grid(cells).items():
        yield Row(case, [_square(row.get(column, [])) for column in across])


def _square(cells: Sequence[CellReport]) -> Square:
    return Square(square(cells), _warmth(cells), cells)


def _warmth(cells: Sequence[CellReport]) -> str:
    """A class of the style: from `r0`, nothing passed, to `r4`, everything did."""
    judged = [cell.status is CellStatus.PASSED for cell in cells if cell.status in JUDGED]
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
