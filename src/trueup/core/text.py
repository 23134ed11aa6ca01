"""Text that others wrote, so that it cannot act on the terminal of whoever reads it, and can be written out."""

from __future__ import annotations

from typing import Any

_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")}
_BIDIRECTIONAL = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
# Those that join letters are left as they are: languages and emoji need them.
_WITHOUT_WIDTH = {0x200B, 0x2060, 0xFEFF}
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in _CONTROLS | _BIDIRECTIONAL | _WITHOUT_WIDTH}


def visible(text: str) -> str:
    """The text with its control characters, and those that are unseen or turn the direction of writing, as escapes."""
    return text.translate(_ESCAPES)


def written(text: str) -> str:
    """A text without halves of characters, which stand for bytes of file names that are no text."""
    return text.encode(errors="backslashreplace").decode()


def writable(value: Any) -> Any:
    """Plain data in which every text can be written out."""
    if isinstance(value, str):
        return written(value)
    if isinstance(value, list | tuple):
        return [writable(each) for each in value]
    if isinstance(value, dict):
        return {writable(key): writable(each) for key, each in value.items()}
    return value
