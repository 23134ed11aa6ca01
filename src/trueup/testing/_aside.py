"""Calls that an agent makes beside its work: titles, topics, summaries, quota. They use up no step of a script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ._request import ModelRequest
from ._steps import Answer, Text, Tokens

AGENTS = re.compile(r"claude-cli|codex|gemini-?cli|qwen|opencode|copilot|goose|kimi", re.IGNORECASE)
# Some that do not say who they are ask for a title, which is told by its prompt alone.
TITLE = re.compile(r"\s*Generate a short title\b", re.IGNORECASE)
WORDS = "ok"
SCALARS = {"integer": 0, "number": 0, "boolean": False, "null": None}


def is_aside(request: ModelRequest) -> bool:
    """The rule by which a call is beside the work: one token asked for, or an agent's call without any tool, or for a title."""
    if request.max_tokens is not None and request.max_tokens <= 1:
        return True
    if request.tools:
        return False
    return bool(AGENTS.search(request.headers.get("user-agent", "")) or TITLE.match(request.system))


def aside_answer(request: ModelRequest) -> Answer:
    """Something harmless, in the shape that was asked for."""
    said = WORDS if request.wants_json is None else json.dumps(_example(request.wants_json))
    return Answer([Text(said)], Tokens(input=10, output=1, cache_read=0))


def _example(schema: Any) -> Any:
    """The least that a schema allows, as far as common schemas go."""
    if not isinstance(schema, Mapping):
        return WORDS
    choices = [*schema.get("enum", ()), *map(_example, schema.get("anyOf") or schema.get("oneOf") or ())]
    if "const" in schema or choices:
        return schema["const"] if "const" in schema else choices[0]
    match str(schema.get("type", "object")).lower():
        case "object":
            properties = schema.get("properties") or {}
            return {name: _example(properties.get(name)) for name in schema.get("required") or properties}
        case "array":
            return [_example(schema.get("items"))] * int(schema.get("minItems") or 0)
        case kind:
            return SCALARS.get(kind, WORDS)
