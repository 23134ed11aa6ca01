"""What is done with reports: comparing two, and holding a judge against people; as people read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from trueup.core.errors import InputError
from trueup.core.files import write_whole
from trueup.skills import (
    BooleanAgreement,
    Calibration,
    NumericAgreement,
    Report,
    ReportComparison,
    blank_labels,
    comparison_line,
)

from ._code_lines import counted, one_line

MOST_TOLD = 20


def comparison_text(found: ReportComparison) -> str:
    """Two reports against each other; the answer first."""
    return "\n".join(_comparison_lines(found))


def calibration_text(found: Calibration) -> str:
    """A judge against people."""
    return "\n".join(_calibration_lines(found))


def write_blank_labels(report: Report, source: Path, labels: Path) -> str:
    """Write a file of labels for people to fill in, and say so. One that is there is not written over."""
    if labels.exists():
        raise InputError(f"{labels}: is there already; fill it in, or name another file")
    blank = blank_labels(report, os.path.relpath(source, labels.absolute().parent))
    if not blank.labels:
        raise InputError(f"{source}: no eval in it was judged, so there is nothing to label")
    text = yaml.safe_dump(msgspec.to_builtins(blank), sort_keys=False, allow_unicode=True)
    write_whole(labels, text)
    return f"{labels}: {counted(len(blank.labels), 'label')} to fill in, each with a `value`"


def _comparison_lines(found: ReportComparison) -> Iterator[str]:
    yield found.conclusion.value if found.overall is None else comparison_line(found.overall)
    if len(found.groups) > 1:
        for group in found.groups:
            name = one_line(f"{group.platform} {group.model}".rstrip())
            yield f"  {name}: {comparison_line(group.comparison)}"
    yield from (f"  {one_line(each)}" for each in found.unpaired[:MOST_TOLD])
    if len(found.unpaired) > MOST_TOLD:
        yield f"  and {len(found.unpaired) - MOST_TOLD} more"
    yield from (f"note: {note}" for note in found.notes)


def _calibration_lines(found: Calibration) -> Iterator[str]:
    if found.agreement.boolean is not None:
        yield _boolean_line(found.agreement.boolean)
    if found.agreement.numeric is not None:
        yield _numeric_line(found.agreement.numeric)
    if found.agreement.boolean is None and found.agreement.numeric is None:
        yield "no label has a value yet"
    for each in found.disagreements[:MOST_TOLD]:
        place = f"{each.label.case} on {each.label.platform} {each.label.model}".rstrip()
        yield one_line(
            f"  {place}, {each.label.eval}: you say {_value(each.label.value)}, the judge {_value(each.judge)}: {each.reason}"
        )
    if len(found.disagreements) > MOST_TOLD:
        yield f"  and {counted(len(found.disagreements) - MOST_TOLD, 'disagreement')} more"
    if found.unlabelled:
        yield f"note: {counted(found.unlabelled, 'judged eval')} without a label"


def _boolean_line(found: BooleanAgreement) -> str:
    kappa = "unknown, since one side always says the same" if found.kappa is None else f"{found.kappa:.2f}"
    between = "" if found.kappa_low is None else f" (95 %: {found.kappa_low:.2f} to {found.kappa_high:.2f})"
    return (
        f"yes or no: {found.agreement:.0%} agreement (95 %: {found.low:.0%} to {found.high:.0%}) in "
        f"{counted(found.labels, 'label')} of {counted(found.cases, 'case')}, kappa {kappa}{between}, "
        f"bias {100 * found.bias:+.0f} points; the judge alone says yes {found.false_yes} times, no {found.false_no} times"
    )


def _numeric_line(found: NumericAgreement) -> str:
    kappa = "unknown" if found.kappa is None else f"{found.kappa:.2f}"
    between = "" if found.low is None else f" (95 %: {found.low:+.2g} to {found.high:+.2g})"
    return (
        f"scores: off by {found.error:.2g} on average in {counted(found.labels, 'label')} of "
        f"{counted(found.cases, 'case')}, bias {found.bias:+.2g}{between}, "
        f"weighted kappa {kappa}"
    )


def _value(value: bool | float | None) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
