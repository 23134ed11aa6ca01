"""JSON Schemas of typed data, as people and editors read them."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def written_schema(kind: type, title: str) -> dict[str, Any]:
    """The schema of what a person writes: unknown keys are refused, as the program refuses them."""
    schema = read_schema(kind, title)
    for definition in schema["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return schema


def read_schema(kind: type, title: str) -> dict[str, Any]:
    """The schema of what a program writes, to which a later version may add keys."""
    schema = msgspec.json.schema(kind)
    for definition in schema["$defs"].values():
        if "description" in definition:
            # Before Python 3.13, a docstring keeps the indentation of its source.
            definition["description"] = inspect.cleandoc(definition["description"])
    return {"$schema": DIALECT, "title": title, **schema}
