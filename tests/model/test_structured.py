"""Answers bound to a schema: by the vendor's own feature, and found in whatever came."""

from __future__ import annotations

import json

import msgspec
import pytest
from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.core.errors import Kind
from trueup.model import ModelError, Request, Tool, chat

VERDICT = {
    "type": "object",
    "properties": {"value": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["value", "reason"],
    "additionalProperties": False,
}
YES = {"value": True, "reason": "it is so"}
READ = Tool("read", "Read a file.", {"type": "object", "properties": {}})


def verdict(model: str, schema: dict = VERDICT, **more: object) -> Request:
    return Request(model=model, messages=HELLO, schema=schema, schema_name="verdict", **more)


async def test_anthropic_is_bound_by_its_output_format(vendor):
    vendor.says(anthropic(text(json.dumps(YES))))
    answer = await chat(verdict(f"{CLAUDE}@{vendor.url}"))
    assert vendor.asked[0]["output_config"] == {"format": {"type": "json_schema", "schema": VERDICT}}
    assert "system" not in vendor.asked[0]
    assert answer.data == YES


async def test_openai_is_bound_by_its_response_format(vendor):
    vendor.says(openai(json.dumps(YES)))
    answer = await chat(verdict(f"gpt-5@{vendor.url}/v1"))
    assert vendor.asked[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT},
    }
    assert answer.data == YES


async def test_responses_is_bound_by_its_text_format(vendor):
    part = {"type": "output_text", "text": json.dumps(YES), "annotations": []}
    item = {"type": "message", "role": "assistant", "content": [part]}
    vendor.says({"object": "response", "status": "completed", "model": "gpt-6.1-sol", "output": [item]})
    answer = await chat(verdict(f"gpt-6.1-sol@{vendor.url}/v1", tools=[READ]))
    format_ = {"type": "json_schema", "name": "verdict", "strict": True, "schema": VERDICT}
    assert vendor.asked[0]["text"] == {"format": format_}
    assert answer.data == YES


async def test_a_schema_with_optional_keys_is_not_called_strict(vendor):
    loose = {**VERDICT, "required": ["value"]}
    vendor.says(openai(json.dumps(YES)))
    await chat(verdict(f"gpt-5@{vendor.url}/v1", loose))
    assert vendor.asked[0]["response_format"]["json_schema"]["strict"] is False


SAID = json.dumps(YES)
WRAPPINGS = {
    "alone": SAID,
    "in fences": f"```json\n{SAID}\n```",
    "in prose": f"Sure! Here is the verdict:\n\n{SAID}\n\nAnything else?",
    "after another object": f'I looked at {{"value": "maybe"}} first. {SAID}',
    "inside another object": json.dumps({"verdict": YES}),
    "before another that fits": f"{SAID} {json.dumps({'value': False, 'reason': 'no'})}",
    "after a brace in the prose": f"The set {{a, b}} is {{ not json. {SAID}",
}


@pytest.mark.parametrize("said", WRAPPINGS.values(), ids=WRAPPINGS)
@pytest.mark.parametrize("model", [CLAUDE, "gpt-5"])
async def test_the_first_object_that_fits_is_found_whatever_stands_around_it(vendor, model, said):
    vendor.says(anthropic(text(said)) if model == CLAUDE else openai(said))
    assert (await chat(verdict(f"{model}@{vendor.url}"))).data == YES


MISFITS = {
    "a number for a boolean": {"value": 1, "reason": ""},
    "a text for a boolean": {"value": "true", "reason": ""},
    "a key too few": {"value": True},
    "a key too many": {"value": True, "reason": "", "score": 3},
    "no object": "yes",
}


@pytest.mark.parametrize("said", MISFITS.values(), ids=MISFITS)
async def test_what_does_not_fit_is_an_error_that_quotes_it(vendor, said):
    words = json.dumps(said)
    vendor.says(openai(words))
    with pytest.raises(ModelError) as raised:
        await chat(verdict(f"gpt-5@{vendor.url}/v1"))
    assert raised.value.kind is Kind.PROTOCOL
    assert words in str(raised.value)


async def test_a_schema_that_does_not_bind_lets_every_answer_through(vendor):
    vendor.says(anthropic(text('{"value": true}')))
    answer = await chat(msgspec.structs.replace(verdict(f"{CLAUDE}@{vendor.url}"), schema_binds=False))
    assert vendor.asked[0]["output_config"]["format"]["schema"] == VERDICT
    assert (answer.text, answer.data) == ('{"value": true}', None)


async def test_an_unreadable_answer_is_quoted_by_its_first_500_characters(vendor):
    vendor.says(openai("n" * 2000))
    with pytest.raises(ModelError) as raised:
        await chat(verdict(f"gpt-5@{vendor.url}/v1"))
    assert "n" * 500 in str(raised.value)
    assert "n" * 501 not in str(raised.value)


CANNOT = {
    CLAUDE: {"type": "error", "error": {"type": "invalid_request_error", "message": "output_config.format: no"}},
    "gpt-5": {"error": {"message": "'response_format' of type 'json_schema' is not supported", "type": "x"}},
}


@pytest.mark.parametrize("model", CANNOT)
async def test_a_server_that_cannot_be_bound_is_asked_in_words(vendor, model):
    vendor.says(CANNOT[model], status=400)
    vendor.says(anthropic(text(f"Here: {SAID}")) if model == CLAUDE else openai(f"Here: {SAID}"))
    answer = await chat(verdict(f"{model}@{vendor.url}", system="be fair"))
    assert answer.data == YES
    assert not {"response_format", "output_config"} & vendor.asked[1].keys()
    told = vendor.asked[1]["system"] if model == CLAUDE else vendor.asked[1]["messages"][0]["content"]
    assert told.startswith("be fair")
    assert '"additionalProperties":false' in told


async def test_another_complaint_is_not_answered_by_asking_in_words(vendor):
    vendor.says({"error": {"message": "Unknown parameter", "type": "invalid_request_error"}}, status=400)
    with pytest.raises(ModelError):
        await chat(verdict(f"gpt-5@{vendor.url}/v1"))
    assert len(vendor.asked) == 1


async def test_an_answer_that_asks_for_a_tool_first_needs_no_data_yet(vendor):
    asked = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    vendor.says(anthropic(asked, stop="tool_use"))
    answer = await chat(verdict(f"{CLAUDE}@{vendor.url}", tools=[READ]))
    assert answer.data is None
    assert answer.tool_calls


RICH = {
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "points": {"type": "array", "items": {"$ref": "#/$defs/point"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "score": {"type": ["number", "null"]},
    },
    "required": ["kind"],
}
FITTING = [{"kind": "a"}, {"kind": "b", "points": [{"x": 1}, {"x": 2.0}], "note": None, "score": 1.5}]
NOT_FITTING = [
    {"kind": "c"},
    {"kind": "a", "points": [{"x": "1"}]},
    {"kind": "a", "points": [{"y": 1}]},
    {"kind": "a", "note": 3},
    {"kind": "a", "score": True},
]


@pytest.mark.parametrize("said", FITTING)
async def test_a_rich_schema_is_understood(vendor, said):
    vendor.says(openai(json.dumps(said)))
    assert (await chat(verdict(f"gpt-5@{vendor.url}/v1", RICH))).data == said


@pytest.mark.parametrize("said", NOT_FITTING)
async def test_what_does_not_fit_a_rich_schema_is_refused(vendor, said):
    vendor.says(openai(json.dumps(said)))
    with pytest.raises(ModelError, match="fits the schema"):
        await chat(verdict(f"gpt-5@{vendor.url}/v1", RICH))
