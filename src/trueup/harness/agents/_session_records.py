"""Where a session of an agent began that keeps each of its sessions in a file of records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

# The first record can hold a long prompt.
MOST_READ = 8 << 20


def folder_in_records(home: Path, pattern: str, session: str, *keys: str) -> str | None:
    """The folder that the first record of a session tells below some keys; None where that cannot be told."""
    if not re.fullmatch(r"[\w-]+", session):
        return None
    found: Any = next((_first_record(file) for file in home.glob(pattern.format(session))), None)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else None


def _first_record(file: Path) -> Any:
    """The record of a first line, or of the whole file where it is one record."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_READ)
        return msgspec.json.decode(content.partition(b"\n")[0] if file.suffix == ".jsonl" else content)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
