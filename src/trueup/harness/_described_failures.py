"""Why a run of a described agent failed: by the codes of its records first, then by words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from trueup.core.errors import Kind
from trueup.core.process import Finished

from ._claude_failures import kind_of_text
from ._codex_failures import failure
from ._described_model import Described

# Of a text, as much as its words are looked for in. A pattern is a person's, and the text may be made against it.
MOST_SEARCHED = 1000
STATUSES = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.AUTH,
    408: Kind.TIMEOUT,
    413: Kind.INPUT_TOO_LARGE,
    429: Kind.RATE_LIMIT,
    504: Kind.TIMEOUT,
}
# By the convention of sysexits.h and of shells.
EXITS = {75: Kind.OVERLOADED, 126: Kind.SPAWN, 127: Kind.SPAWN}


def kind_of_failure(description: Described, code: Any, said: str, finished: Finished) -> Kind | None:
    """What a failure is, by a code of the agent's, by what it said, and by how it ended; None where nothing tells."""
    typed = _kind_of_code(description, code)
    worded = _kind_of_words(description, said or _last_words(description, finished))
    if typed is Kind.RATE_LIMIT and worded is Kind.QUOTA:
        # A used up plan comes as 429 too, and waiting does not help.
        return Kind.QUOTA
    return typed or worded or EXITS.get(finished.exit_code or 0)


def failing_words(description: Described, texts: Iterable[str]) -> str | None:
    """The words of a run that mean that it failed, whatever else it says; None where there are none."""
    patterns = [re.compile(each.matches) for each in description.failures if each.fails]
    for text in texts:
        for searched in (text[:MOST_SEARCHED], text[-MOST_SEARCHED:]):
            if any(pattern.search(searched) for pattern in patterns):
                return searched
    return None


def _last_words(description: Described, finished: Finished) -> str:
    said = finished.stderr.tail(MOST_SEARCHED).strip()
    # In records there are also the words of files and tools.
    return said if said or description.output != "text" else finished.stdout.tail(MOST_SEARCHED)


def _kind_of_code(description: Described, code: Any) -> Kind | None:
    if isinstance(code, bool) or not isinstance(code, str | int):
        return None
    named = description.codes.get(str(code))
    if named is not None or not isinstance(code, int):
        return named
    return STATUSES.get(code) or (Kind.OVERLOADED if 500 <= code < 600 else None)


def _kind_of_words(description: Described, said: str) -> Kind | None:
    searched = said[:MOST_SEARCHED]
    described = (each for each in description.failures if each.kind and re.search(each.matches, searched))
    first = next(described, None)
    if first is not None:
        return first.kind
    told = kind_of_text(searched) or failure(searched).kind
    return None if told is Kind.OTHER else told
