"""Whole numbers in addresses, which anybody can write."""

from __future__ import annotations

# Nothing that is counted here is more, and no database has a larger number.
MOST_DIGITS = 15


def number_in(text: str | None, otherwise: int) -> int:
    """The number that a text is; something else where it is none, or one that nothing has."""
    if not text or len(text) > MOST_DIGITS or not text.isascii() or not text.removeprefix("-").isdecimal():
        return otherwise
    return int(text)
