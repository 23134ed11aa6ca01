"""A verdict as people, Markdown and CI systems read it: functions of the data and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from trueup.coder import CheckVerdict, Finding, Severity, Verdict
from trueup.core.text import visible, writable, written

TAIL_LINES = 12

_GRAVITY = (Severity.GATE, Severity.FLAG, Severity.INFO)


def verdict_data(verdict: Verdict) -> Any:
    """For programs: plain data in which every text can be written out, names of files that are no text included."""
    return writable(msgspec.to_builtins(verdict))


def verdict_text(verdict: Verdict, width: int) -> str:
    """For a terminal."""
    rows = [("check", "class", "result", "time"), *(_row(check) for check in verdict.checks)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [""]
    for check in verdict.checks:
        lines += _tail_of(check)
    lines += findings_text(verdict.findings)
    lines += [f"not shown: {each}" for each in verdict.not_shown]
    lines += [
        "",
        f"{verdict.outcome.value.upper()}  base {verdict.base[:12]}  tree {verdict.tree[:12]}  sandbox {verdict.sandbox}",
    ]
    lines += [f"  because {_indented(reason)}" for reason in verdict.reasons]
    return written("\n".join(visible(line)[: max(width, 400)] for part in lines for line in part.split("\n")))


def findings_text(findings: Iterable[Finding]) -> list[str]:
    """What was found, the gravest first, each with its place."""
    gravest_first = sorted(findings, key=lambda finding: _GRAVITY.index(finding.severity))
    return [f"{finding.severity.value}: {_place(finding)}{_indented(finding.message)}" for finding in gravest_first]


def verdict_markdown(verdict: Verdict) -> str:
    """For a CI job's summary."""
    lines = [
        f"## trueup: {verdict.outcome.value}",
        "",
        *(f"- {_escape(reason)}" for reason in verdict.reasons),
        "",
        "| check | class | result | time |",
        "|---|---|---|---|",
        *(f"| {' | '.join(_escape(cell) for cell in _row(check))} |" for check in verdict.checks),
        "",
        *(f"- **{finding.severity.value}** {_escape(finding.message)}" for finding in verdict.findings),
        "",
        f"base `{verdict.base}` · tree `{verdict.tree}` · contract `{verdict.contract_digest[:16]}` · sandbox {verdict.sandbox}",
    ]
    return written("\n".join(lines) + "\n")


def verdict_annotations(verdict: Verdict) -> Iterator[str]:
    """Workflow commands that put findings beside the lines of a change."""
    for reason in verdict.reasons:
        yield f"::error title=trueup::{_command_text(reason)}"
    for finding in verdict.findings:
        level = {Severity.GATE: "error", Severity.FLAG: "warning", Severity.INFO: "notice"}[finding.severity]
        where = f" file={_command_property(finding.path)}," if finding.path else " "
        yield f"::{level}{where}title=trueup {finding.kind}::{_command_text(finding.message)}"


def _place(finding: Finding) -> str:
    """Where it was found, unless the message says so itself."""
    if finding.path is None or visible(finding.path) in finding.message:
        return ""
    return f"{finding.path}:{finding.line}: " if finding.line else f"{finding.path}: "


def _row(check: CheckVerdict) -> tuple[str, ...]:
    result = check.result or check.baseline
    shown = "green" if result.passed else f"red: {result.reason}"
    if check.result is None:
        shown = f"not judged: {check.baseline.reason or 'green on the base'}"
    elif check.as_it_is is not None and not check.as_it_is.passed:
        shown += f" (with its own tests red: {check.as_it_is.reason})"
    cells = (check.name, check.check_class.value, shown, f"{result.duration_ms / 1000:.1f} s")
    return tuple(visible(" ".join(cell.split())) for cell in cells)


def _tail_of(check: CheckVerdict) -> list[str]:
    """The last words of a check that is red on the change."""
    red = next((each for each in (check.result, check.as_it_is) if each is not None and not each.passed), None)
    if red is None or not red.output_tail.strip():
        return []
    return [f"{check.name}:", *(f"  | {line}" for line in red.output_tail.rstrip().splitlines()[-TAIL_LINES:]), ""]


def _indented(text: str) -> str:
    """So that no line of what others wrote begins where ours do."""
    return text.replace("\n", "\n  | ")


def _escape(text: str) -> str:
    text = visible(" ".join(text.split()))
    for special in "\\|`*_[]":
        text = text.replace(special, f"\\{special}")
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _command_text(text: str) -> str:
    return written(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _command_property(text: str) -> str:
    return _command_text(text).replace(":", "%3A").replace(",", "%2C")
