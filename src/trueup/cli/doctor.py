"""`trueup doctor`"""

from __future__ import annotations

import click
import msgspec

from trueup.workspace import Diagnosis, diagnose

from ._main import EXIT_NO
from ._shared import json_option, run_async, show


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Say what works on this machine, and how to mend what does not. Exit 1 where something needed is missing.

    \b
    Example:
      trueup doctor
    """
    found = run_async(diagnose())
    show(msgspec.to_builtins(found), "\n".join(_line(each) for each in found), as_json=as_json)
    if any(each.required and not each.ok for each in found):
        raise click.exceptions.Exit(EXIT_NO)


def _line(diagnosis: Diagnosis) -> str:
    mark = "ok  " if diagnosis.ok else "MISS" if diagnosis.required else "note"
    advice = "" if diagnosis.ok else f"\n      fix: {diagnosis.fix}"
    return f"{mark}  {diagnosis.name}: {diagnosis.detail}{advice}"
