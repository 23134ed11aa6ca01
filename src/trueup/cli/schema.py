"""`trueup schema`"""

from __future__ import annotations

import inspect
import json

import click
import msgspec

from trueup.contract import Contract


@click.group()
def command() -> None:
    """JSON Schemas of what trueup reads."""


@command.command("contract")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON for programs; a schema always is.")
def contract_schema() -> None:
    """Print the JSON Schema of a contract file.

    \b
    Example:
      trueup schema contract > contract.schema.json
    """
    click.echo(json.dumps(contract_json_schema(), indent=2))


def contract_json_schema() -> dict[str, object]:
    """The schema of a contract that a person writes: unknown keys are refused, as the program refuses them."""
    schema = msgspec.json.schema(Contract)
    for definition in schema["$defs"].values():
        definition["additionalProperties"] = False
        # Before Python 3.13, a docstring keeps the indentation of its source.
        definition["description"] = inspect.cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "trueup outcome contract", **schema}
