"""Labels that people gave, held against what a judge said in a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from trueup.core.documents import Document
from trueup.core.errors import InputError

from .._stats import Agreement, Rated, agreement_of
from ._model import Arm, BooleanDetail, CellReport, NumericDetail, Report

Where = tuple[str, str, str, int, Arm, str]


class Label(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says of one judged eval of a cell; without a value it was not looked at yet.

    `eval` is the label of the eval in the report.
    """

    case: str
    eval: str
    platform: str
    model: str = ""
    repeat: int = 1
    arm: Arm = Arm.WITH
    value: bool | float | None = None

    @property
    def where(self) -> Where:
        return self.case, self.platform, self.model, self.repeat, self.arm, self.eval


class Labels(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of labels: the report that they are of, by a path relative to the file, and the labels."""

    report: str
    labels: list[Label]


class Disagreement(Struct, frozen=True, kw_only=True):
    """Where a person and the judge differ, with the judge's reason."""

    label: Label
    judge: bool | float
    reason: str


class Calibration(Struct, frozen=True, kw_only=True):
    """How far the judge of a report can be trusted. `unlabelled` are judged evals that nobody has looked at."""

    agreement: Agreement
    disagreements: list[Disagreement]
    unlabelled: int


def read_labels(path: Path) -> Labels:
    """Read a file of labels, with the place of every mistake."""
    return Document.read(path).decode(Labels)


def calibrate(labels: Labels, report: Report, *, source: Path) -> Calibration:
    """Hold labels against the judge of a report. A label that fits nothing in it is an `InputError`."""
    judged = {where: said for cell in report.runs for where, said in _judged(cell)}
    _refuse_twins(labels.labels, source)
    given = [(each, each.value, _fitting(each, judged, source)) for each in labels.labels if each.value is not None]
    return Calibration(
        agreement=agreement_of([Rated(case=each.case, person=value, judge=said.value) for each, value, said in given]),
        disagreements=[
            Disagreement(label=each, judge=said.value, reason=said.reason)
            for each, value, said in given
            if value != said.value
        ],
        unlabelled=len(judged.keys() - {each.where for each, _, _ in given}),
    )


def blank_labels(report: Report, path: str) -> Labels:
    """Every judged eval of a report, for a person to say what is right. What the judge said is not shown on purpose."""
    wanted = [where for cell in report.runs for where, _ in _judged(cell)]
    return Labels(
        report=path,
        labels=[
            Label(case=case, platform=platform, model=model, repeat=repeat, arm=arm, eval=label)
            for case, platform, model, repeat, arm, label in wanted
        ],
    )


class _Said(NamedTuple):
    """What the judge said."""

    value: bool | float
    reason: str


def _judged(cell: CellReport) -> Iterator[tuple[Where, _Said]]:
    for outcome in cell.evals:
        if isinstance(outcome.detail, BooleanDetail | NumericDetail):
            where = (cell.case, cell.platform, cell.model, cell.repeat, cell.arm, outcome.label)
            yield where, _Said(outcome.detail.value, outcome.reason)


def _fitting(label: Label, judged: Mapping[Where, _Said], source: Path) -> _Said:
    said = judged.get(label.where)
    if said is None:
        raise InputError(
            f"{source}: {_place(label)} is not among the judged evals of the report; {_known(label, judged)}"
        )
    if isinstance(said.value, bool) is not isinstance(label.value, bool):
        wanted = "true or false" if isinstance(said.value, bool) else "a number"
        raise InputError(f"{source}: {_place(label)} is judged by {wanted}, and not by {label.value!r}")
    if label.value is not None and not math.isfinite(label.value):
        raise InputError(f"{source}: {_place(label)} has the value {label.value}, which is no finite number")
    return said


def _refuse_twins(labels: Iterable[Label], source: Path) -> None:
    seen: set[Where] = set()
    for label in labels:
        if label.where in seen:
            raise InputError(f"{source}: {_place(label)} has two labels; keep one of them")
        seen.add(label.where)


def _place(label: Label) -> str:
    return (
        f"eval {label.eval!r} of {label.case} on {label.platform} {label.model}".rstrip() + f", repeat {label.repeat}"
    )


def _known(label: Label, judged: Iterable[Where]) -> str:
    evals = sorted({where[-1] for where in judged if where[0] == label.case})
    return f"judged evals of that case: {', '.join(evals)}" if evals else "it has no such case"
