"""What results come to, in sentences: why a change is refused, doubted, or only remarked upon."""

from __future__ import annotations

from collections.abc import Iterable

from trueup.contract import Baseline, CheckClass, CheckResult, compare_counts

from ._verdict import CheckVerdict, Finding, Severity


def planted_finding(path: str) -> Finding:
    """A file that setup made for the change, where one decides what checks do."""
    what = f"{path} was written by the setup of the change; it decides what checks do and is not part of the change"
    return Finding(severity=Severity.GATE, kind="planted", message=what, path=path)


def canary_finding(check: str) -> Finding:
    """A check that does not report failures."""
    what = f"a failing test that trueup put in left check {check!r} green: it does not report failures"
    return Finding(severity=Severity.GATE, kind="canary", message=what, check=check)


def uncollected_finding(check: str) -> Finding:
    """A check that passed over the failing test that was put in."""
    what = f"a failing test that trueup put in was not collected by check {check!r}, which picks its tests"
    return Finding(severity=Severity.INFO, kind="canary", message=what, check=check)


def dependency_finding(path: str) -> Finding:
    """A change to what is installed."""
    what = f"{path} decides which packages are installed; they were installed anew from it"
    return Finding(severity=Severity.FLAG, kind="dependency_changed", message=what, path=path)


def count_findings(result: CheckResult, baseline: Baseline) -> list[Finding]:
    """What the numbers of tests say against a result."""
    on_base = baseline.check(result.name)
    complaint = compare_counts(on_base.counts, result.counts)
    if complaint is not None:
        what = f"check {result.name!r}: {complaint}"
        return [Finding(severity=Severity.GATE, kind="test_counts", message=what, check=result.name)]
    if _is_green_over_failures(result) and not any(map(_is_green_over_failures, on_base.results)):
        what = f"check {result.name!r} is green, though its runner reports failed tests: look at what its command ends with"
        return [Finding(severity=Severity.FLAG, kind="test_counts", message=what, check=result.name)]
    return []


def _is_green_over_failures(result: CheckResult) -> bool:
    return result.passed and result.counts is not None and result.counts.failed > 0


def red_reasons(checks: Iterable[CheckVerdict]) -> list[str]:
    """Why a change is refused: every check that is red on it, once."""
    reasons = []
    for check in checks:
        for result, where in ((check.result, ""), (check.as_it_is, " with the change's own tests and configuration")):
            if result is not None and not result.passed:
                was = "is still red" if check.check_class is CheckClass.GOAL else "was green and is red"
                reasons.append(f"{check.check_class.value} {check.name!r} {was}{where}: {result.reason}")
                break
    return reasons


def doubts(baseline: Baseline) -> list[str]:
    """Why green checks show nothing."""
    if baseline.goals:
        return []
    if baseline.flaky:
        return [
            f"no check that was red on the base can be relied on; {', '.join(check.name for check in baseline.flaky)} disagree with themselves"
        ]
    return ["every check is already green on the base, so none of them shows that anything was done"]


def once_each(findings: Iterable[Finding]) -> list[Finding]:
    """Findings without their repetitions, in order."""
    return list(dict.fromkeys(findings))


def deaf_finding(check: str) -> Finding:
    """A goal that does not listen to its tests."""
    what = f"check {check!r} stays green whatever its tests expect: the change answers for them"
    return Finding(severity=Severity.GATE, kind="deaf", message=what, check=check)


def selective_finding(check: str, tests: int) -> Finding:
    """A goal some of whose tests do not listen."""
    what = (
        f"{tests} of the tests of check {check!r} pass although trueup made them expect something else: "
        "look whether the change answers for them"
    )
    return Finding(severity=Severity.FLAG, kind="deaf", message=what, check=check)
