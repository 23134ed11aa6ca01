"""Patterns that a case is written with: RE2, whose time is linear in the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from trueup.core.errors import InputError

LONGEST_PATTERN = 1000


class Searcher(Protocol):
    """A compiled pattern."""

    def search(self, text: bytes) -> object | None: ...


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Searcher:
    """Compile what a person wrote; an `InputError` says what is wrong with it."""
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"a pattern may have {LONGEST_PATTERN} characters, and this has {len(pattern)}")
    # Here, so that cases without patterns load without it.
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: Searcher = re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0] if error.args else ""
        why = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise InputError(f"{pattern!r} is no pattern of RE2: {why}") from None
    return compiled
