"""What there is to call: an OpenRPC document, from the types that the methods are decoded by."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from trueup import __version__

from .._errors import Code
from .._method import Call, Method, all_methods, method

_REFERENCE = "#/components/schemas/{name}"


class Nothing(Struct, frozen=True):
    """No parameters."""


@method("rpc.discover", aside=True)
async def discover(call: Call, params: Nothing) -> dict[str, Any]:
    """Describe every method, with JSON Schemas of what it takes and gives (OpenRPC)."""
    return await asyncio.to_thread(describe)


@cache
def describe() -> dict[str, Any]:
    """The OpenRPC document of this daemon."""
    methods = all_methods()
    types = [each for method in methods for each in (method.params_type, method.result_type)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    pairs = zip(methods, schemas[::2], schemas[1::2], strict=True)
    return {
        "openrpc": "1.3.2",
        "info": {"title": "trueup", "version": __version__},
        "methods": [_describe(each, params, result, components) for each, params, result in pairs],
        "components": {
            "schemas": components,
            "errors": {code.name: {"code": int(code), "message": code.name.lower().replace("_", " ")} for code in Code},
        },
    }


def _describe(
    method: Method, params: dict[str, Any], result: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    described = {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "by-position" if params.get("type") == "array" else "by-name",
        "params": _parameters(params, components),
        "result": {"name": "result", "schema": result},
        "x-needs": method.needs.name.lower(),
        "x-params": params,
    }
    return described | ({"description": method.description} if method.description else {})


def _parameters(params: dict[str, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    """One description for each key; the whole where it is an array."""
    if "$ref" not in params:
        return [{"name": "items", "required": True, "schema": params}]
    schema = components[params["$ref"].rpartition("/")[2]]
    required = schema.get("required", [])
    return [
        {"name": name, "required": name in required, "schema": each}
        for name, each in schema.get("properties", {}).items()
    ]
