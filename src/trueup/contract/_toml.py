"""TOML from plain data: the other half of `tomllib`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump_toml(data: dict[str, Any]) -> str:
    """The text that `tomllib.loads` reads as the same data; comments and layout are not data."""
    return "\n".join(_table_lines(data, ())) + "\n"


def _table_lines(table: dict[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    if above:
        yield f"[{'.'.join(map(_key, above))}]"
    yield from (f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in inner)
    for key, value in inner.items():
        yield from _table_lines(value, (*above, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for a delete character, which only TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            text = "true" if value else "false"
        case str():
            text = _text(value)
        case datetime() | date() | time():
            text = value.isoformat()
        case list():
            text = f"[{', '.join(map(_value, value))}]"
        case dict():
            text = f"{{{', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
        case _:
            # Numbers, infinity and "nan" included, are written as Python writes them.
            text = str(value)
    return text
