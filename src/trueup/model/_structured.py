"""Structured answers: the first JSON value in a text that fits a schema, whatever stands around it."""

from __future__ import annotations

from typing import Any

import msgspec

from trueup.core.json_text import json_objects

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def first_fitting(text: str, schema: dict[str, Any]) -> dict[str, Any] | None:
    """The first JSON object in a text that fits a schema, looked for inside fences, prose and other objects too."""
    return next((found for found in json_objects(text) if fits(found, schema)), None)


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None) -> bool:
    """Whether a value has the shape that a JSON Schema asks for; keywords about more than shape are not looked at."""
    root = schema if root is None else root
    if "$ref" in schema:
        return fits(value, _referred(schema["$ref"], root), root)
    return (
        _has_type(value, schema.get("type"))
        and ("enum" not in schema or value in schema["enum"])
        and ("const" not in schema or value == schema["const"])
        and _fits_parts(value, schema, root)
        and (not isinstance(value, dict) or _object_fits(value, schema, root))
        and (not isinstance(value, list) or _items_fit(value, schema, root))
    )


def _fits_parts(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    every = all(fits(value, part, root) for part in schema.get("allOf", ()))
    choices = [schema[word] for word in ("anyOf", "oneOf") if word in schema]
    return every and all(any(fits(value, part, root) for part in parts) for parts in choices)


def _items_fit(value: list[Any], schema: dict[str, Any], root: dict[str, Any]) -> bool:
    items = schema.get("items")
    return not isinstance(items, dict) or all(fits(item, items, root) for item in value)


def _has_type(value: Any, wanted: str | list[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        # Python counts True as a number; JSON does not.
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _TYPES.get(name, (object,))) for name in names)


def _object_fits(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]) -> bool:
    known: dict[str, Any] = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", ())):
        return False
    others = schema.get("additionalProperties", True)
    if others is False and value.keys() - known.keys():
        return False
    return all(fits(item, known[name], root) for name, item in value.items() if isinstance(known.get(name), dict))


def _referred(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(step, {}) if step and isinstance(found, dict) else found
    return found if isinstance(found, dict) else {}


def is_strict(schema: Any) -> bool:
    """Whether every object in a schema names all of its keys as required and allows no others, as OpenAI's strict mode wants."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        named = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or named != set(schema.get("required", ())):
            return False
    return all(is_strict(part) for part in schema.values())


def asked_in_words(system: str | None, schema: dict[str, Any]) -> str:
    """A system prompt that asks for JSON by a schema, for servers that cannot be told otherwise."""
    wish = (
        "Answer with one JSON object and nothing else: no prose around it, no markdown fences. "
        f"It must fit this JSON Schema:\n{msgspec.json.encode(schema).decode()}"
    )
    return f"{system}\n\n{wish}" if system else wish
