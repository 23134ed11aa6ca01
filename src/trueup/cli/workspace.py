"""`trueup workspace`"""

from __future__ import annotations

import click
import msgspec

from trueup.workspace import KeptWorkspace, cache_folder, clean_workspaces, list_workspaces

from ._shared import Verbs, json_option, quiet_option, show
from ._waiting import Waiting


@click.group(cls=Verbs)
def command() -> None:
    """Checkouts in which agents work.

    \b
    Examples:
      trueup workspace list
      trueup workspace clean --suspended
    """


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List workspaces, and which were left behind by a trueup that is gone.

    \b
    Example:
      trueup workspace list
    """
    _show(list_workspaces(cache_folder() / "repositories"), "no workspaces", as_json=as_json)


@command.command("clean")
@click.option(
    "--suspended", is_flag=True, help="Also those of sessions that wait; they are made anew from what is kept."
)
@quiet_option
@json_option
def clean_command(suspended: bool, quiet: bool, as_json: bool) -> None:
    """Remove workspaces whose owner is proven to be gone. One that somebody works in stays.

    \b
    Example:
      trueup workspace clean
    """
    with Waiting("removing workspaces", quiet=quiet or as_json):
        removed = clean_workspaces(cache_folder() / "repositories", suspended_too=suspended)
    _show(removed, "nothing to remove", as_json=as_json)


def _show(kept: list[KeptWorkspace], nothing: str, *, as_json: bool) -> None:
    lines = [f"{each.path.name}  {_state(each):<9}  {each.repository}  base {each.base[:12]}" for each in kept]
    show(msgspec.to_builtins(kept, enc_hook=str), "\n".join(lines) or nothing, as_json=as_json)


def _state(kept: KeptWorkspace) -> str:
    if kept.suspended:
        return "suspended"
    return "abandoned" if kept.abandoned else "in use"
