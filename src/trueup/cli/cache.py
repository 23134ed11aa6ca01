"""`trueup cache`"""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from trueup.skills import clean_cells, list_cells
from trueup.workspace import Kept, clean_cache, list_cache

from ._shared import Verbs, json_option, quiet_option, show
from ._waiting import Waiting

DAY_SECS = 86_400


@click.group(cls=Verbs)
def command() -> None:
    """What trueup keeps to be quick: checked-out bases, dependencies, tops, cells of skill tests.

    All of it can be made again.

    \b
    Examples:
      trueup cache list
      trueup cache clean --days 7
    """


@command.command("list")
@quiet_option
@json_option
def list_command(quiet: bool, as_json: bool) -> None:
    """List what is kept, largest first.

    \b
    Example:
      trueup cache list
    """
    with Waiting("measuring what is kept", quiet=quiet or as_json):
        kept = [*list_cache(), *_together(*list_cells())]
    _show(kept, "nothing is kept", as_json=as_json)


@command.command("clean")
@click.option("--days", type=click.IntRange(min=0), default=0, help="Keep what was used within so many days.")
@quiet_option
@json_option
def clean_command(days: int, quiet: bool, as_json: bool) -> None:
    """Remove layers, tops whose owner is gone, and cells of skill tests. What somebody uses now stays.

    \b
    Example:
      trueup cache clean --days 7
    """
    older_than_secs = days * DAY_SECS
    with Waiting("removing what is not used", quiet=quiet or as_json):
        gone = clean_cache(older_than_secs=older_than_secs, now=time.time())
        cells = clean_cells(older_than_secs=older_than_secs)
    _show([*gone, *_together(*cells)], "nothing to remove", as_json=as_json)


def _together(cells: int, folder: Path, size_bytes: int, used: float) -> list[Kept]:
    """Cells of skill tests as one thing: there can be thousands."""
    named = "1 cell" if cells == 1 else f"{cells} cells"
    return [Kept("cells", f"{named} of skill tests", folder, size_bytes, used)] if cells else []


def _show(kept: list[Kept], nothing: str, *, as_json: bool) -> None:
    kept = sorted(kept, key=lambda each: -each.size_bytes)
    lines = [f"{each.size_bytes / 1e6:9.1f} MB  {each.kind:<12}  {each.repository}  {each.path.name}" for each in kept]
    show(msgspec.to_builtins(kept, enc_hook=str), "\n".join(lines) or nothing, as_json=as_json)
