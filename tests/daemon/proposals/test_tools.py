"""Tools and their schemas, also those that were written to hold the daemon up."""

import random
import socket
import time

import pytest

from trueup.core.errors import InputError
from trueup.daemon._proposals import Tools, ToolSpec


def registered(**schema):
    tools = Tools()
    tools.register([ToolSpec("t", parameters=schema)])
    return tools


def refusal(schema):
    with pytest.raises(InputError) as refused:
        Tools().register([ToolSpec("t", parameters=schema)])
    assert str(refused.value).startswith("tool 't': the schema cannot be used: ")
    return str(refused.value).removeprefix("tool 't': the schema cannot be used: ")


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"c": value}
    return value


def test_tools_are_listed_by_name_replaced_and_forgotten():
    tools = Tools()
    assert tools.register([ToolSpec("b", "old"), ToolSpec("a"), ToolSpec("b", "new")]) == 3
    assert [(tool.name, tool.source, tool.description) for tool in tools.list()] == [
        ("a", "client", ""),
        ("b", "client", "new"),
    ]
    assert tools.get("b").parameters == {}
    assert tools.unregister("b")
    assert not tools.unregister("b")
    assert "b" not in tools
    assert tools.get("b") is None


def test_an_empty_schema_accepts_anything():
    assert registered().problem("t", {"any": [{"thing": None}], "deep": nested(500)}) is None


def test_a_tool_that_is_registered_again_is_checked_by_its_new_schema():
    tools = registered(required=["a"])
    tools.register([ToolSpec("t")])
    assert tools.problem("t", {}) is None


def test_one_schema_that_cannot_be_used_registers_none_of_the_tools():
    tools = Tools()
    with pytest.raises(InputError):
        tools.register([ToolSpec("good"), ToolSpec("bad", parameters={"type": "objekt"})])
    assert tools.list() == []


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"required": ["a"]}, {}, "tool 't': \"a\" is a required property - at `$.parameters`"),
        (
            {"properties": {"a": {"items": {"type": "string"}}}},
            {"a": ["x", 1]},
            "tool 't': 1 is not of type \"string\" - at `$.parameters.a[1]`",
        ),
        ({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"minimum": 2}}}, {"a": 2}, None),
        ({"properties": {"a/b": {"type": "null"}, "c": {"$ref": "#/properties/a~1b"}}}, {"c": None}, None),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}, {}, None),
        ({"properties": {"n": {"pattern": "^[a-z]+$"}}}, {"n": "abc"}, None),
        ({"properties": {"n": {"pattern": "^\\p{L}+$"}}}, {"n": "é"}, None),
    ],
)
def test_parameters_are_held_against_the_schema(schema, value, said):
    assert registered(**schema).problem("t", value) == said


def test_a_problem_with_a_large_value_is_told_in_few_words():
    assert len(registered(properties={"a": {"type": "integer"}}).problem("t", {"a": "x" * 100_000})) < 500


def test_a_value_with_what_json_does_not_have_is_refused():
    assert registered(properties={"a": {"type": "integer"}}).problem("t", {"a": {1, 2}}) is not None


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:{port}/s", "file:///etc/passwd", "other.json", "urn:x", "#anchor", 1]
)
def test_no_reference_leads_out_of_a_schema(reference):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        if isinstance(reference, str):
            reference = reference.format(port=server.getsockname()[1])
        assert "leads out of it" in refusal({"properties": {"a": {"$ref": reference}}})
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "at `$.parameters.type`"),
        ({"pattern": "(?=a)b"}, "at `$.parameters.pattern`"),
        ({"pattern": "("}, "at `$.parameters.pattern`"),
        ({"pattern": "a{100000}"}, "at `$.parameters.pattern`"),
        ({"$ref": "#/$defs/none"}, "reference '#/$defs/none' leads nowhere"),
        ({"$dynamicRef": "#x"}, "'$dynamicRef' is not followed"),
        ({"$recursiveRef": "#"}, "'$recursiveRef' is not followed"),
        ({"properties": {"a": {"$id": "http://x/"}}}, "'$id' is only understood at its root"),
        ({"$schema": "http://127.0.0.1:9/unknown"}, "127.0.0.1:9"),
        ({"$ref": "#"}, "refers to itself without looking deeper"),
        ({"anyOf": [{"not": {"$ref": "#"}}]}, "refers to itself without looking deeper"),
        ({"enum": [*range(20_000)]}, "more than 10000 values"),
        ({"properties": nested(200)}, "nested more than 100 levels deep"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema, said):
    assert said in refusal(schema)


def doubling(levels):
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": {"type": "object"}}}


def test_references_that_double_are_refused_before_they_are_followed():
    assert "multiply" in refusal(doubling(40))
    assert registered(**doubling(5)).problem("t", {}) is None


def test_unevaluated_properties_inside_of_each_other_are_refused():
    schema = {"type": "object"}
    for _ in range(30):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    assert "multiply" in refusal(schema)


def test_a_schema_of_trees_checks_trees():
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"type": "integer"}}}
    deep = {"value": 1}
    for _ in range(60):
        deep = {"left": deep, "right": {"value": 2}}
    assert registered(**tree).problem("t", deep) is None
    assert (
        registered(**tree).problem("t", {"left": {"right": {"value": "x"}}}).endswith("`$.parameters.left.right.value`")
    )


def test_a_value_that_a_schema_would_look_at_more_often_with_each_level_may_not_be_deep():
    twice = {"allOf": [{"properties": {"c": {"$ref": "#"}}}, {"properties": {"c": {"$ref": "#"}}}]}
    tools = registered(**twice)
    assert tools.problem("t", nested(5)) is None
    began = time.perf_counter()
    assert "too large or too deep" in tools.problem("t", nested(60))
    assert time.perf_counter() - began < 1


def test_a_value_deeper_than_the_library_can_follow_is_refused_and_not_the_end_of_the_daemon():
    assert "too large or too deep" in registered(properties={"c": {"$ref": "#"}}).problem("t", nested(50_000))


def test_many_values_against_a_long_enumeration_of_objects_are_refused():
    tools = registered(properties={"a": {"items": {"enum": [{"n": n} for n in range(3000)]}}})
    assert "too large" in tools.problem("t", {"a": [{"n": 1}] * 20_000})
    assert tools.problem("t", {"a": [{"n": 1}] * 10}) is None


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){20}$", "^[ab]*a[ab]{50}c$"])
def test_a_pattern_does_not_backtrack(pattern):
    tools = registered(properties={"a": {"pattern": pattern}})
    text = "".join(random.Random(1).choices("ab", k=20_000)) + "!"
    began = time.perf_counter()
    assert tools.problem("t", {"a": text}) is not None
    assert time.perf_counter() - began < 2
