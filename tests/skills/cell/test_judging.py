"""Evals that judges decide."""

from __future__ import annotations

import math

import msgspec
import pytest

from scripted_provider import ScriptedProvider, cell_of, refusal
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.skills._case import Boolean, Comparator, Contains, Numeric
from trueup.skills._cell import run_cell
from trueup.skills._model import Judgement
from trueup.skills._report import BooleanDetail, CellStatus, EvalOutcome, NumericDetail, Vote

POLITE = Boolean(criterion="it is polite")


async def judged(eval_: Boolean | Numeric, **script) -> EvalOutcome:
    panel = {name: script.pop(name) for name in ("judges", "votes") if name in script}
    report = await run_cell(cell_of(eval_, **panel), ScriptedProvider(**script))
    assert report.error is None, report.error
    return report.evals[0]


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("expected", [True, False])
async def test_a_boolean_eval_passes_when_the_judge_says_what_is_expected(value: bool, expected: bool):
    outcome = await judged(Boolean(criterion="it is polite", expected=expected), verdicts=value)
    assert outcome == EvalOutcome(
        label="it is polite",
        passed=value is expected,
        detail=BooleanDetail(value=value, expected=expected),
        reason="So I say.",
    )


@pytest.mark.parametrize(
    ("comparator", "passing"),
    [(Comparator.AT_LEAST, [7, 8]), (Comparator.MORE, [8]), (Comparator.AT_MOST, [6, 7]), (Comparator.LESS, [6])],
)
async def test_a_score_is_held_against_its_threshold(comparator: Comparator, passing: list[int]):
    eval_ = Numeric(criterion="warmth", threshold=7, comparator=comparator)
    found = [score for score in (6, 7, 8) if (await judged(eval_, verdicts=score)).passed]
    assert found == passing
    outcome = await judged(eval_, verdicts=6)
    assert outcome.detail == NumericDetail(value=6, threshold=7, comparator=comparator.value)


async def test_the_scale_is_told_to_the_judge():
    provider = ScriptedProvider(verdicts=2)
    await run_cell(cell_of(Numeric(criterion="warmth", threshold=2, min=1, max=5)), provider)
    assert (provider.judged[0][1].min, provider.judged[0][1].max) == (1, 5)


@pytest.mark.parametrize("wrong", [999.0, -1.0, math.nan, math.inf, True, "7", refusal(Kind.PROTOCOL, "judge")])
async def test_a_score_that_is_none_is_asked_for_once_more(wrong):
    eval_ = Numeric(criterion="warmth", threshold=7)
    assert (await judged(eval_, verdicts={"": [wrong, 8.0]})).passed
    provider = ScriptedProvider(verdicts={"": [wrong]})
    report = await run_cell(cell_of(eval_), provider)
    assert report.status is CellStatus.ERROR
    assert report.error is not None
    assert (report.error.kind, report.error.context, report.error.stage) == ("protocol", "judge", "evals")
    assert len(provider.judged) == 2


async def test_a_score_off_the_scale_is_paid_for_and_named():
    over = Judgement(value=999.0, usage=Usage(input_tokens=3, output_tokens=1, cost_usd=0.25))
    report = await run_cell(cell_of(Numeric(criterion="warmth", threshold=7)), ScriptedProvider(verdicts=over))
    assert report.error is not None
    assert report.error.message == "the judge gave a score of 999 on a scale from 0 to 10"
    assert report.judge_usage == Usage(input_tokens=6, output_tokens=2, cost_usd=0.5)


async def test_a_number_is_no_boolean():
    report = await run_cell(cell_of(POLITE), ScriptedProvider(verdicts=1.0))
    assert report.error is not None
    assert report.error.kind == "protocol"


async def test_a_judge_that_refuses_is_not_asked_again_here():
    provider = ScriptedProvider(verdicts=refusal(Kind.AUTH, "api-judge"))
    report = await run_cell(cell_of(POLITE), provider)
    assert report.error is not None
    assert (report.error.kind, report.error.context) == ("auth", "api-judge")
    assert len(provider.judged) == 1


async def test_one_eval_that_cannot_be_judged_leaves_what_the_others_found():
    provider = ScriptedProvider("Hello, Ada!", verdicts={"it is polite": [refusal(context="judge")], "": [True]})
    report = await run_cell(cell_of(POLITE, Boolean(criterion="it is short"), Contains(text="Ada")), provider)
    assert report.status is CellStatus.ERROR
    assert [each.label for each in report.evals] == ["it is short", "contains 'Ada'"]


async def test_the_majority_of_a_panel_decides_and_every_vote_is_kept():
    outcome = await judged(POLITE, judges=("a", "b", "c"), verdicts={"a": [True], "b": [False], "c": [True]})
    assert outcome.passed
    assert outcome.votes == [
        Vote(model="a", value=True, reason="So I say."),
        Vote(model="b", value=False, reason="So I say."),
        Vote(model="c", value=True, reason="So I say."),
    ]
    assert outcome.agreement == pytest.approx(2 / 3)
    assert outcome.reason == "2 of 3 votes say true. a: So I say."


@pytest.mark.parametrize("expected", [True, False])
async def test_a_tie_does_not_pass_and_says_so(expected: bool):
    eval_ = Boolean(criterion="it is polite", expected=expected)
    outcome = await judged(eval_, votes=2, verdicts={"": [True, False]})
    assert not outcome.passed
    assert outcome.agreement == 0.5
    assert outcome.reason.startswith("The judges are divided, 1 to 1, and a tie does not pass.")


async def test_the_mean_of_a_panel_decides():
    outcome = await judged(Numeric(criterion="warmth", threshold=7), judges=("a", "b"), verdicts={"a": [9], "b": [5]})
    assert outcome.passed
    assert outcome.detail == NumericDetail(value=7, threshold=7, comparator=">=")
    assert outcome.agreement == pytest.approx(0.6)
    assert outcome.reason.startswith("The mean of 9, 5 is 7.")


async def test_judges_of_one_mind_agree_wholly():
    outcome = await judged(Numeric(criterion="warmth", threshold=7), votes=3, verdicts=8)
    assert outcome.agreement == 1


async def test_a_judge_without_a_reason_is_said_to_have_none():
    outcome = await judged(POLITE, verdicts=Judgement(value=False))
    assert outcome.reason == "The judge says false and gives no reason."


async def test_what_a_judge_says_can_be_written_into_a_report():
    outcome = await judged(POLITE, votes=2, verdicts=Judgement(value=True, reason="Well \ud800."))
    assert b"Well" in msgspec.json.encode(outcome)


async def test_judges_are_asked_at_the_same_time_and_no_more_than_allowed():
    evals = [Boolean(criterion=f"criterion {number}") for number in range(10)]
    provider = ScriptedProvider(judge_secs=0.02)
    await run_cell(cell_of(*evals), provider, evals_at_once=4)
    assert provider.at_once == 4
    alone = ScriptedProvider(judge_secs=0.001)
    await run_cell(cell_of(*evals, votes=2), alone, evals_at_once=1)
    assert alone.at_once == 1


async def test_evals_of_the_same_label_are_told_apart():
    named = Boolean(criterion="it is short", name="it is polite")
    report = await run_cell(cell_of(POLITE, named, POLITE), ScriptedProvider())
    assert [each.label for each in report.evals] == ["it is polite", "it is polite (2)", "it is polite (3)"]
