"""A report in every form in which somebody wants to read it: functions from a report to a text."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePath

from trueup.core.errors import InputError
from trueup.core.text import written

from .._model import Report
from . import _words as report_words
from ._html import as_html
from ._human import as_human
from ._json import as_json, as_stream, cell_line, json_line, result_line
from ._junit import as_junit
from ._markdown import as_markdown
from ._pictures import heat_maps, rate_bars
from ._words import comparison_line

__all__ = [
    "Form",
    "cell_line",
    "comparison_line",
    "form_of",
    "heat_maps",
    "json_line",
    "rate_bars",
    "render",
    "report_words",
    "result_line",
]


class Form(StrEnum):
    """How a report is written."""

    HUMAN = "human"
    JSON = "json"
    JSON_STREAM = "json-stream"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    HTML = "html"


_WRITERS: dict[Form, Callable[[Report], str]] = {
    Form.HUMAN: as_human,
    Form.JSON: as_json,
    Form.JSON_STREAM: as_stream,
    Form.JUNIT: as_junit,
    Form.MARKDOWN: as_markdown,
    Form.HTML: as_html,
}

_SUFFIXES = {
    ".txt": Form.HUMAN,
    ".json": Form.JSON,
    ".jsonl": Form.JSON_STREAM,
    ".xml": Form.JUNIT,
    ".md": Form.MARKDOWN,
    ".html": Form.HTML,
}


def render(report: Report, form: Form) -> str:
    """A report in a form, as a text that any file takes."""
    return written(_WRITERS[form](report))


def form_of(path: PurePath) -> Form:
    """The form that a file's name asks for."""
    form = _SUFFIXES.get(path.suffix.lower())
    if form is None:
        known = ", ".join(f"{suffix} ({form})" for suffix, form in _SUFFIXES.items())
        raise InputError(f"{path}: no form of report is known by the ending {path.suffix!r}; there are {known}")
    return form
