"""Reports that are kept for pages and comparisons, whatever else was written of them.

A kept report is a file of lines: a head with all that was counted, then a line for each cell. So a list of reports
reads a line of each, and nobody needs room for all transcripts at once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.files import write_whole
from trueup.core.trust import data_folder

from .._stats import GroupRate
from ._forms import cell_line, json_line
from ._model import About, CellReport, Report, Statistics, Summary, Transcript

T = TypeVar("T")
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")
_SUFFIX = ".jsonl"


class _Overall(Struct, frozen=True, kw_only=True):
    """The one number of a report's statistics that a list of reports shows."""

    overall: GroupRate | None


class ReportHead(Struct, frozen=True, kw_only=True):
    """What a list of reports shows of one."""

    passed: bool
    summary: Summary
    statistics: _Overall
    partial: bool

    @property
    def rate(self) -> GroupRate | None:
        """How often the cells that had the skill passed."""
        return self.statistics.overall


class _Head(Struct, frozen=True, kw_only=True):
    """A report without its cells. `cells` is how many there must be."""

    passed: bool
    summary: Summary
    statistics: Statistics
    about: About
    partial: bool
    notes: list[str]
    cells: int


class _Bare(CellReport, frozen=True, kw_only=True, omit_defaults=True, rename={"transcript": "not read"}):
    """A cell whose transcript is passed over."""

    transcript: Transcript = Transcript()


class _Name(Struct, frozen=True):
    """By what a cell is found."""

    key: str
    repeat: int


class _Line(Struct, frozen=True):
    cell: CellReport


class _BareLine(Struct, frozen=True):
    cell: _Bare


class _NameLine(Struct, frozen=True):
    cell: _Name


def keep_report(report: Report, environ: Mapping[str, str] | None = None) -> str:
    """Keep a report among the user's; the name by which it is found again. Blocks."""
    folder = _folder(environ)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.now(UTC)
    # Microseconds in hex: those of one second are in order too.
    name = f"{now:%Y%m%dT%H%M%S}-{now.microsecond:05x}{secrets.randbits(12):03x}"
    head = _Head(
        passed=report.passed,
        summary=report.summary,
        statistics=report.statistics,
        about=report.about,
        partial=report.partial,
        notes=report.notes,
        cells=len(report.runs),
    )
    write_whole(folder / f"{name}{_SUFFIX}", json_line(head) + "".join(map(cell_line, report.runs)))
    return name


def kept_reports(environ: Mapping[str, str] | None = None) -> list[str]:
    """The names of the reports that are kept, newest first. Blocks."""
    try:
        found = [file.stem for file in _folder(environ).iterdir() if file.suffix == _SUFFIX]
    except FileNotFoundError:
        return []
    return sorted((name for name in found if _NAME.fullmatch(name)), reverse=True)


def kept_report(name: str, environ: Mapping[str, str] | None = None) -> Report:
    """A report by its name. Blocks."""
    return _read(_path(name, environ), _Line)


def kept_outline(name: str, environ: Mapping[str, str] | None = None) -> Report:
    """A report by its name, without transcripts, which are most of it. Blocks."""
    return _read(_path(name, environ), _BareLine)


def kept_head(name: str, environ: Mapping[str, str] | None = None) -> ReportHead:
    """What a list shows of a report. Blocks."""
    path = _path(name, environ)
    return _decoded(path, next(_lines(path), b""), ReportHead)


def kept_cell(name: str, key: str, repeat: int, environ: Mapping[str, str] | None = None) -> CellReport | None:
    """One cell of a report with its transcript; None where there is no such cell. Blocks."""
    path = _path(name, environ)
    lines = _lines(path)
    next(lines, None)
    for line in lines:
        if _decoded(path, line, _NameLine).cell == _Name(key, repeat):
            return _decoded(path, line, _Line).cell
    return None


def _read(path: Path, kind: type[_Line] | type[_BareLine]) -> Report:
    lines = _lines(path)
    head = _decoded(path, next(lines, b""), _Head)
    cells: list[CellReport] = [_decoded(path, line, kind).cell for line in lines]
    if len(cells) != head.cells:
        raise InputError(f"{path}: has {len(cells)} of {head.cells} cells, and is not whole")
    return Report(
        passed=head.passed,
        summary=head.summary,
        runs=cells,
        statistics=head.statistics,
        about=head.about,
        partial=head.partial,
        notes=head.notes,
    )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _decoded(path: Path, line: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not a report that was kept whole ({error})") from None


def _path(name: str, environ: Mapping[str, str] | None) -> Path:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not the name of a report; `trueup test` tells it")
    return _folder(environ) / f"{name}{_SUFFIX}"


def _folder(environ: Mapping[str, str] | None) -> Path:
    return data_folder(environ) / "reports"
