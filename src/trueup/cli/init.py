"""`trueup init`"""

from __future__ import annotations

import os
from pathlib import Path

import click
import yaml

from trueup.contract import OfflineDerivation, derive_offline
from trueup.core.errors import InputError
from trueup.core.files import write_whole
from trueup.core.settings import PROJECT_FILE

from ._shared import json_option, quiet_option, show
from ._waiting import Waiting


@click.command()
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The repository."
)
@quiet_option
@json_option
def command(repo: Path, quiet: bool, as_json: bool) -> None:
    """Propose a trueup.yaml: the checks and the setup that the repository already has. Never overwrites one.

    \b
    Example:
      trueup init && git add trueup.yaml
    """
    target = repo / PROJECT_FILE
    if os.path.lexists(target):
        raise InputError(f"{target} is already there and stays as it is; edit it, or remove it first")
    with Waiting("looking at the repository", quiet=quiet or as_json):
        derivation = derive_offline(repo)
    text = project_text(derivation)
    write_whole(target, text)
    advice = f"written to {target}; read it, commit it, and agree to it with `trueup trust`"
    show(
        {"file": str(target), "contract": derivation.contract.as_data(), "notes": derivation.notes},
        f"{text}\n{advice}",
        as_json=as_json,
    )


def project_text(derivation: OfflineDerivation) -> str:
    """A `trueup.yaml` with the reason for each line."""
    reasons = [f"#   `{each.command}`: {each.reason}" for each in derivation.suggestions]
    head = [
        "# What done means in this repository. Test files, runner and lint configuration, build scripts and lock files",
        "# are protected by themselves; `protect` adds to them, `editable` lifts it.",
        "# Why these:",
        *reasons,
        *(f"# Note: {note}" for note in derivation.notes),
    ]
    body = yaml.safe_dump({"contract": derivation.contract.as_data()}, sort_keys=False, allow_unicode=True, width=120)
    return "\n".join(_one_line(line) for line in head) + "\n" + body


def _one_line(text: str) -> str:
    """YAML ends a comment at more characters than a new line, and takes some for no text at all."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
