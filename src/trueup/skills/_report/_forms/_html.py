"""A report as one page that stands alone: nothing in it is run or loaded, whatever an agent wrote."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from trueup.core.text import visible, written

from ..._model import ToolEvent
from .._model import CellReport, Report
from ._pictures import heat_maps, rate_bars
from ._words import column_name, comparison_line, dollars, percent, rate_line, tokens, where, why

if TYPE_CHECKING:
    from jinja2 import Template

MOST_CHARACTERS = 20_000


def as_html(report: Report) -> str:
    """The matrix as a heat map, rates with their intervals, and every cell with its transcript."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _template("report.html").render(
        report=report,
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        maps=heat_maps(report),
        bars=rate_bars(report),
        deltas=[
            (column_name((each.platform, each.model)), comparison_line(each.comparison))
            for each in report.statistics.deltas
        ],
    )


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
        for each in (
            anchor,
            column_name,
            comparison_line,
            dollars,
            percent,
            rate_line,
            said,
            told,
            tokens,
            where,
            why,
        )
    }
    pages.globals.update(words)
    return pages.get_template(name)


@cache
def _style() -> str:
    from importlib.resources import files

    return files(__package__).joinpath("report.css").read_text(encoding="utf-8")
