"""`trueup trust`"""

from __future__ import annotations

from pathlib import Path

import click

from trueup.contract import parse_contract
from trueup.core.errors import InputError
from trueup.core.settings import PROJECT_FILE, project_file
from trueup.core.trust import is_trusted, trust

from ._shared import json_option, show


@click.command()
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The repository."
)
@json_option
def command(repo: Path, as_json: bool) -> None:
    """Agree to what the repository's trueup.yaml asks for: setup commands, a network, folders and variables of yours.

    It holds for exactly this content; a changed file is asked about again.

    \b
    Example:
      trueup trust
    """
    file = project_file(repo)
    if file is None:
        raise InputError(f"no {PROJECT_FILE} in {repo.absolute()} or above it; write one with `trueup init`")
    content = file.read_bytes()
    contract = parse_contract(content, str(file))
    asked = {
        "setup": contract.setup,
        "setup_env": contract.setup_env,
        "reuse": contract.reuse,
        "network": [check.name for check in contract.checks if check.network],
    }
    already = is_trusted(content)
    trust(content, str(file))
    lines = [f"{name}: {', '.join(wanted)}" for name, wanted in asked.items() if wanted] or [
        "it asks for nothing special"
    ]
    lines.append(f"{file}: {'was already trusted' if already else 'trusted'}")
    show({"file": str(file), "asks_for": asked, "was_trusted": already}, "\n".join(lines), as_json=as_json)
