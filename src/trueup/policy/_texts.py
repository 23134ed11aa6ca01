"""Texts in the parameters of an action, however deep they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, keys included, a list of words also as one line, anything else as JSON."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as mapping:
                waiting += [*map(str, mapping), *mapping.values()]
            case list() | tuple() as items:
                waiting += items
                if len(items) > 1 and all(isinstance(item, str) for item in items):
                    yield " ".join(items)
            case other:
                yield json.dumps(other, default=str)


def is_same(one: Any, other: Any) -> bool:
    """Equality as JSON has it: `true` is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)
