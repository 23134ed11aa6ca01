"""Numbers and cells in words, the same in every form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from trueup.core.usage import Usage

from ..._stats import Comparison, GroupRate
from .._model import JUDGED, Arm, CellReport, CellStatus

Column = tuple[str, str]


class Bounded(Protocol):
    """Something between two bounds."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def percent(share: float) -> str:
    """A share of one."""
    return f"{share:.0%}"


def between(interval: Bounded) -> str:
    """The 95 % interval of a share."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def points(share: float) -> str:
    """A difference of two shares, in points of a hundred."""
    return f"{100 * share:+.0f}"


def rate_line(rate: GroupRate) -> str:
    """A rate with everything that must stand beside it."""
    counted = f"{rate.passed} of {rate.judged} cells, {_cases(rate.cases)}"
    return f"{percent(rate.rate)} (95 %: {between(rate)}; {counted})"


def _cases(number: int) -> str:
    return f"{number} {'case' if number == 1 else 'cases'}"


def repeats_line(rate: GroupRate) -> str:
    """The chance that one of several repeats passes, and that all do; nothing where nothing was repeated."""
    most = max(rate.pass_at)
    if most == 1:
        return ""
    return f"pass@{most} {percent(rate.pass_at[most])}, pass^{most} {percent(rate.pass_all[most])}"


def comparison_line(found: Comparison) -> str:
    """A comparison in one sentence."""
    shown = (
        f"{found.conclusion.value}: {percent(found.rate_before)} → {percent(found.rate_after)}, {points(found.difference)} points "
        f"(95 %: {points(found.low)} to {points(found.high)}), {_cases(found.improved)} improved, {found.worsened} worsened, p = {found.p_value:.3g}"
    )
    if found.detectable is None:
        few = "is" if found.cases == 1 else "are"
        return f"{shown}; {_cases(found.cases)} {few} too few to show any difference"
    return f"{shown}; {_cases(found.cases)} could have shown {100 * found.detectable:.0f} points"


def dollars(usage: Usage | None) -> str:
    """What something cost: known, estimated, at least, or unknown."""
    if usage is None:
        return "unknown"
    if usage.cost_usd is not None:
        return f"{'at least ' if usage.incomplete else ''}${usage.cost_usd:.4f}"
    if usage.estimated_cost_usd is not None:
        return f"about ${usage.estimated_cost_usd:.4f}"
    return "unknown"


def tokens(usage: Usage | None) -> str:
    """How many tokens were read and written."""
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return "unknown"
    at_least = "at least " if usage.incomplete else ""
    return f"{at_least}{usage.input_tokens or 0:,} in, {usage.output_tokens or 0:,} out"


def where(cell: CellReport) -> str:
    """Which cell it is."""
    parts = [cell.case, cell.platform, cell.model, f"#{cell.repeat}" if cell.repeat > 1 else ""]
    bare = " without the skill" if cell.arm is Arm.WITHOUT else ""
    return " · ".join(part for part in parts if part) + bare


def why(cell: CellReport) -> list[str]:
    """Why a cell did not pass."""
    if cell.error is not None:
        context = f" in {cell.error.context}" if cell.error.context else ""
        return [f"{cell.error.kind}{context}: {cell.error.message}"]
    return [f"{each.label}: {each.reason}" if each.reason else each.label for each in cell.evals if not each.passed]


def columns(cells: Iterable[CellReport]) -> list[Column]:
    """Platforms and models, in the order in which they come."""
    return list(dict.fromkeys((cell.platform, cell.model) for cell in cells))


def column_name(column: Column) -> str:
    """A platform and model in a heading."""
    return " ".join(part for part in column if part)


def grid(cells: Iterable[CellReport]) -> dict[str, dict[Column, list[CellReport]]]:
    """The cells by case, then by platform and model."""
    rows: defaultdict[str, defaultdict[Column, list[CellReport]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        rows[cell.case][cell.platform, cell.model].append(cell)
    return {case: dict(row) for case, row in rows.items()}


def square(cells: Sequence[CellReport]) -> str:
    """What the repeats of a case on one platform and model came to, in a few characters."""
    if not cells:
        return "–"
    passed, judged = sum(cell.passed for cell in cells), sum(cell.status in JUDGED for cell in cells)
    parts = [f"{passed}/{judged}"] if judged else []
    for status, sign in ((CellStatus.ERROR, "error"), (CellStatus.SKIPPED, "skipped")):
        count = sum(cell.status is status for cell in cells)
        parts += [sign if count == 1 else f"{count} {sign}"] if count else []
    return " ".join(parts)
