"""From places that look wrong to findings that a person can read: one per kind and file."""

from __future__ import annotations

from collections.abc import Iterable

from trueup.core.text import visible

from .._verdict import Finding, Severity
from ._model import Suspicion

_WEIGHT = {Severity.GATE: 0, Severity.FLAG: 1, Severity.INFO: 2}
MOST_LINES_TOLD = 5


def findings_of(path: str, suspicions: Iterable[Suspicion]) -> list[Finding]:
    """The gravest place of each kind, and how many more there are."""
    by_kind: dict[str, list[Suspicion]] = {}
    for each in suspicions:
        by_kind.setdefault(each.kind, []).append(each)
    return [_finding(path, alike) for alike in by_kind.values()]


def _finding(path: str, alike: list[Suspicion]) -> Finding:
    gravest = min(alike, key=lambda each: (_WEIGHT[each.severity], each.line or 0))
    shown = visible(path).replace("\n", "\\n").replace("\t", "\\t")
    place = f"{shown} line {gravest.line}" if gravest.line else shown
    others = [each for each in alike if each is not gravest and each.line != gravest.line]
    return Finding(
        severity=gravest.severity,
        kind=gravest.kind,
        message=f"{place} {visible(gravest.what)}{_and_more(others)}",
        path=path,
        line=gravest.line,
    )


def _and_more(others: list[Suspicion]) -> str:
    if not others:
        return ""
    lines = sorted({each.line for each in others if each.line})
    told = (
        f" (line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))})"
        if 0 < len(lines) <= MOST_LINES_TOLD
        else ""
    )
    return f"; and {len(others)} more such place{'s' if len(others) > 1 else ''}{told}"
