"""Characters that make code look like other code, and lines that nobody can read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ._languages import PYTHON
from ._model import Suspicion
from ._reading import MOST_LINE_CHARS, Reading
from ._rules import FLAG, INFO

_BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("(?<=[A-Za-z0-9_])[\u200b-\u200d\u2060\ufeff](?=[A-Za-z0-9_])")
# Letters of other scripts that look like Latin ones: all of Cyrillic, and Greek's doubles (not the letters of formulas).
_OTHER_SCRIPT = "\u0400-\u04ff\u03bf\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
_MIXED = re.compile(rf"(?=\w*[A-Za-z])(?=\w*[{_OTHER_SCRIPT}])\w+")
_LOOKALIKE = re.compile(f"[{_OTHER_SCRIPT}]")
_WORD = re.compile(r"\w+")


def look_at_characters(reading: Reading) -> Iterator[Suspicion]:
    """What the eye does not see."""
    if reading.language is not None and not reading.is_data:
        yield from _long_lines(reading)
    if reading.text.isascii():
        return
    coded = reading.language is not None
    for pattern, what in (
        (_BIDIRECTIONAL, "holds characters that turn the direction of writing: it does not say what it seems to say"),
        (_INVISIBLE, "holds invisible characters inside a word: it is not the word that it seems to be"),
    ):
        if hit := pattern.search(reading.text):
            line = reading.text.count("\n", 0, hit.start()) + 1
            yield Suspicion(kind="unicode_trick", severity=FLAG if coded else INFO, what=what, line=line)
    if coded and _LOOKALIKE.search(reading.text):
        yield from _mixed_names(reading)


def _mixed_names(reading: Reading) -> Iterator[Suspicion]:
    if reading.language is PYTHON and reading.python is not None:
        names = ((name, line) for name, line in _python_names(reading.python) if not name.isascii())
    else:
        lines = enumerate(reading.bare.split("\n"), 1)
        names = ((word, line) for line, text in lines if not text.isascii() for word in _WORD.findall(text))
    for name, line in names:
        if _is_mixed(name):
            what = f"has a name that mixes alphabets ({ascii(name)[1:-1][:80]}): it looks like another one"
            yield Suspicion(kind="unicode_trick", severity=FLAG, what=what, line=line)
            return


def _is_mixed(name: str) -> bool:
    # The pattern looks ahead over the whole name, so only a name of ordinary length is given to it.
    return len(name) <= 200 and _MIXED.fullmatch(name) is not None


def _python_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        name = (
            getattr(node, "id", None)
            or getattr(node, "attr", None)
            or getattr(node, "arg", None)
            or getattr(node, "name", None)
        )
        if isinstance(name, str):
            yield name, getattr(node, "lineno", 1)


def _long_lines(reading: Reading) -> Iterator[Suspicion]:
    if len(reading.text) <= MOST_LINE_CHARS:
        return
    for number, line in enumerate(reading.lines, 1):
        if len(line) > MOST_LINE_CHARS:
            what = f"is {len(line):,} characters long: it was not read as code"
            yield Suspicion(kind="unreadable_line", severity=INFO, what=what, line=number)
            return
