"""A verdict as people, Markdown and CI systems read it: functions of the data and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from trueup.coder import CheckVerdict, Severity, Verdict

TAIL_LINES = 12


def verdict_text(verdict: Verdict, width: int) -> str:
    """For a terminal."""
    rows = [("check", "class", "result", "time"), *(_row(check) for check in verdict.checks)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [""]
    for check in verdict.checks:
        lines += _tail_of(check)
    lines += [f"{finding.severity.value}: {finding.message}" for finding in verdict.findings]
    lines += [f"not shown: {each}" for each in verdict.not_shown]
    lines += [
        "",
        f"{verdict.outcome.value.upper()}  base {verdict.base[:12]}  tree {verdict.tree[:12]}  sandbox {verdict.sandbox}",
    ]
    lines += [f"  because {reason}" for reason in verdict.reasons]
    return "\n".join(line[: max(width, 400)] for line in lines)


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
    return "\n".join(lines) + "\n"


def verdict_annotations(verdict: Verdict) -> Iterator[str]:
    """Workflow commands that put findings beside the lines of a change."""
    for reason in verdict.reasons:
        yield f"::error title=trueup::{_one_line(reason)}"
    for finding in verdict.findings:
        level = {Severity.GATE: "error", Severity.FLAG: "warning", Severity.INFO: "notice"}[finding.severity]
        where = f" file={_one_line(finding.path)}," if finding.path else " "
        yield f"::{level}{where}title=trueup {finding.kind}::{_one_line(finding.message)}"


def _row(check: CheckVerdict) -> tuple[str, str, str, str]:
    result = check.result or check.baseline
    shown = "green" if result.passed else f"red: {result.reason}"
    if check.result is None:
        shown = f"not judged: {check.baseline.reason or 'green on the base'}"
    elif check.as_it_is is not None and not check.as_it_is.passed:
        shown += f" (with its own tests red: {check.as_it_is.reason})"
    return check.name, check.check_class.value, shown, f"{result.duration_ms / 1000:.1f} s"


def _tail_of(check: CheckVerdict) -> list[str]:
    """The last words of a check that is red on the change."""
    red = next((each for each in (check.result, check.as_it_is) if each is not None and not each.passed), None)
    if red is None or not red.output_tail.strip():
        return []
    return [f"{check.name}:", *(f"  | {line}" for line in red.output_tail.rstrip().splitlines()[-TAIL_LINES:]), ""]


def _escape(text: str) -> str:
    return _one_line(text).replace("|", "\\|").replace("<", "&lt;")


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").replace("%", "%25")
