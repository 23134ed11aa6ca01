"""`trueup config`"""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec

from trueup.core.settings import Resolved, resolve

from ._main import tell
from ._shared import Verbs, json_option, show


@click.group(cls=Verbs)
def command() -> None:
    """Settings, and where each one came from.

    \b
    Example:
      trueup config show
    """


@command.command("show")
@json_option
def show_settings(as_json: bool) -> None:
    """Show every setting in force and its origin.

    A flag wins over a TRUEUP_* variable, that over the nearest trueup.yaml, that over the user's file.

    \b
    Example:
      TRUEUP_MAX_ATTEMPTS=5 trueup config show
    """
    resolved = resolve()
    show(_as_data(resolved), _as_text(resolved), as_json=as_json)
    if not as_json:
        for note in resolved.notes:
            tell(f"note: {note}")


def _as_data(resolved: Resolved) -> dict[str, object]:
    values = _shown(resolved)
    return {
        "settings": {
            name: {"value": values[name], "origin": origin.layer, "place": origin.place}
            for name, origin in resolved.origins.items()
        },
        "notes": resolved.notes,
    }


def _as_text(resolved: Resolved) -> str:
    values = _shown(resolved)
    rows = [(name, _show_value(values[name]), str(origin)) for name, origin in resolved.origins.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for name, value, origin in rows)


def _shown(resolved: Resolved) -> dict[str, Any]:
    """The values, without the password that an address can hold."""
    values: dict[str, Any] = msgspec.to_builtins(resolved.settings)
    if values["database_url"] is not None:
        values["database_url"] = re.sub(r"(?<=://)([^:@/]*):[^@/]*@", r"\1:…@", values["database_url"])
    return values


def _show_value(value: object) -> str:
    return "-" if value is None else str(value)
