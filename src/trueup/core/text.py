"""Text that others wrote, shown so that it cannot act on the terminal of whoever reads it."""

from __future__ import annotations

_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")}
_BIDIRECTIONAL = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in _CONTROLS | _BIDIRECTIONAL}


def visible(text: str) -> str:
    """The text with its control characters, and those that turn the direction of writing, as visible escapes."""
    return text.translate(_ESCAPES)
