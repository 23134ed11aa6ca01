"""Schemas: they agree with the program about what is a case and a configuration."""

from __future__ import annotations

import jsonschema_rs
import pytest
import yaml

from trueup.core.documents import Document
from trueup.core.errors import InputError
from trueup.skills._case import Config, case_schema, config_schema
from trueup.skills._case._model import CaseFile

CASE = {"skill": "s", "input": "i", "evals": [{"type": "boolean", "criterion": "c"}]}


def with_eval(**eval_) -> dict:
    return {**CASE, "evals": [eval_]}


def with_mock(**mock) -> dict:
    return {**CASE, "mocks": [{"match": {"tool": "x"}, **mock}]}


CASES = [
    CASE,
    {**CASE, "workspace": "w", "name": None, "spy": True},
    {**CASE, "workspace": {"files": {"a": "b"}, "setup": "true"}},
    with_eval(type="numeric", criterion="c", threshold=7, comparator="gte"),
    with_eval(type="numeric", criterion="c", threshold=7.5, comparator="<"),
    with_eval(type="called", mock="m", where={"a": "b", "c": {"contains": "d"}, "n": 3}),
    with_eval(type="json", pointer="/a", equals=[1], schema={"type": "array"}),
    with_mock(stub="a"),
    with_mock(stub=["a", {"output": "b"}]),
    with_mock(deny={"message": "no"}),
    with_mock(rewrite={"file_path": "x"}),
    # From here on, wrong.
    [],
    {},
    {**CASE, "imput": "x"},
    {**CASE, "evals": []},
    {**CASE, "input": 3},
    with_eval(type="bolean", criterion="c"),
    with_eval(criterion="c"),
    with_eval(type="boolean", criterion="c", expcted=True),
    with_eval(type="boolean", criterion="c", threshold=1),
    with_eval(type="numeric", criterion="c", threshold=7, comparator="=>"),
    with_eval(type="called", mock="m", times=-1),
    with_eval(type="called", mock="m", where={"c": {"contians": "d"}}),
    with_eval(type="called", mock="m", where={"c": [1]}),
    with_eval(type="tool_order", tools=[]),
    with_eval(type="cost_below", usd=0),
    with_mock(stub=[{"ouput": "b"}]),
    with_mock(stub={"exit_code": 1}),
    with_mock(deny=["no"]),
]
CONFIGS = [
    {},
    {"provider": {"kind": "harness", "delivery": "install"}, "platforms": ["codex"], "models": [""], "votes": 3},
    {"provider": {"kind": "command", "command": ["x"]}, "judge": {"kind": "api", "vendor": "openai"}},
    {"provider": {"kind": "oneharness", "history": False}, "judge": None},
    # From here on, wrong.
    {"provider": {"kind": "command"}},
    {"provider": {"kind": "magic"}},
    {"provider": {"kind": "harness", "command": ["x"]}},
    {"judge": {"kind": "api", "vendor": "acme"}},
    {"models": "sonnet"},
    {"max_turns": 0},
    {"votes": 100},
    {"modles": []},
]


def decodes(data: object, kind: type) -> bool:
    try:
        Document.parse(yaml.safe_dump(data).encode(), source="x.yaml", is_json=False).decode(kind)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "schema", "documents", "good"),
    [(CaseFile, case_schema(), CASES, 11), (Config, config_schema(), CONFIGS, 4)],
    ids=["case", "config"],
)
def test_a_schema_and_the_program_accept_the_same(kind, schema, documents, good):
    validator = jsonschema_rs.validator_for(schema)
    valid = [validator.is_valid(each) for each in documents]
    assert valid == [True] * good + [False] * (len(documents) - good)
    assert valid == [decodes(each, kind) for each in documents]


@pytest.mark.parametrize("schema", [case_schema(), config_schema()], ids=["case", "config"])
def test_a_schema_is_of_the_newest_kind_and_reads_well(schema):
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(schema)
    objects = [each for each in schema["$defs"].values() if "properties" in each]
    assert all(each["additionalProperties"] is False for each in objects)
    assert all("\n  " not in each["description"] for each in objects)
