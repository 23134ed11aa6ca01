"""Whether going on makes sense: an engine that does the same again will not do better the next time."""

from __future__ import annotations

import re

from .._verdict import Severity, Verdict
from ._story import Attempt

SAME_FAILURES = 3

# What differs from run to run without meaning anything: times, addresses, ids, line numbers.
_NOISE = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+(\.\d+)?")


def failure_signature(verdict: Verdict) -> tuple[str, ...]:
    """What is wrong with a change, without what differs from one run to the next."""
    red = [
        # Counted apart from the noise: fewer failed tests are progress.
        f"{check.name}: {result.reason}: {result.counts}: {_NOISE.sub('#', result.output_tail)}"
        for check in verdict.checks
        for result in (check.result, check.as_it_is)
        if result is not None and not result.passed
    ]
    gates = [
        f"{finding.kind} {finding.path} {finding.check}"
        for finding in verdict.findings
        if finding.severity is Severity.GATE
    ]
    return tuple(sorted({*red, *gates}))


def why_stop(attempts: list[Attempt]) -> str | None:
    """A sentence if the latest attempts show that the engine gets no further."""
    *earlier, latest = attempts
    same = next((each for each in earlier if each.tree == latest.tree), None)
    if same is not None:
        return f"iteration {latest.number} left the same files as iteration {same.number}"
    lately = [each.verdict for each in attempts[-SAME_FAILURES:] if each.verdict is not None]
    if len(lately) == SAME_FAILURES and len({failure_signature(verdict) for verdict in lately}) == 1:
        return f"the last {SAME_FAILURES} iterations failed in the same way"
    return None
