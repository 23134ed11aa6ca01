"""Values out of JSON that may be anything: what has the wrong form is taken for unknown."""

from __future__ import annotations

from typing import Any

import msgspec

# More is no count of anything, and no database keeps it.
MOST = 1 << 53
# Whoever handles a value goes down level by level, and fails where there are too many.
MOST_LEVELS = 100


def decoded(data: bytes) -> Any:
    """JSON, or None where it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


def arguments_of(text: Any) -> Any:
    """Arguments as JSON, or as they are where they are none."""
    if not isinstance(text, str):
        return flat(text)
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text
    return text if is_deep(value) else value


def flat(value: Any) -> Any:
    """A value as it is, or as text where it is nested too deeply."""
    if not is_deep(value):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "nested too deeply"


def is_deep(value: Any) -> bool:
    """Whether a value has more levels than can be handled everywhere."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return listed(value)


def number(value: Any) -> int | None:
    """A count; nothing that would make the others less."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def amount(value: Any) -> float | None:
    """An amount of money; nothing that would make the others less."""
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST else None
    )


def detail(details: Any, name: str) -> int | None:
    return number(details.get(name)) if isinstance(details, dict) else None


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def hashable(value: object) -> object:
    return value if isinstance(value, int | str) else str(value)
