"""The simple rules: what each refuses, in which words."""

from __future__ import annotations

import time

import pytest
from deciding import asked, gate_of

from trueup.core.protocols import Action, Decision

NO_SHELL = {"name": "no-shell", "rule": "deny_tool", "target": "shell"}
NO_DESTRUCTION = {
    "name": "no-destructive",
    "rule": "deny_tool_param",
    "target": "drive_cli",
    "key": "prompt",
    "pattern": "rm -rf",
}


def test_a_denied_tool_is_refused_in_the_words_that_clients_match_on():
    assert asked(NO_SHELL, "shell", command="ls") == Decision(
        allowed=False, rule="no-shell", reason="policy 'no-shell': tool 'shell' denied by policy"
    )
    assert asked(NO_SHELL, "other").allowed


def test_a_denied_text_is_refused_in_the_words_that_clients_match_on():
    assert asked(NO_DESTRUCTION, "drive_cli", prompt="please rm -rf /") == Decision(
        allowed=False,
        rule="no-destructive",
        param="prompt",
        reason="policy 'no-destructive': param 'prompt' matches denied pattern 'rm -rf'",
    )
    assert asked(NO_DESTRUCTION, "drive_cli", prompt="please rm x").allowed
    assert asked(NO_DESTRUCTION, "drive_cli", other="rm -rf").allowed
    assert asked(NO_DESTRUCTION, "other", prompt="rm -rf").allowed


@pytest.mark.parametrize("value", [["rm", "-rf"], {"a": ["x", "rm -rf"]}, {"rm -rf": 1}, [["rm -rf"]]])
def test_a_denied_text_is_found_however_deep_it_lies(value):
    assert not asked(NO_DESTRUCTION, "drive_cli", prompt=value).allowed


def test_no_depth_is_too_deep_for_a_denied_text():
    value: object = "rm -rf"
    for _ in range(5000):
        value = [value]
    assert not asked(NO_DESTRUCTION, "drive_cli", prompt=value).allowed


def test_numbers_and_truth_are_compared_as_json_writes_them():
    rule = {"rule": "deny_tool_param", "target": "*", "key": "force", "pattern": "true"}
    assert not asked(rule, "any", force=True).allowed
    assert asked(rule, "any", force=False).allowed


@pytest.mark.parametrize("tool", ["shell", "Bash", "command_execution", "run_shell_command"])
def test_a_target_means_a_tool_by_its_name_or_by_what_it_does(tool):
    assert not asked(NO_SHELL, tool).allowed


def test_a_target_that_is_an_agents_own_name_means_that_tool_and_what_could_be_it():
    rule = {"rule": "deny_tool", "target": "Bash"}
    assert not asked(rule, "Bash").allowed
    assert not asked(rule, "shell").allowed
    assert asked(rule, "command_execution").allowed
    assert not asked({"rule": "deny_tool", "target": "*"}, "anything").allowed


def test_a_regular_expression_is_searched_for():
    rule = {
        "rule": "deny_tool_param_matching",
        "target": "web",
        "key": "url",
        "pattern": r"^https?://(?:\w+\.)*evil\.org",
    }
    assert not asked(rule, "WebFetch", url="https://a.evil.org/x").allowed
    assert asked(rule, "WebFetch", url="https://good.org/?https://evil.org").allowed
    assert asked(rule, "WebFetch", url="\ud800").allowed


def test_a_regular_expression_made_to_take_forever_does_not():
    rule = {"rule": "deny_tool_param_matching", "target": "*", "key": "x", "pattern": r"^(a+)+$"}
    gate = gate_of(rule)
    started = time.thread_time()
    assert gate.decide_now(Action("any", {"x": "a" * 50_000 + "b"})).allowed
    assert time.thread_time() - started < 1


def test_only_given_values_are_allowed():
    rule = {"rule": "allow_tool_param", "target": "deploy", "key": "to", "value": ["test", 1, True]}
    assert [asked(rule, "deploy", to=value).allowed for value in ("test", 1, 1.0, True)] == [True] * 4
    refused = asked(rule, "deploy", to="production")
    assert (refused.allowed, refused.param, refused.reason) == (False, "to", "policy 'rule': param 'to' is not allowed")
    assert not asked(rule, "deploy", to="test2").allowed
    assert "missing" in asked(rule, "deploy").reason
    assert asked(rule, "other").allowed


def test_truth_is_not_the_number_one():
    rule = {"rule": "allow_tool_param", "target": "x", "key": "n", "value": 1}
    assert not asked(rule, "x", n=True).allowed
    rule = {"rule": "allow_tool_param", "target": "x", "key": "n", "value": [{"a": [True]}]}
    assert asked(rule, "x", n={"a": [True]}).allowed
    assert not asked(rule, "x", n={"a": [1]}).allowed


def test_only_texts_with_an_allowed_part_are_allowed():
    rule = {"rule": "allow_tool_param", "target": "say", "key": "to", "pattern": "@example.org"}
    assert asked(rule, "say", to="ada@example.org").allowed
    assert not asked(rule, "say", to="ada@example.com").allowed
    assert not asked(rule, "say", to=["ada@example.org"]).allowed


def test_a_state_is_required_as_it_is_at_the_moment():
    state: dict[str, object] = {}
    gate = gate_of({"rule": "require_state", "key": "reviewed", "target": "deploy", "value": True}, state=state)
    action = Action("deploy")
    assert gate.decide_now(action).reason == "policy 'rule': tool 'deploy' requires state 'reviewed', which is not set"
    state["reviewed"] = 1
    assert gate.decide_now(action).reason == "policy 'rule': tool 'deploy' requires another value of state 'reviewed'"
    state["reviewed"] = True
    assert gate.decide_now(action).allowed


def test_a_required_state_without_a_value_only_has_to_be_set():
    gate = gate_of({"rule": "require_state", "key": "plan"}, state={"plan": None})
    assert gate.decide_now(Action("any")).allowed
    assert not gate_of({"rule": "require_state", "key": "plan"}).decide_now(Action("any")).allowed


def test_the_first_refusal_in_order_wins():
    gate = gate_of({**NO_SHELL, "name": "first"}, {**NO_SHELL, "name": "second"})
    assert gate.decide_now(Action("shell")).rule == "first"


async def test_it_is_a_gate():
    assert (await gate_of(NO_SHELL).decide(Action("shell"))).rule == "no-shell"
    assert (await gate_of(NO_SHELL).decide(Action("read"))) == Decision(allowed=True)
