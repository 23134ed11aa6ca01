"""Deriving a contract from an intent with a model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.contract import derive
from trueup.contract._derive import contract_prompt
from trueup.core.errors import GenerationError, Kind
from trueup.core.json_text import MOST_CANDIDATES, MOST_CHARACTERS, json_objects
from trueup.core.protocols import Reply
from trueup.core.usage import Usage
from trueup.testing import ScriptedReplies

VALID = '{"description": "file exists", "checks": [{"name": "exists", "command": "test -f x.txt"}]}'
EMPTY = '{"description": "nothing", "checks": []}'


async def derived(*replies, attempts: int = 3):
    model = ScriptedReplies(replies)
    return await derive(model, "make x", "Build systems: none", attempts), model


async def test_a_valid_first_answer_is_taken_with_its_defaults():
    derivation, model = await derived(VALID)
    check = derivation.contract.checks[0]
    assert (check.name, check.expect_exit_zero, check.timeout_secs) == ("exists", True, 120)
    assert (derivation.attempts, len(model.prompts)) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [
        f"Sure! Here it is:\n```json\n{VALID}\n```\nAnything else?",
        f"{{not json}} but {VALID}",
        '{"thought": "a } brace in a string {"} ' + VALID,
        f'{{"contract": {VALID}}}',
        VALID.replace("test -f x.txt", "awk '{print $1}' x | grep -q '}'"),
        f"{VALID}\n{EMPTY}",
    ],
)
async def test_a_contract_is_found_whatever_stands_around_it(answer):
    derivation, _ = await derived(answer)
    assert derivation.contract.checks[0].name == "exists"


async def test_of_several_objects_the_first_that_is_a_contract_counts():
    other = VALID.replace("exists", "second")
    derivation, _ = await derived(f'{{"plan": ["think"]}} {VALID} {other}')
    assert derivation.contract.checks[0].name == "exists"


async def test_a_repair_prompt_carries_all_problems_of_the_last_answer():
    bad = '{"description": "v", "checks": [{"name": "unique_snake_case_label", "command": "cargo --version"}]}'
    derivation, model = await derived(bad, VALID)
    repair = model.prompts[1].text
    assert "FAILED validation" in repair
    assert "placeholder name" in repair
    assert "toolchain-only no-op" in repair
    assert derivation.attempts == 2


async def test_only_the_latest_problems_are_repeated():
    _, model = await derived(EMPTY, "no json here", VALID)
    assert "no checks" in model.prompts[1].text
    assert "no checks" not in model.prompts[2].text
    assert "holds no JSON object" in model.prompts[2].text


async def test_a_transport_failure_uses_an_attempt_and_keeps_the_problems():
    derivation, model = await derived(EMPTY, GenerationError("connection cut", kind=Kind.NETWORK), VALID)
    assert "no checks" in model.prompts[2].text
    assert derivation.attempts == 3


async def test_it_gives_up_after_the_last_attempt():
    with pytest.raises(GenerationError, match="no valid contract after 2 attempts: the answer holds no JSON object"):
        await derived("not json", "not json", VALID, attempts=2)


async def test_the_last_transport_failure_is_told():
    with pytest.raises(GenerationError, match="after 1 attempts: the model could not be asked: no route"):
        await derived(GenerationError("no route"), attempts=1)


async def test_fewer_than_one_attempt_means_one():
    derivation, _ = await derived(VALID, attempts=-3)
    assert derivation.attempts == 1


async def test_what_all_attempts_used_is_added_up():
    derivation, _ = await derived(
        Reply(EMPTY, Usage(input_tokens=10)), Reply(VALID, Usage(input_tokens=5, output_tokens=3))
    )
    assert derivation.usage == Usage(input_tokens=15, output_tokens=3, incomplete=True)


async def test_an_answer_that_could_not_be_used_was_paid_for_all_the_same():
    cut_off = GenerationError("it was cut off", usage=Usage(input_tokens=10, output_tokens=1))
    derivation, _ = await derived(cut_off, Reply(VALID, Usage(input_tokens=5, output_tokens=3)))
    assert derivation.usage == Usage(input_tokens=15, output_tokens=4)


async def test_nobody_is_asked_again_whose_quota_is_used_up():
    with pytest.raises(GenerationError, match="^no credit$"):
        await derived(GenerationError("no credit", kind=Kind.QUOTA), VALID)


async def test_an_object_that_is_no_contract_is_told_to_the_model():
    _, model = await derived('{"description": "d", "checks": [{"name": "a"}]}', VALID)
    assert "missing required field `command`" in model.prompts[1].text


async def test_a_timeout_of_nothing_is_told_to_the_model():
    _, model = await derived(VALID.replace('"test -f x.txt"', '"x", "timeout_secs": 0'), VALID)
    assert "timeout_secs" in model.prompts[1].text


def test_the_prompt_asks_for_what_a_contract_must_be():
    prompt = contract_prompt("add a --version flag", "Build systems: Rust (cargo)", [])
    for fragment in (
        "add a --version flag",
        "Rust (cargo)",
        "1 to 5 checks",
        "the task itself and not the toolchain",
        "`cargo --version`",
        "exercises the new behaviour",
        "snake_case",
        "never the placeholder `unique_snake_case_label`",
        "without a terminal",
        "same result each time",
        "build and test commands that the repository already has",
        "certain will be printed",
        "Invent no example output",
        "No git push, no network, no sudo",
        "realistically",
        '"expect_exit_zero": true',
        "no markdown fences",
    ):
        assert fragment in " ".join(prompt.split()), fragment
    assert "FAILED validation" not in prompt


def test_an_intent_with_braces_is_quoted_as_it_is():
    assert "use {x} and {{y}}" in contract_prompt("use {x} and {{y}}", "{z}", [])


@given(st.text())
def test_any_text_is_searched_without_an_error(text):
    assert all(isinstance(found, dict) for found in json_objects(text))


def test_hostile_nesting_is_survived():
    assert list(json_objects("{" * 5000)) == []
    assert list(json_objects('{"a":' * 5000)) == []
    assert list(json_objects("[" * 100_000 + '{"a": 1}')) == [{"a": 1}]


def test_a_text_full_of_beginnings_is_searched_only_so_far():
    assert list(json_objects('{"' * (MOST_CANDIDATES - 1) + ' {"a": 1}')) == [{"a": 1}]
    assert list(json_objects('{"' * MOST_CANDIDATES + ' {"a": 1}')) == []


def test_braces_that_begin_no_object_do_not_count():
    assert list(json_objects("{ x }" * MOST_CANDIDATES + '{"a": 1}')) == [{"a": 1}]


def test_a_text_beyond_all_measure_is_searched_only_so_far():
    assert list(json_objects("x" * (MOST_CHARACTERS - 8) + '{"a": 1}')) == [{"a": 1}]
    assert list(json_objects("x" * (MOST_CHARACTERS - 7) + '{"a": 1}')) == []


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
    st.text(st.characters(exclude_characters="{")),
)
def test_an_object_is_found_in_any_prose(data, prose):
    assert next(json_objects(prose + json.dumps(data) + prose)) == data


async def test_a_refused_key_is_not_tried_again():
    model = ScriptedReplies([GenerationError("no such key", kind=Kind.AUTH)] * 3)
    with pytest.raises(GenerationError, match="no such key"):
        await derive(model, "x", "y", 3)
    assert len(model.prompts) == 1
