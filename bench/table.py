"""All that was measured as one table: printed, and where it is wanted, written into the documents."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import HEAD, Row

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- numbers -->", "<!-- /numbers -->"


def as_text(rows: Sequence[Row]) -> str:
    """For a terminal."""
    lines = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """For a document."""
    lines = [HEAD, ("---",) * len(HEAD), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: Sequence[Row]) -> str:
    """How many hold."""
    short = [row.what for row in rows if not row.held]
    return f"{len(rows) - len(short)} of {len(rows)} hold{'; short: ' + ' · '.join(short) if short else ''}"


def page(rows: Sequence[Row], machine: str) -> str:
    """The whole of `docs/numbers.md`."""
    said = (
        f"Written by `make bench ARGS=--write`; do not edit. Measured on {machine}. Each reference was measured in the "
        "same run, in turns with what it is held against; `make bench` measures all of it again. "
        f"{summary(rows)}."
    )
    return f"# Numbers\n\n{said}\n\n{as_markdown(rows)}\n"


def this_machine() -> str:
    """What kind of machine it is, and when it was asked."""
    cores = len(os.sched_getaffinity(0))
    kind = f"{platform.system()} {platform.machine()} with {cores} core{'' if cores == 1 else 's'}"
    return f"{kind}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"


def with_numbers(document: str, rows: Sequence[Row], machine: str) -> str:
    """A document with the table where it has a place for it."""
    there = f"{BEGIN}\n{as_markdown(rows)}\n\nMeasured on {machine}.\n{END}"
    if END not in document:
        return document.replace(BEGIN, there, 1)
    return re.sub(f"{BEGIN}.*?{END}", lambda _: there, document, count=1, flags=re.DOTALL)


def write(rows: Sequence[Row], root: Path = ROOT) -> list[Path]:
    """Put the numbers into the documents; which were written."""
    machine, readme = this_machine(), root / "README.md"
    numbers = root / "docs" / "numbers.md"
    numbers.write_text(page(rows, machine), encoding="utf-8")
    document = readme.read_text(encoding="utf-8")
    if BEGIN not in document:
        return [numbers]
    readme.write_text(with_numbers(document, rows, machine), encoding="utf-8")
    return [numbers, readme]
