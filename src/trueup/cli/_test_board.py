"""What a run of skill tests looks like while it goes on: a few lines, as a function of what has happened."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.usage import Usage
from trueup.skills import Arm, CellReport, CellStatus, Plan

from ._code_lines import counted, one_line
from ._used import used_text

MOST_ROWS = 12
MOST_TROUBLES = 5


class Row(Struct, frozen=True, kw_only=True):
    """The cells of one platform and model."""

    ended: int = 0
    running: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0

    def __str__(self) -> str:
        parts = [f"{self.passed} passed"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [counted(self.errors, "error")] if self.errors else []
        return ", ".join([*parts, *([f"{self.running} running"] if self.running else [])])


class Board(Struct, frozen=True, kw_only=True):
    """What is known of a run at a moment. It is replaced and never changed, for it is drawn by another thread."""

    cells: int = 0
    rows: dict[tuple[str, str], Row] = {}
    troubles: tuple[str, ...] = ()
    used: Usage | None = None

    @classmethod
    def of(cls, plan: Plan) -> Board:
        """Of a run that is about to begin."""
        places = [(platform, model) for platform in plan.config.platforms for model in plan.config.models]
        return cls(cells=len(plan), rows=dict.fromkeys(places, Row()))

    def began(self, platform: str, model: str) -> Board:
        """Once a cell runs."""
        return self._with(platform, model, running=1)

    def left(self, platform: str, model: str) -> Board:
        """Once a cell runs no longer."""
        return self._with(platform, model, running=-1)

    def ended(self, report: CellReport) -> Board:
        """Once a cell has come to its end."""
        is_now = {status: int(report.status is status) for status in CellStatus}
        board = self._with(
            report.platform,
            report.model,
            ended=1,
            passed=is_now[CellStatus.PASSED],
            failed=is_now[CellStatus.FAILED],
            errors=is_now[CellStatus.ERROR],
        )
        trouble = [cell_line(report)] if report.status in {CellStatus.FAILED, CellStatus.ERROR} else []
        return replace(
            board,
            troubles=(*self.troubles, *trouble)[-MOST_TROUBLES:],
            used=self.used if report.cached else _sum(self.used, report.usage),
        )

    def lines(self, elapsed_secs: float) -> Iterator[str]:
        """The board for people."""
        ended = sum(row.ended for row in self.rows.values())
        yield f"{ended} of {counted(self.cells, 'cell')} · {used_text(self.used)} · {elapsed_secs:.0f} s"
        shown = list(self.rows.items())[:MOST_ROWS]
        yield from (f"  {one_line(f'{platform} {model}'.rstrip())}: {row}" for (platform, model), row in shown)
        if len(self.rows) > MOST_ROWS:
            yield f"  and {len(self.rows) - MOST_ROWS} platforms and models more"
        yield from (f"  {trouble}" for trouble in self.troubles)

    def _with(self, platform: str, model: str, **more: int) -> Board:
        row = self.rows.get((platform, model), Row())
        row = replace(row, **{name: getattr(row, name) + by for name, by in more.items()})
        return replace(self, rows={**self.rows, (platform, model): row})


def cell_line(report: CellReport) -> str:
    """A cell that has ended, in one line."""
    parts = [report.case, report.platform, report.model, f"repeat {report.repeat}" if report.repeat > 1 else ""]
    place = " · ".join(part for part in parts if part)
    bare = ", without the skill" if report.arm is Arm.WITHOUT else ""
    cached = " (cached)" if report.cached else ""
    why = _why(report)
    return one_line(f"{report.status.value}{cached}: {place}{bare}{f': {why}' if why else ''}")


def _why(report: CellReport) -> str:
    if report.error is not None:
        return f"{report.error.kind}: {report.error.message}"
    return "; ".join(f"{each.label}: {each.reason}" for each in report.evals if not each.passed)


def _sum(before: Usage | None, more: Usage | None) -> Usage | None:
    if before is None or more is None:
        return before or more
    return before + more
