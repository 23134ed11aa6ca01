"""Regular expressions that cannot keep the process: RE2, whose time is linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from .errors import InputError

LONGEST_PATTERN = 1000


class Searcher(Protocol):
    """A compiled expression."""

    def search(self, text: bytes) -> object | None: ...


@lru_cache(maxsize=512)
def compile_regex(pattern: str) -> Searcher:
    """Compile what a person wrote; an `InputError` names the position of the mistake."""
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"a regular expression may have {LONGEST_PATTERN} characters, and this has {len(pattern)}")
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: Searcher = re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InputError(_complaint(pattern, error)) from None
    return compiled


def _complaint(pattern: str, error: Exception) -> str:
    """RE2 tells what is wrong and Python's own engine where, in so far as it minds at all."""
    said = error.args[0] if error.args else ""
    reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    try:
        re.compile(pattern)
    except re.error as problem:
        return f"not a regular expression, at position {problem.pos}: {problem.msg}"
    except (RecursionError, OverflowError):
        return f"not a regular expression: {reason}"
    # What Python knows beyond RE2 is what can take exponential time.
    place = pattern.find(reason.rpartition(": ")[2])
    where = f", at position {place}" if place >= 0 else ""
    return f"not a regular expression of RE2{where}: {reason} (no look-around, no references to groups)"
