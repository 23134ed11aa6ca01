"""`trueup cache`"""

from __future__ import annotations

import time

import click
import msgspec

from trueup.workspace import Kept, clean_cache, list_cache

from ._shared import json_option, show

DAY_SECS = 86_400


@click.group()
def command() -> None:
    """What trueup keeps to be quick: checked-out bases, dependencies, tops. All of it can be made again."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List what is kept, largest first.

    \b
    Example:
      trueup cache list
    """
    _show(list_cache(), "nothing is kept", as_json=as_json)


@command.command("clean")
@click.option("--days", type=click.IntRange(min=0), default=0, help="Keep layers that were used within so many days.")
@json_option
def clean_command(days: int, as_json: bool) -> None:
    """Remove layers, and tops whose owner is gone. What somebody uses now stays.

    \b
    Example:
      trueup cache clean --days 7
    """
    _show(clean_cache(older_than_secs=days * DAY_SECS, now=time.time()), "nothing to remove", as_json=as_json)


def _show(kept: list[Kept], nothing: str, *, as_json: bool) -> None:
    lines = [f"{each.size_bytes / 1e6:9.1f} MB  {each.kind:<12}  {each.repository}  {each.path.name}" for each in kept]
    show(msgspec.to_builtins(kept, enc_hook=str), "\n".join(lines) or nothing, as_json=as_json)
