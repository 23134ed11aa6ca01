"""Policies as they are written: what is understood, and how a mistake is told."""

from __future__ import annotations

import msgspec
import pytest

from trueup.core.errors import InputError
from trueup.policy import (
    RULES,
    AnyPolicy,
    DenyCommand,
    DenyTool,
    load_policies,
    policy_file,
    policy_from,
    read_policies,
)

WHOLE = {
    "deny_tool": {"target": "shell"},
    "deny_tool_param": {"target": "shell", "key": "command", "pattern": "rm"},
    "deny_tool_param_matching": {"target": "*", "key": "command", "pattern": "r+m"},
    "allow_tool_param": {"target": "deploy", "key": "to", "value": ["test"]},
    "require_state": {"key": "reviewed"},
    "rate_limit_tool": {"target": "web", "value": {"calls": 10, "secs": 60}},
    "deny_path": {"pattern": "secrets/**"},
    "deny_command": {"pattern": "git push"},
    "allow_command": {"pattern": ["pytest", "ls"]},
}


def test_there_are_exactly_these_rules():
    assert set(RULES) == set(WHOLE)


@pytest.mark.parametrize("rule", WHOLE)
def test_every_rule_is_understood_written_and_described(rule):
    policy = policy_from({"name": "it", "rule": rule, **WHOLE[rule]})
    assert policy.name == "it"
    assert policy.description
    written = msgspec.to_builtins(policy)
    assert written["rule"] == rule
    assert policy_from(written) == policy
    assert msgspec.convert(written, AnyPolicy) == policy


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        (rule, field)
        for rule, fields in WHOLE.items()
        for field in (*fields, "name")
        if (rule, field) != ("allow_tool_param", "value")
    ],
)
def test_a_missing_field_is_refused_by_its_name(rule, missing):
    fields = {"name": "it", "rule": rule, **WHOLE[rule]}
    for absent in ({key: value for key, value in fields.items() if key != missing}, {**fields, missing: None}):
        with pytest.raises(InputError, match=f"^{missing}: missing field '{missing}'; rule {rule} takes "):
            policy_from(absent)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"name": "x"}, "rule: missing; it is one of deny_tool, "),
        ({"name": "x", "rule": "frob"}, "unknown rule type: frob"),
        ({"name": "x", "rule": 5}, "unknown rule type: 5"),
        ({"name": "x", "rule": "deny_tool", "targt": "y"}, "targt: unknown field 'targt'; did you mean 'target'?"),
        (
            {"name": "x", "rule": "deny_tool", "target": "y", "value": 1},
            "value: unknown field 'value'; rule deny_tool takes name, target",
        ),
        ({"name": "", "rule": "deny_tool", "target": "y"}, "name: expected 'str' of length >= 1"),
        ({"name": "x", "rule": "deny_tool", "target": 5}, "target: expected 'str', got 'int'"),
        (
            {"name": "x", "rule": "deny_tool_param_matching", "target": "*", "key": "k", "pattern": "a(b"},
            "pattern: not a regular expression, at position 1: missing ), unterminated subpattern",
        ),
        (
            {"name": "x", "rule": "deny_tool_param_matching", "target": "*", "key": "k", "pattern": "ab(?=c)"},
            "pattern: not a regular expression of RE2, at position 2: invalid perl operator: (?= "
            "(no look-around, no references to groups)",
        ),
        (
            {"name": "x", "rule": "deny_tool_param_matching", "target": "*", "key": "k", "pattern": "a" * 1001},
            "pattern: a regular expression may have 1000 characters, and this has 1001",
        ),
        (
            {"name": "x", "rule": "rate_limit_tool", "target": "*", "value": {"calls": 0, "secs": 1}},
            "value.calls: expected 'int' >= 1",
        ),
        (
            {"name": "x", "rule": "rate_limit_tool", "target": "*", "value": {"calls": 1, "seconds": 1}},
            "value: unknown field 'seconds'",
        ),
        (
            {"name": "x", "rule": "allow_tool_param", "target": "*", "key": "k"},
            "value: rule allow_tool_param needs either 'value' or 'pattern'",
        ),
        (
            {"name": "x", "rule": "deny_command", "pattern": "git 'push"},
            'pattern: "git \'push" is not a command: No closing quotation',
        ),
        ({"name": "x", "rule": "deny_command", "pattern": " "}, "pattern: ' ' names no program"),
        ({"name": "x", "rule": "deny_command", "pattern": "A=1 ls"}, "pattern: deny_command names programs; "),
        ({"name": "x", "rule": "deny_command", "pattern": []}, "pattern: expected 'array' of length >= 1"),
        ({"name": "x", "rule": "allow_command", "pattern": ["ls", 5]}, "pattern.1: expected 'str', got 'int'"),
        ([], "a policy is an object with 'name' and 'rule'"),
    ],
)
def test_a_mistake_is_told_with_its_field(params, message):
    with pytest.raises(InputError) as caught:
        policy_from(params)
    assert str(caught.value).startswith(message)


def test_the_field_is_named_within_what_holds_the_policy():
    with pytest.raises(InputError, match=r"^policies\[2\].target: missing"):
        policy_from({"name": "x", "rule": "deny_tool"}, "policies[2]")


def test_a_file_is_read_in_its_order():
    raw = b"policies:\n- {name: a, rule: deny_tool, target: web}\n- {name: b, rule: deny_command, pattern: git push}\n"
    assert load_policies(raw, "p.yaml") == (
        DenyTool(name="a", target="web"),
        DenyCommand(name="b", pattern="git push"),
    )
    assert load_policies(b"policies: []", "p.yaml") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.yaml: a policy file is a mapping with 'policies'"),
        ("- 1", "p.yaml:1:1: a policy file is a mapping with 'policies'"),
        ("policis: []", "p.yaml:1:1: unknown key 'policis'; did you mean 'policies'?"),
        ("policies: [", "p.yaml:1:12: not valid YAML: "),
        ("policies:\n- 5", "p.yaml:2:3: expected 'object', got 'int' in policies[0]"),
        ("policies:\n- name: a\n  rule: frob", "p.yaml:3:9: unknown rule type: frob; it is one of deny_tool, "),
        (
            "policies:\n- name: a\n  rule: deny_comand",
            "p.yaml:3:9: unknown rule type: deny_comand; did you mean 'deny_command'? (policy 'a')",
        ),
        (
            "policies:\n- name: a\n  rule: deny_tool\n  targt: x",
            "p.yaml:4:3: unknown field 'targt'; did you mean 'target'? (policy 'a')",
        ),
        (
            "policies:\n- name: a\n  rule: deny_tool",
            "p.yaml:2:3: missing field 'target'; rule deny_tool takes name, target (policy 'a')",
        ),
        (
            "policies:\n- name: a\n  rule: rate_limit_tool\n  target: x\n  value: {calls: 1.5, secs: 1}",
            "p.yaml:5:18: expected 'int', got 'float' (policy 'a')",
        ),
        (
            "policies:\n- {name: a, rule: deny_tool, target: x}\n- {name: a, rule: deny_tool, target: x}",
            "p.yaml:3:10: there is already a policy 'a'",
        ),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(text, message):
    with pytest.raises(InputError) as caught:
        load_policies(text.encode(), "p.yaml")
    assert str(caught.value).startswith(message)


def test_the_file_is_the_one_at_the_root_of_the_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / ".trueup").mkdir(parents=True)
    (tmp_path / "a" / ".trueup" / "policy.yaml").write_text("policies: []")
    assert policy_file(tmp_path / "a") is None
    (tmp_path / ".trueup").mkdir()
    (tmp_path / ".trueup" / "policy.yaml").write_text("policies: []")
    assert policy_file(tmp_path / "a") == tmp_path / ".trueup" / "policy.yaml"


@pytest.mark.parametrize("target", ["nowhere", "policy.yaml"])
def test_a_file_that_leads_nowhere_is_not_taken_for_none(tmp_path, target):
    (tmp_path / ".trueup").mkdir()
    (tmp_path / ".trueup" / "policy.yaml").symlink_to(target)
    found = policy_file(tmp_path)
    assert found is not None
    with pytest.raises(InputError):
        read_policies(found)
