"""A judge, held against people's labels."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from skill_cells import ABOUT, cell, outcome
from trueup.core.errors import InputError
from trueup.skills._report import EvalOutcome, NumericDetail, blank_labels, build_report, calibrate, read_labels

SCORED = EvalOutcome(
    label="warmth", passed=True, detail=NumericDetail(value=8, threshold=7, comparator=">="), reason="Very warm."
)


def report():
    return build_report([cell("a"), cell("b", "failed"), cell("c", evals=[outcome(True), SCORED])], ABOUT)


def labelled(tmp_path, text) -> tuple[Path, object]:
    file = tmp_path / "labels.yaml"
    file.write_text("report: report.json\nlabels:\n" + text)
    return file, read_labels(file)


def label(case, value, label="greets by name"):
    return f"- {{case: {case}, platform: claude-code, model: sonnet, eval: {label}, value: {value}}}\n"


def test_labels_are_held_against_what_the_judge_said(tmp_path):
    file, labels = labelled(tmp_path, label("a", "false") + label("b", "false") + label("c", "6", "warmth"))
    found = calibrate(labels, report(), source=file)
    assert (found.agreement.boolean.agreement, found.agreement.boolean.false_yes) == (0.5, 1)
    assert found.agreement.numeric.bias == 2
    assert [(each.label.case, each.judge, each.reason) for each in found.disagreements] == [
        ("a", True, "It names Ada."),
        ("c", 8, "Very warm."),
    ]
    assert found.unlabelled == 1


def test_blank_labels_can_be_filled_in(tmp_path):
    blank = blank_labels(report(), "report.json")
    assert len(blank.labels) == 4
    file = tmp_path / "labels.json"
    file.write_bytes(msgspec.json.encode(blank))
    found = calibrate(read_labels(file), report(), source=file)
    assert found.unlabelled == 4
    assert found.agreement.boolean is None


def test_a_label_that_fits_nothing_is_told_with_what_there_is(tmp_path):
    file, labels = labelled(tmp_path, label("a", "true", "greets by nam"))
    with pytest.raises(InputError, match=r"'greets by nam' of a .* judged evals of that case: greets by name"):
        calibrate(labels, report(), source=file)


def test_a_number_is_no_label_for_yes_or_no(tmp_path):
    file, labels = labelled(tmp_path, label("a", "1"))
    with pytest.raises(InputError, match="is judged by true or false, and not by"):
        calibrate(labels, report(), source=file)


def test_a_misspelled_key_is_told_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"labels.yaml:3:\d+: unknown key 'valeu'.*did you mean 'value'"):
        labelled(tmp_path, "- {case: a, platform: p, eval: x, valeu: true}\n")


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_a_score_is_a_number(tmp_path, value):
    file, labels = labelled(tmp_path, label("c", value, "warmth"))
    with pytest.raises(InputError, match="finite"):
        calibrate(labels, report(), source=file)


def test_the_same_eval_is_not_labelled_twice(tmp_path):
    file, labels = labelled(tmp_path, label("a", "true") + label("b", "false") + label("a", "false"))
    with pytest.raises(InputError, match="'greets by name' of a .* has two labels"):
        calibrate(labels, report(), source=file)
