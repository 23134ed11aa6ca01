"""The recorder's table, row by row."""

import msgspec
import pytest
from msgspec import UNSET

from trueup.core.protocols import Decision
from trueup.daemon._proposals import ToolAnswer, ToolCallAction, turn_of


def call(id_, tool, parameters=None, **more):
    return {"id": id_, "type": "tool_call", "tool": tool, "parameters": parameters or {}, **more}


EXITED = {"kind": "exited", "code": 0}
TIMEOUT = {"kind": "timeout"}


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ({"exit_code": 0, "timed_out": False}, EXITED),
        ({"exit_code": 3}, {"kind": "exited", "code": 3}),
        ({"exit_code": -9}, {"kind": "exited", "code": -9}),
        ({"exit_code": None, "timed_out": True}, TIMEOUT),
        ({"exit_code": 0, "timed_out": True}, TIMEOUT),
        ({"exit_code": 0, "timed_out": "true"}, EXITED),
        ({"exit_code": 0, "timed_out": 1}, EXITED),
        ({"exit_code": True}, None),
        ({"exit_code": "0"}, None),
        ({"exit_code": 0.0}, None),
        ({"exit_code": None}, None),
        ({}, None),
        ("done", None),
        (None, None),
        (UNSET, None),
    ],
)
def test_what_became_of_a_driven_agent(output, outcome):
    turn = turn_of(ToolCallAction(tool="drive_cli"), output=output)
    assert turn.cli_outcome == outcome
    assert turn.verifier_verdict == "not_run"
    assert turn_of(ToolCallAction(tool="other"), output=output).cli_outcome is None


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ({"passed": True}, "pass"),
        ({"passed": False}, "fail"),
        ({"passed": 1}, "not_run"),
        ({"passed": "true"}, "not_run"),
        ({"passed": None}, "not_run"),
        ({}, "not_run"),
        ([True], "not_run"),
        (UNSET, "not_run"),
    ],
)
def test_what_a_check_found(output, verdict):
    turn = turn_of(ToolCallAction(tool="check_outcome"), output=output)
    assert turn.verifier_verdict == verdict
    assert turn.cli_outcome is None
    assert turn_of(ToolCallAction(tool="other"), output=output).verifier_verdict == "not_run"


@pytest.mark.parametrize(("prompt", "kept"), [("do it\n ", "do it\n "), ("", ""), (1, None), (None, None)])
def test_the_prompt_of_a_driven_agent_is_kept_exactly(prompt, kept):
    assert turn_of(ToolCallAction(tool="drive_cli", parameters={"prompt": prompt})).prompt == kept
    assert turn_of(ToolCallAction(tool="other", parameters={"prompt": prompt})).prompt is None


async def test_a_call_is_kept_as_it_was_made(ground, submitted):
    async def search(_call):
        return {"hits": ["a", "b"]}

    ground.tool("search", search)
    await submitted(call("s1", "search", {"query": "ownership"}))
    (turn,) = msgspec.to_builtins(ground.turns)
    assert turn.pop("duration_ms") >= 0
    assert turn == {
        "kind": "turn",
        "prompt": None,
        "tool": "search",
        "parameters": {"query": "ownership"},
        "output": {"hits": ["a", "b"]},
        "cli_outcome": None,
        "verifier_verdict": "not_run",
        "policy_rejected": None,
    }


async def test_a_null_output_is_kept_as_one(ground, submitted):
    async def nothing(_call):
        return None

    ground.tool("work", nothing)
    await submitted(call("a", "work"))
    assert ground.turns[0].output is None


async def test_a_refused_prompt_is_kept_without_output_or_outcome(ground, submitted):
    ground.rules.append(lambda _action, _state: Decision(False, "no-agents", None, "policy 'no-agents': no"))
    ground.tool("drive_cli")
    await submitted(call("a", "drive_cli", {"prompt": "go"}))
    (turn,) = ground.turns
    assert (turn.prompt, turn.output, turn.cli_outcome) == ("go", UNSET, None)
    assert turn.policy_rejected == {"rule": "no-agents", "param": None}


async def test_an_unregistered_tool_is_no_matter_of_policy(ground, submitted):
    ground.rules.append(lambda _action, _state: Decision(False, "no-nope"))
    await submitted(call("a", "nope", {"x": 1}))
    (turn,) = ground.turns
    assert (turn.tool, turn.parameters, turn.output, turn.policy_rejected) == ("nope", {"x": 1}, UNSET, None)
    assert turn.duration_ms is None


async def test_a_driven_agent_that_never_answers_is_a_timeout_without_output(ground, submitted):
    async def late(_call):
        return ToolAnswer(timed_out=True)

    ground.tool("drive_cli", late)
    await submitted(call("a", "drive_cli", {"prompt": "go"}))
    (turn,) = ground.turns
    assert (turn.cli_outcome, turn.output) == (TIMEOUT, UNSET)


async def test_a_check_that_fails_is_a_healthy_turn_of_a_successful_action(ground, submitted):
    async def check(_call):
        return {"passed": False, "output_tail": "still failing"}

    ground.tool("check_outcome", check)
    result = await submitted(call("a", "check_outcome"))
    assert result.results[0].status == "succeeded"
    assert ground.turns[0].verifier_verdict == "fail"


async def test_skipped_and_state_actions_are_generic_turns(ground, submitted):
    ground.tool("drive_cli")
    await submitted(
        {"id": "w", "type": "state_write", "parameters": {"key": "k", "value": [1]}},
        {"id": "r", "type": "state_read", "parameters": {"key": "k"}, "dependencies": ["w"]},
        {"id": "x", "type": "assertion", "parameters": {"key": "k", "expected": 2}, "dependencies": ["r"]},
        call("d", "drive_cli", {"prompt": "go"}, dependencies=["x"]),
    )
    written, read, asserted, skipped = ground.turns
    assert {turn.tool for turn in (written, read, asserted)} == {None}
    assert (written.parameters, written.output) == ({"key": "k", "value": [1]}, UNSET)
    assert (read.parameters, read.output) == ({"key": "k"}, [1])
    assert (asserted.parameters, asserted.output) == ({"key": "k", "expected": 2}, UNSET)
    assert (skipped.tool, skipped.output, skipped.cli_outcome, skipped.policy_rejected) == (
        "drive_cli",
        UNSET,
        None,
        None,
    )
