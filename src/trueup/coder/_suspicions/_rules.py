"""A table of patterns over text: the form in which most languages and files are looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct

from .._verdict import Severity
from ._model import Suspicion
from ._reading import Reading, Role

MOST_HITS = 50
View = Literal["plain", "code", "bare"]
INFO, FLAG, GATE = Severity.INFO, Severity.FLAG, Severity.GATE


class Rule(Struct, frozen=True, kw_only=True):
    """One pattern and what it means where it stands; a role without a severity does not mind it.

    `hints` are words of which one must be there at all: looking for them is far cheaper than the pattern.
    """

    kind: str
    what: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    source: Severity | None = None
    test: Severity | None = None
    scripts_may: bool = False
    view: View = "bare"

    def severity_in(self, reading: Reading) -> Severity | None:
        """What the rule says about a file of this role."""
        if reading.role is Role.TEST:
            return self.test
        return None if self.scripts_may and reading.is_script else self.source


def rule(
    kind: str,
    what: str,
    pattern: str,
    *hints: str,
    source: Severity | None = None,
    test: Severity | None = None,
    scripts_may: bool = False,
    view: View = "bare",
) -> Rule:
    """A rule whose pattern looks at lines."""
    compiled = re.compile(pattern, re.MULTILINE)
    return Rule(
        kind=kind,
        what=what,
        pattern=compiled,
        hints=hints,
        source=source,
        test=test,
        scripts_may=scripts_may,
        view=view,
    )


def apply(rules: Iterable[Rule], reading: Reading) -> Iterator[Suspicion]:
    """Everything that a table has to say about a file."""
    for each in rules:
        severity = each.severity_in(reading)
        if severity is not None and any(hint in reading.text for hint in each.hints):
            yield from _hits(each, severity, reading)


def _hits(rule: Rule, severity: Severity, reading: Reading) -> Iterator[Suspicion]:
    text: str = getattr(reading, rule.view)
    for hit in islice(rule.pattern.finditer(text), MOST_HITS):
        margin = len(hit[0]) - len(hit[0].lstrip())
        line = text.count("\n", 0, hit.start() + margin) + 1
        yield Suspicion(kind=rule.kind, severity=severity, what=rule.what, line=line)
