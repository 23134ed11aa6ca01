"""JSON as agents print it, read so that no line can do harm: what it holds is told on, kept, and written again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from trueup.core.process import Output

T = TypeVar("T")

MOST_DEPTH = 100
MOST_LOOKED_AT = 1 << 18


def decoded_line(text: str, decoder: msgspec.json.Decoder[T]) -> T | None:
    """What a text says; None where it is not what the decoder reads, or nested too deeply to be written again."""
    data = text.encode(errors="replace")
    try:
        if text.count("{") + text.count("[") > MOST_DEPTH and not _is_shallow(msgspec.json.decode(data)):
            return None
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


def last_lines(output: Output) -> list[str]:
    """What was printed last, in whole lines: by the end of one nobody could tell whether it is a record."""
    lines = output.tail(MOST_LOOKED_AT).splitlines()
    return lines if output.seen <= MOST_LOOKED_AT else lines[1:]


def plain_words(output: Output, limit: int) -> str:
    """What was printed last beside records, whose words are also those of files and tools."""
    plain = (line for line in last_lines(output) if not line.lstrip().startswith(("{", "[")))
    return "\n".join(plain).strip()[-limit:]


def _is_shallow(record: Any) -> bool:
    level = [record]
    for _ in range(MOST_DEPTH):
        level = [inner for outer in level for inner in _values_of(outer)]
    return not level


def _values_of(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
