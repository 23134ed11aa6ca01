"""Times as people type them: `30d`, `12h`, `2026-01-31`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import click

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """The callback of an option: so long ago, or a date, as records carry it."""
    if value is None:
        return None
    try:
        time = _ago(value) or datetime.fromisoformat(value)
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        # Not by `strftime`, which writes the year 999 with three digits: texts are compared.
        return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is no time: use 30d, 12h, 45m or 2026-01-31") from None


def _ago(text: str) -> datetime | None:
    found = _AGO.fullmatch(text.strip())
    return None if found is None else datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
