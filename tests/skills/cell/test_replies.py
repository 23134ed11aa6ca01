"""Evals of what the skill said."""

from __future__ import annotations

import msgspec
import pytest

from scripted_provider import ScriptedProvider, cell_of
from trueup.skills._case import Contains, JsonEval, Matches, User
from trueup.skills._cell import run_cell
from trueup.skills._report import EvalOutcome


async def seen(eval_, *replies: str) -> EvalOutcome:
    spec = cell_of(eval_, user=User(persona="a guest"), max_turns=len(replies))
    report = await run_cell(spec, ScriptedProvider(*replies))
    assert report.error is None, report.error
    return report.evals[0]


@pytest.mark.parametrize(
    ("eval_", "passed"),
    [
        (Contains(text="Ada"), True),
        (Contains(text="ada"), False),
        (Contains(text="ADA", ignore_case=True), True),
        (Contains(text="Bob"), False),
        (Contains(text="Bob", message="any"), True),
        (Contains(text="Bob", expected=False), True),
        (Contains(text="Bob", message="any", expected=False), False),
        (Matches(pattern=r"^Hello, \w+!$"), True),
        (Matches(pattern="ello"), True),
        (Matches(pattern="^Bob"), False),
        (Matches(pattern="(?i)^bob", message="any"), True),
        (Matches(pattern="Bob", expected=False), True),
    ],
)
async def test_a_text_or_pattern_is_sought_in_the_last_reply_or_in_any(eval_, passed: bool):
    assert (await seen(eval_, "Bob?", "Hello, Ada!")).passed is passed


async def test_the_reason_is_a_sentence():
    assert (await seen(Contains(text="Bob"), "Hello!")).reason == "The last reply does not contain 'Bob'."
    assert (await seen(Contains(text="Bob", message="any"), "Hello!")).reason == "No reply contains 'Bob'."
    assert (await seen(Matches(pattern="l+"), "Hello!")).reason == "The last reply matches 'l+'."


async def test_a_pattern_that_would_take_for_ever_takes_no_time():
    assert not (await seen(Matches(pattern="^(a+)+$"), "a" * 50_000 + "b")).passed


async def test_a_pattern_that_is_none_is_an_error_of_input():
    report = await run_cell(cell_of(Matches(pattern="(?=look)")), ScriptedProvider())
    assert report.error is not None
    assert (report.error.kind, report.error.stage) == ("input", "evals")
    assert "(?=look)" in report.error.message


@pytest.mark.parametrize(
    "reply",
    [
        '{"a": 1}',
        '  {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}```',
        '~~~ json\n{"a": 1}\n~~~\n',
        '````json\n{"a": 1}\n````',
    ],
)
async def test_json_may_be_bare_or_in_a_fence(reply: str):
    outcome = await seen(JsonEval(equals={"a": 1}), reply)
    assert outcome.passed, outcome.reason


@pytest.mark.parametrize(
    "reply", ["", "Here: {}", "```json\n{}\n``` done", '{"a": NaN}', "{'a': 1}", "[" * 100_000, "{} {}", "1" * 5000]
)
async def test_what_is_not_json_as_a_whole_does_not_pass(reply: str):
    outcome = await seen(JsonEval(), reply)
    assert not outcome.passed
    assert "JSON" in outcome.reason
    assert len(outcome.reason) < 1000


@pytest.mark.parametrize(
    ("pointer", "equals", "passed"),
    [
        ("/user/name", "Ada", True),
        ("/user/tags/1", "b", True),
        ("/user/tags/01", "b", False),
        ("/user/tags/-", "b", False),
        ("/user/tags/2", "b", False),
        ("/a~1b", 1, True),
        ("/m~0n", True, True),
        ("/m~0n", 1, False),
        ("/a~1b", True, False),
        ("/a~1b", 1.0, True),
        ("/none", None, True),
        ("/user/name", None, False),
        ("/nowhere", None, False),
        ("/user/name/deeper", "Ada", False),
        ("/user", {"tags": ["a", "b"], "name": "Ada"}, True),
        ("/user", {"name": "Ada"}, False),
    ],
)
async def test_a_pointer_leads_to_a_value_that_is_equal_as_json_means_it(pointer: str, equals, passed: bool):
    reply = '{"user": {"name": "Ada", "tags": ["a", "b"]}, "a/b": 1, "m~n": true, "none": null}'
    outcome = await seen(JsonEval(pointer=pointer, equals=equals), reply)
    assert outcome.passed is passed, outcome.reason


@pytest.mark.parametrize("levels", [300, 988])
@pytest.mark.parametrize("eval_", [JsonEval(), JsonEval(schema={"type": "object"}), JsonEval(equals=[])])
async def test_json_of_any_depth_has_an_outcome(eval_: JsonEval, levels: int):
    outcome = await seen(eval_, "[" * levels + "]" * levels)
    assert outcome.reason == "The last reply is JSON that is nested too deep to be looked at."


@pytest.mark.parametrize("reply", ['"\\ud800"', "1" + "0" * 30, "1e400", '{"\\udcff": 1}'])
@pytest.mark.parametrize("eval_", [JsonEval(), JsonEval(equals=1), JsonEval(schema={"type": "boolean"})])
async def test_odd_json_can_be_written_into_a_report(eval_: JsonEval, reply: str):
    outcome = await seen(eval_, reply)
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=EvalOutcome).reason == outcome.reason


async def test_a_fence_that_is_never_closed_takes_no_time():
    assert not (await seen(JsonEval(), "```\n" + " " * 300_000 + "x")).passed


async def test_json_is_held_against_a_schema():
    schema = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}
    assert (await seen(JsonEval(schema=schema), '{"age": 3}')).passed
    outcome = await seen(JsonEval(schema=schema), '{"age": "three"}')
    assert not outcome.passed
    assert outcome.reason == 'The reply does not fit the schema: /age: "three" is not of type "integer".'


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/schema.json"}])
async def test_a_schema_that_cannot_be_used_is_an_error_of_input(schema):
    report = await run_cell(cell_of(JsonEval(schema=schema)), ScriptedProvider("{}"))
    assert report.error is not None
    assert report.error.kind == "input"
    assert "json.schema" in report.error.message
