"""configuration.md: every key that a person can write, from the schemas that the program reads by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trueup.cli.schema import contract_json_schema
from trueup.core.schemas import written_schema
from trueup.core.settings import PERSONAL, PREFIX, Settings
from trueup.skills import case_schema, config_schema

MOST_NAMED = 5

HEAD = """\
# Configuration

Written by `make docs` from the schemas that the program reads by; do not edit. `trueup config show` says where each
setting in force came from, `trueup schema contract | case | config` prints the schemas themselves.
"""


def configuration() -> str:
    """The whole page."""
    parts = [
        HEAD,
        "## Settings\n",
        "By a flag where a command has it, else by the variable, else in `trueup.yaml` of the repository or a folder above",
        "the working one, else in the user's own file. What decides over your machine or money a repository cannot set.\n",
        *_settings(),
        "## Contracts: `contract` in `trueup.yaml`, or a file of its own\n",
        *_definitions(contract_json_schema()),
        "## Skill tests: a case\n",
        *_definitions(case_schema()),
        "## Skill tests: `skilltest.yaml`, or `skills` in `trueup.yaml`\n",
        *_definitions(config_schema()),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _settings() -> Iterator[str]:
    fields = written_schema(Settings, "settings")["$defs"]["Settings"]["properties"]
    yield "| key | variable | default | by a repository | meaning |"
    yield "|---|---|---|---|---|"
    for name, field in fields.items():
        by_repository = "no" if name in PERSONAL else "yes"
        yield f"| `{name}` | `{PREFIX}{name.upper()}` | {_default(field)} | {by_repository} | {_meaning(field)} |"
    yield ""


def _definitions(schema: dict[str, Any]) -> Iterator[str]:
    for name, definition in schema["$defs"].items():
        if "properties" not in definition:
            continue
        yield f"### {_title(name, definition)}\n"
        yield f"{definition.get('description', '')}\n"
        yield "| key | kind | default |"
        yield "|---|---|---|"
        required = definition.get("required", [])
        for key, field in definition["properties"].items():
            default = "required" if key in required and "default" not in field else _default(field)
            yield f"| `{key}` | {_kind(field)} | {default} |"
        yield ""


def _title(name: str, definition: dict[str, Any]) -> str:
    """What a person calls it: the value of its tag where it has one."""
    for key in ("type", "kind"):
        tag = definition["properties"].get(key, {}).get("enum", [])
        if len(tag) == 1:
            return f"`{key}: {tag[0]}`"
    return name


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        kinds = dict.fromkeys(_kind(each) for each in field["anyOf"] if each.get("type") != "null")
        return " or ".join(kinds) if len(kinds) <= MOST_NAMED else "any of those below"
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items') or {})}"
    if field.get("type") == "object":
        inner = field.get("additionalProperties")
        return f"map to {_kind(inner)}" if isinstance(inner, dict) and inner else "map"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        str(field.get("type", "anything")), str(field.get("type", "anything"))
    )


def _default(field: dict[str, Any]) -> str:
    if field.get("default") is None:
        return "none"
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`".replace("|", "\\|")


def _meaning(field: dict[str, Any]) -> str:
    told = field.get("description") or next(
        (each["description"] for each in field.get("anyOf", []) if "description" in each), ""
    )
    return told.replace("|", "\\|")
