"""`trueup schema`"""

from __future__ import annotations

import json
from typing import Any

import click

from trueup.core.schemas import read_schema, written_schema

from ._shared import Verbs


@click.group(cls=Verbs)
def command() -> None:
    """JSON Schemas of what trueup reads and writes.

    \b
    Example:
      trueup schema contract > contract.schema.json
    """


@command.command("contract")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON for programs; a schema always is.")
def contract_schema() -> None:
    """Print the JSON Schema of a contract file.

    \b
    Example:
      trueup schema contract > contract.schema.json
    """
    _print(contract_json_schema())


@command.command("case")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON for programs; a schema always is.")
def case_schema() -> None:
    """Print the JSON Schema of a skill test's case.

    \b
    Example:
      trueup schema case > case.schema.json
    """
    from trueup import skills

    _print(skills.case_schema())


@command.command("config")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON for programs; a schema always is.")
def config_schema() -> None:
    """Print the JSON Schema of skilltest.yaml, which is that of `skills` in trueup.yaml too.

    \b
    Example:
      trueup schema config > skilltest.schema.json
    """
    from trueup import skills

    _print(skills.config_schema())


@command.command("report")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON for programs; a schema always is.")
def report_schema() -> None:
    """Print the JSON Schema of a report of skill tests. A later version may add keys.

    \b
    Example:
      trueup schema report > report.schema.json
    """
    from trueup.skills import Report

    _print(read_schema(Report, "trueup skill test report"))


def contract_json_schema() -> dict[str, Any]:
    """The schema of a contract that a person writes."""
    from trueup.contract import Contract

    return written_schema(Contract, "trueup outcome contract")


def _print(schema: dict[str, Any]) -> None:
    click.echo(json.dumps(schema, indent=2))
