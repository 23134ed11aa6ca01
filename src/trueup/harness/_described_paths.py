"""Where in a record something stands: `usage.input_tokens`, `message.content[0].text`, `choices[-1]`, `["a.b"].c`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

Scalar = str | int | float | bool | None
Match = Mapping[str, Scalar | list[Scalar]]

ITSELF = "."
_KEY = r'[^.\[\]"\s]+'
_INDEX = r'\[(?:-?\d{1,9}|"[^"]+")\]'
_PATH = re.compile(rf"(?:{_KEY}|{_INDEX})(?:\.{_KEY}|{_INDEX})*")
_STEP = re.compile(rf'(?P<key>{_KEY})|\[(?P<index>-?\d+)\]|\["(?P<quoted>[^"]+)"\]')


@lru_cache(maxsize=4096)
def steps_of(path: str) -> tuple[str | int, ...]:
    """The keys and indices of a path; a `ValueError` where it is none. `.` is the record itself."""
    if path == ITSELF:
        return ()
    if not _PATH.fullmatch(path):
        raise ValueError(f'{path!r} is no path into a record; write it as usage.total, items[0].text or ["a.b"].c')
    steps = _STEP.finditer(path)
    return tuple(int(step["index"]) if step["index"] else step["key"] or step["quoted"] for step in steps)


def look(record: Any, path: str) -> Any:
    """What stands there; None where nothing does."""
    for step in steps_of(path):
        if isinstance(step, str) and isinstance(record, dict):
            record = record.get(step)
        elif isinstance(step, int) and isinstance(record, list) and -len(record) <= step < len(record):
            record = record[step]
        else:
            return None
    return record


def fits(record: Any, match: Match) -> bool:
    """Whether every path of a match holds its value, or one of its values. null is also what is absent."""
    return all(_is_any(look(record, path), wanted) for path, wanted in match.items())


def _is_any(value: Any, wanted: Scalar | list[Scalar]) -> bool:
    return any(_equals(value, each) for each in (wanted if isinstance(wanted, list) else [wanted]))


def _equals(value: Any, wanted: Scalar) -> bool:
    # For Python True is 1; for whoever wrote the description it is not.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)
