"""`trueup doctor`"""

from __future__ import annotations

import click
import msgspec

from trueup.workspace import Diagnosis

from ._doctor_parts import examine
from ._main import EXIT_NO
from ._shared import json_option, quiet_option, run_async, show
from ._waiting import Waiting


@click.command()
@quiet_option
@json_option
def command(quiet: bool, as_json: bool) -> None:
    """Say what works on this machine, and how to mend what does not. Exit 1 where something needed is missing.

    The sandbox is tried out, every agent is asked for its version and login (no model is called), the database is
    opened, and the port of `trueup serve` looked at. What does not answer in time is told too.

    \b
    Examples:
      trueup doctor
      trueup doctor --json
    """
    with Waiting("trying everything out", quiet=quiet or as_json):
        found = run_async(examine())
    show(msgspec.to_builtins(found), "\n".join(_line(each) for each in found), as_json=as_json)
    if any(each.required and not each.ok for each in found):
        raise click.exceptions.Exit(EXIT_NO)


def _line(diagnosis: Diagnosis) -> str:
    mark = "ok  " if diagnosis.ok else "MISS" if diagnosis.required else "note"
    advice = "" if diagnosis.ok else f"\n      fix: {diagnosis.fix}"
    return f"{mark}  {diagnosis.name}: {diagnosis.detail}{advice}"
