"""The contract as data."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trueup.contract import Check, CheckResult, Contract, dump_contract, load_contract, parse_contract
from trueup.core.errors import InputError


def contract(*checks: Check, description: str = "d", **more) -> Contract:
    return Contract(description=description, checks=list(checks), **more)


def test_defaults_are_those_that_every_reader_of_contracts_knows():
    check = msgspec.convert({"name": "exists", "command": "test -f x"}, Check)
    assert (check.expect_exit_zero, check.timeout_secs, check.output_contains) == (True, 120, None)


def test_an_absent_text_is_omitted_and_the_other_defaults_are_written():
    written = contract(Check(name="a", command="b")).as_data()
    assert written == {
        "description": "d",
        "checks": [{"name": "a", "command": "b", "expect_exit_zero": True, "timeout_secs": 120}],
    }


def test_what_trueup_adds_is_written_where_it_says_something():
    check = Check(name="a", command="b", network=True, runs=3, hidden=True, env={"X": "1"}, cwd="sub", parallel=True)
    written = contract(check, setup=["make deps"], protect=["spec/**"]).as_data()
    assert written["setup"] == ["make deps"]
    assert written["protect"] == ["spec/**"]
    assert {"network", "runs", "hidden", "env", "cwd", "parallel"} <= written["checks"][0].keys()


@pytest.mark.parametrize("name", ["contract.json", "contract.yaml"])
def test_a_contract_survives_its_file(tmp_path, name):
    original = contract(
        Check(name="suite", command='pytest -q "tests/a b"\necho ü', output_contains="passed", timeout_secs=600),
        setup=["uv sync"],
        setup_env=["TOKEN"],
        setup_inputs=["uv.lock"],
        reuse=[".venv"],
        editable=["tests/new/**"],
    )
    file = tmp_path / name
    file.write_text(dump_contract(original, as_json=name.endswith("json")))
    assert load_contract(file) == original


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30)
checks = st.builds(
    Check,
    name=texts,
    command=texts,
    expect_exit_zero=st.booleans(),
    output_contains=st.none() | texts,
    timeout_secs=st.integers(1, 604_800),
    env=st.dictionaries(texts, texts, max_size=2),
)


@given(st.lists(checks, max_size=3), texts, st.booleans())
def test_any_contract_survives_json_and_yaml(some, description, as_json):
    original = Contract(description=description, checks=some)
    text = dump_contract(original, as_json=as_json)
    assert msgspec.convert(json.loads(text) if as_json else yaml.safe_load(text), Contract) == original


def test_a_contract_may_stand_in_a_project_file(tmp_path):
    file = tmp_path / "trueup.yaml"
    file.write_text("max_attempts: 2\ncontract:\n  description: d\n  checks:\n  - {name: a, command: b}\n")
    assert load_contract(file).checks[0].name == "a"


def test_a_null_text_is_an_absent_one():
    raw = b'{"description": "d", "checks": [{"name": "a", "command": "b", "output_contains": null}]}'
    assert parse_contract(raw, "stdin").checks[0].output_contains is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "description: d\nchecks:\n- name: suite\n  command: make\n  expected_exit_zero: true\n",
            "c.yaml:5:3: unknown key 'expected_exit_zero' in checks[0] ('suite'); did you mean 'expect_exit_zero'?",
        ),
        ("description: d\n", "c.yaml:1:1: missing required key 'checks'"),
        ("checks: []\n", "c.yaml:1:1: missing required key 'description'"),
        (
            "description: d\nchecks:\n- {name: a, command: b, timeout_secs: 0}\n",
            "c.yaml:3:39: expected 'int' >= 1 in checks[0].timeout_secs ('a')",
        ),
        (
            f"description: d\nchecks:\n- {{name: a, command: b, timeout_secs: {10**400}}}\n",
            "c.yaml:3:39: expected 'int' <= 604800 in checks[0].timeout_secs ('a')",
        ),
        ("just text\n", "c.yaml:1:1: a contract is a mapping with 'description' and 'checks'"),
    ],
)
def test_a_file_that_a_person_wrote_is_read_strictly(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_contract(file.relative_to(tmp_path))
    assert str(caught.value) == message


def test_unknown_keys_of_a_program_are_tolerated():
    data = {"description": "d", "checks": [{"name": "a", "command": "b", "confidence": 0.9}], "model": "m"}
    assert msgspec.convert(data, Contract).checks[0].name == "a"


def test_a_command_that_could_not_run_has_a_null_for_its_exit_code_on_the_wire():
    result = CheckResult(name="a", passed=False, exit_code=None, output_tail="", duration_ms=1)
    assert json.loads(msgspec.json.encode(result))["exit_code"] is None


def test_rendering_shows_what_each_check_expects():
    text = contract(
        Check(name="suite", command="pytest"),
        Check(name="prints", command="./run", output_contains='say "x"'),
        Check(name="fails", command="./bad", expect_exit_zero=False, output_contains="no"),
        description="  it works \n",
    ).render()
    assert text == (
        "it works\n"
        "Checks:\n"
        "- suite: `pytest` (expects exit 0)\n"
        '- prints: `./run` (expects exit 0, output contains "say \\"x\\"")\n'
        '- fails: `./bad` (expects output contains "no")\n'
    )
