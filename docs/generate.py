"""Writes reference.md, configuration.md, wire.md and the tables of agents.md from the program, so that they cannot say anything else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from agents_table import agents
from configuration_page import configuration
from wire_page import wire

from trueup.cli._main import EXIT_CODES, cli
from trueup.cli.schema import contract_json_schema

FOLDER = Path(__file__).parent


def reference() -> str:
    """The whole reference: every command's help, then the schema of a contract."""
    parts = [
        "# Reference\n\nWritten by `make docs` from the program; do not edit.",
        exit_codes(),
        "## Commands",
        *(section for section in sections(cli, "trueup")),
        "## Contract\n\n```json\n" + json.dumps(contract_json_schema(), indent=2) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def exit_codes() -> str:
    """What every command ends with."""
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["## Exit codes\n", "| code | meaning |", "|---|---|", *rows])


def sections(command: click.Command, name: str, parent: click.Context | None = None) -> list[str]:
    context = click.Context(command, info_name=name.rsplit(maxsplit=1)[-1], parent=parent, max_content_width=100)
    found = [f"### `{name}`\n\n```\n{command.get_help(context)}\n```"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            inner = command.get_command(context, child)
            if inner is not None:
                found += sections(inner, f"{name} {child}", context)
    return found


PAGES = {"reference.md": reference, "configuration.md": configuration, "wire.md": wire, "agents.md": agents}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
        sys.stdout.write(f"written: {name}\n")
