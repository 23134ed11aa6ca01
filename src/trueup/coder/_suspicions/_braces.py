"""Where a place stands in a language with braces: what is written in front of each block that is open there."""

from __future__ import annotations

# How far is looked, and how much of what is in front of a block: what is read here may be made to be long.
MOST_SEARCHED = 20_000
MOST_LEVELS = 40
MOST_BEFORE = 400


def openings(text: str, place: int) -> list[tuple[int, str]]:
    """The open blocks around a place, inner first: where each begins, and the text before it."""
    found: list[tuple[int, str]] = []
    depth = 0
    for index in range(place - 1, max(-1, place - MOST_SEARCHED), -1):
        if text[index] == "}":
            depth += 1
        elif text[index] == "{" and depth:
            depth -= 1
        elif text[index] == "{":
            found.append((index, text[max(0, index - MOST_BEFORE) : index]))
            if len(found) == MOST_LEVELS:
                break
    return found
