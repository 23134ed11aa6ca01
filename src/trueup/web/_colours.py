"""A program that tells keywords from comments: `python _colours.py`, with texts on stdin.

It is a process of its own because texts are an agent's: a pattern that never comes to an end on one of them is killed
with it, and holds up nobody else. It imports nothing of trueup, so that it is there at once.

In: `[[file name, [text, …]], …]`. Out: for each of these texts its lines, each a list of `[class, text]`; null for a
file whose language nobody knows.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

Line = list[tuple[str, str]]


def coloured(name: str, texts: list[str]) -> list[list[Line]] | None:
    """The lines of some texts of a file, in parts that are drawn alike."""
    try:
        lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return [_lines(lexer.get_tokens(text)) for text in texts]


def _lines(tokens: Any) -> list[Line]:
    lines: list[Line] = [[]]
    for kind, text in tokens:
        drawn = _class_of(kind)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            _add(lines[-1], drawn, part)
    return lines


def _add(line: Line, drawn: str, text: str) -> None:
    """One more part of a line; a part of the one before where they are drawn alike."""
    if line and (line[-1][0] == drawn or not text.strip()):
        line[-1] = (line[-1][0], line[-1][1] + text)
    elif text:
        line.append((drawn, text))


@cache
def _class_of(kind: Any) -> str:
    """One of few classes: a page has colours for no more, and most of a text needs none."""
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    name = str(STANDARD_TYPES[kind])
    first = name[:1]
    return "k" if name == "ow" else first if first in "kscm" or (first == "n" and len(name) > 1) else ""


if __name__ == "__main__":
    json.dump([coloured(name, texts) for name, texts in json.load(sys.stdin)], sys.stdout)
