"""Remarks that make a linter, a type checker or a measure of coverage look away: grave where that is what must pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, INFO, MOST_HITS

_MARKS = {
    "lint": re.compile(
        r"(?:#|//|/\*|--)\s*(?:(?:ruff|flake8):\s*)?(?:noqa\b|pylint:\s*disable|nosec\b|eslint-disable|oxlint-disable|biome-ignore"
        r"|nolint\b|rubocop:disable|shellcheck disable|stylelint-disable|tslint:disable|jshint ignore|semgrep-?ignore|nosemgrep"
        r"|phpcs:ignore|phpcs:disable|NOLINT|CHECKSTYLE:OFF|swiftlint:disable|ktlint-disable|lint:ignore)"
        r"|@SuppressWarnings\b|@Suppress\(|#!?\[\s*allow\("
    ),
    "types": re.compile(
        r"(?:#|//|/\*)\s*(?:type:\s*ignore\b|mypy:\s*(?:ignore-errors|disable-error-code)|pyright:\s*(?:ignore|basic)"
        r"|ty:\s*ignore\b|pyre-(?:ignore|fixme)|@ts-(?:ignore|nocheck|expect-error))"
    ),
    "coverage": re.compile(
        r"(?:#|//|/\*)\s*(?:pragma:\s*no\s*cover|(?:istanbul|c8|v8|nyc)\s+ignore|coverage:ignore|LCOV_EXCL|GCOVR_EXCL)"
    ),
}
_HINTS = re.compile(
    r"(?i)noqa|ignore|disable|nosec|nolint|nosemgrep|suppress|allow\(|no\s*cover|_excl|pyre-|ts-nocheck|ts-expect|checkstyle"
)
_WHAT = {
    "lint": "makes a linter look away from this place",
    "types": "makes a type checker look away from this place",
    "coverage": "takes this place out of what coverage counts",
}


def look_at_suppressions(reading: Reading) -> Iterator[Suspicion]:
    """Where a file asks for less than the tools would."""
    if reading.language is None or not _HINTS.search(reading.plain):
        return
    for kind, marks in _MARKS.items():
        severity = FLAG if kind in reading.around.wanted else INFO
        for hit in islice(marks.finditer(reading.plain), MOST_HITS):
            # A remark that stands in a text is what somebody writes about remarks.
            if not hit[0].startswith(("#", "/", "-")) or reading.code[hit.start()] == " " or hit[0][1:2] in "![":
                line = reading.line_at(hit.start())
                yield Suspicion(kind="suppression", severity=severity, what=_WHAT[kind], line=line)
