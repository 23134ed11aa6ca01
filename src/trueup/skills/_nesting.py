"""How deep data is nested that others wrote: whatever follows it by calling itself can be driven too far."""

from __future__ import annotations

from typing import Any


def is_nested_deeper(value: Any, levels: int) -> bool:
    """Whether there is something below so many levels of lists and objects."""
    level = [value]
    for _ in range(levels):
        level = [inner for outer in level for inner in _parts(outer)]
        if not level:
            return False
    return True


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
