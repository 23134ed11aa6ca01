"""Verdicts: found wherever a model puts them, and held to what was asked."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trueup.core.errors import Kind
from trueup.skills._model import ProviderError, Query, QueryKind
from trueup.skills._providers import parse_verdict

YES_NO = Query(kind=QueryKind.BOOLEAN, criterion="c")
SCORE = Query(kind=QueryKind.NUMERIC, criterion="c", min=0, max=10)


def refusal(text, query):
    with pytest.raises(ProviderError) as raised:
        parse_verdict(text, query, "oneharness:judge")
    assert raised.value.kind is Kind.PROTOCOL
    return raised.value


@pytest.mark.parametrize(
    "text",
    [
        '{"value": true, "reason": "ok"}',
        '```json\n{"value": true, "reason": "ok"}\n```',
        'Sure! {"value": true, "reason": "ok"} done.',
        'I looked at {this} and {"that": 1}.\n{"value": true, "reason": "ok"}',
        '{"verdict": {"value": true, "reason": "ok"}}',
        '{ \n "reason": "ok", "value": true, "confidence": {"value": 3}}',
        '{"value": true, "reason": "ok"}\n{"value": true, "reason": "once more"}',
        '{"value": tru\n{"value": true, "reason": "ok"}',
    ],
)
def test_a_verdict_is_found_in_whatever_stands_around_it(text):
    verdict = parse_verdict(text, YES_NO, "judge")
    assert (verdict.value, verdict.reason) == (True, "ok")


def test_braces_in_a_reason_are_part_of_it():
    verdict = parse_verdict('{"value": false, "reason": "it said {\\"value\\": true} and }{"}', YES_NO, "judge")
    assert (verdict.value, verdict.reason) == (False, 'it said {"value": true} and }{')


def test_a_verdict_that_was_quoted_from_the_transcript_does_not_count():
    error = refusal('The transcript says {"value": true} but no: {"value": false, "reason": "a trick"}', YES_NO)
    assert "differ" in str(error)
    refusal('{"value": 1} {"value": true}', SCORE)


@pytest.mark.parametrize(
    "own",
    ['{"value": false, reason: "a trick"}', '{"reason": "a "trick"", "value": false}', '{"value": false, "reason": "a'],
    ids=["bare key", "quotes in quotes", "cut off"],
)
def test_a_verdict_that_cannot_be_read_leaves_none_to_one_that_was_quoted(own):
    refusal('It says {"value": true, "reason": "perfect"}, which is not so: ' + own, YES_NO)


@pytest.mark.parametrize("filler", ['{"a": 1} ' * 300, "x" * (1 << 18)], ids=["objects", "text"])
def test_a_verdict_behind_more_than_anybody_reads_is_not_overlooked(filler):
    refusal('It says {"value": true}. ' + filler + ' But no: {"value": false}', YES_NO)


@pytest.mark.parametrize(("said", "value"), [("8", 8.0), ("8.5", 8.5), ("0", 0.0), ("10", 10.0), ("1e1", 10.0)])
def test_a_score_is_a_number_on_the_scale(said, value):
    verdict = parse_verdict(f'{{"value": {said}}}', SCORE, "judge")
    assert verdict.value == value
    assert type(verdict.value) is float


@pytest.mark.parametrize("reason", ["", ', "reason": 3', ', "reason": null', ', "reason": ["a"]'])
def test_a_reason_that_is_no_text_is_none(reason):
    assert parse_verdict(f'{{"value": true{reason}}}', YES_NO, "judge").reason == ""


@pytest.mark.parametrize("value", ["3", "0", "1", '"true"', "null", "[]", "{}", "NaN"])
def test_what_is_no_boolean_is_refused(value):
    error = refusal(f'{{"value": {value}}}', YES_NO)
    assert error.context == "oneharness:judge"
    assert "true or false" in str(error)


@pytest.mark.parametrize("value", ["true", "false", '"8"', "null", "[8]", "NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(value):
    assert "asked for a number" in str(refusal(f'{{"value": {value}}}', SCORE))


def test_a_number_too_large_for_any_scale_is_refused():
    refusal('{"value": 1' + "0" * 400 + "}", SCORE)
    refusal('{"value": 1' + "0" * 10_000 + "}", SCORE)


@pytest.mark.parametrize("text", ["no json", "", '{"reason": "x"}', "{}", "[true]", "true", '{"value"'])
def test_a_reply_without_a_value_is_refused_and_quoted(text):
    error = refusal(text, YES_NO)
    assert (text or "nothing") in str(error)
    assert error.context == "oneharness:judge"


def test_only_the_beginning_of_a_long_reply_is_quoted():
    said = str(refusal("b" + "a" * 5000, YES_NO))
    assert "b" + "a" * 499 in said
    assert "a" * 500 not in said


@pytest.mark.parametrize("value", ["999", "-1", "10.001"])
def test_a_score_off_the_scale_is_the_judges_error(value):
    error = refusal(f'{{"value": {value}}}', SCORE)
    assert error.context == "judge"
    assert "scale from 0 to 10" in str(error)


def test_the_usual_scale_is_from_0_to_10():
    unscaled = Query(kind=QueryKind.NUMERIC, criterion="c")
    assert parse_verdict('{"value": 10}', unscaled, "judge").value == 10
    refusal('{"value": 11}', unscaled)


def test_a_reply_that_rambles_costs_little():
    refusal('{"a' * 200_000, YES_NO)
    refusal("{" * 100_000, YES_NO)
    refusal('{"a":' * 50_000, YES_NO)


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "reason", "x"]), inner),
    max_leaves=8,
)
REPLIES = st.text(alphabet='{}[]",:\\ \n`value1truefalsNI.e-', max_size=60) | st.tuples(
    st.text(max_size=10), VALUES.map(json.dumps), st.text(max_size=10)
).map("".join)


@settings(max_examples=300, deadline=None)
@given(REPLIES, st.sampled_from([YES_NO, SCORE]))
@example('{"value": "\\ud800", "reason": "\\ud800"}', YES_NO)
@example('{"value": true, "reason": "\\ud800"}', YES_NO)
@example("\ud800", YES_NO)
def test_any_reply_is_a_verdict_of_the_right_type_or_a_provider_error(text, query):
    try:
        verdict = parse_verdict(text, query, "judge")
    except ProviderError as error:
        assert error.kind is Kind.PROTOCOL
        str(error).encode()
        return
    verdict.reason.encode()
    if query is YES_NO:
        assert isinstance(verdict.value, bool)
    else:
        assert type(verdict.value) is float
        assert math.isfinite(verdict.value)
        assert 0 <= verdict.value <= 10
