"""A report for a terminal, without colours: what failed last, because that is where the eye is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueup.core.text import visible

from .._model import Arm, CellReport, CellStatus, Report
from ._words import (
    Column,
    column_name,
    columns,
    comparison_line,
    dollars,
    grid,
    rate_line,
    repeats_line,
    square,
    tokens,
    where,
    why,
)

MOST_TOLD = 50
MOST_CHARACTERS = 400


def as_human(report: Report) -> str:
    """The matrix, what it says together, and every cell that did not pass with its reasons."""
    lines = (*_matrix(report.tested), "", *_statistics(report), *_troubles(report), *_notes(report))
    return visible("\n".join(lines)) + "\n"


def _matrix(cells: Sequence[CellReport]) -> Iterator[str]:
    across, rows = columns(cells), grid(cells)
    if not rows:
        yield "no cells ran"
        return
    table = [["", *map(column_name, across)], *([case, *_squares(row, across)] for case, row in rows.items())]
    widths = [max(len(line[index]) for line in table) for index in range(len(across) + 1)]
    for line in table:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def _squares(row: dict[Column, list[CellReport]], across: Sequence[Column]) -> list[str]:
    return [square(row.get(column, [])) for column in across]


def _statistics(report: Report) -> Iterator[str]:
    numbers = report.statistics
    if numbers.overall is not None:
        yield f"passed      {rate_line(numbers.overall)}"
    with_skill = [group for group in numbers.groups if group.arm is Arm.WITH and group.rate is not None]
    for group in with_skill:
        if group.rate is not None and (len(with_skill) > 1 or repeats_line(group.rate)):
            name = column_name((group.platform, group.model))
            yield "  ".join(part for part in (f"  {name}:", rate_line(group.rate), repeats_line(group.rate)) if part)
    if numbers.delta is not None:
        yield f"the skill   {comparison_line(numbers.delta)}"
    yield f"cost        {dollars(report.summary.usage)} (skill {dollars(report.summary.skill_usage)}, judge {dollars(report.summary.judge_usage)}); tokens {tokens(report.summary.usage)}"
    if report.summary.cached:
        yield f"cached      {report.summary.cached} of {len(report.runs)} cells are of an earlier run"


def _troubles(report: Report) -> Iterator[str]:
    bad = [cell for cell in report.runs if cell.status in (CellStatus.FAILED, CellStatus.ERROR)]
    bad = [cell for cell in bad if cell.arm is Arm.WITH or cell.status is CellStatus.ERROR]
    for cell in bad[:MOST_TOLD]:
        yield ""
        yield f"{cell.status.value.upper()}  {where(cell)}" + (
            f"   trueup runs show {cell.run_id}" if cell.run_id else ""
        )
        yield from (f"  {_short(reason)}" for reason in why(cell))
    if len(bad) > MOST_TOLD:
        yield f"\n… {len(bad) - MOST_TOLD} more; --output report.html has them all"


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= MOST_CHARACTERS else one_line[: MOST_CHARACTERS - 1] + "…"


def _notes(report: Report) -> Iterator[str]:
    count = report.summary
    yield ""
    yield from (f"note: {note}" for note in report.notes)
    others = [f"{number} {name}" for number, name in ((count.errors, "errored"), (count.skipped, "skipped")) if number]
    counts = ", ".join((f"{count.passed} passed", f"{count.failed} failed", *others))
    yield counts + (" (partial)" if report.partial else "")
