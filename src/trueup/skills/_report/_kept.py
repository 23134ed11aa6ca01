"""Reports that are kept for pages and comparisons, whatever else was written of them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from trueup.core.errors import InputError
from trueup.core.files import write_whole
from trueup.core.trust import data_folder

from ._forms import Form, render
from ._model import Report
from ._read import read_report

_NAME = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")


def keep_report(report: Report, environ: Mapping[str, str] | None = None) -> str:
    """Keep a report among the user's; the name by which it is found again. Blocks."""
    folder = _folder(environ)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    write_whole(folder / f"{name}.json", render(report, Form.JSON))
    return name


def kept_reports(environ: Mapping[str, str] | None = None) -> list[str]:
    """The names of the reports that are kept, newest first. Blocks."""
    try:
        found = [file.stem for file in _folder(environ).iterdir() if file.suffix == ".json"]
    except FileNotFoundError:
        return []
    return sorted((name for name in found if _NAME.fullmatch(name)), reverse=True)


def kept_report(name: str, environ: Mapping[str, str] | None = None) -> Report:
    """A report by its name. Blocks."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not the name of a report; `trueup test` tells it")
    return read_report(_folder(environ) / f"{name}.json")


def _folder(environ: Mapping[str, str] | None) -> Path:
    return data_folder(environ) / "reports"
