"""What is refused, in which words, before anything runs; and that `verify` says the same."""

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.core.protocols import Decision
from trueup.daemon._proposals import Proposal, submit, verify


def call(id_="a1", tool="work", **more):
    return {"id": id_, "type": "tool_call", "tool": tool, **more}


def write(id_, key, value=1, **more):
    return {"id": id_, "type": "state_write", "parameters": {"key": key, "value": value}, **more}


REFUSED = {
    "an unknown tool": ([call(tool="nope")], "tool 'nope' is not registered"),
    "no tool": ([{"id": "a1", "type": "tool_call"}], "tool_call has no tool"),
    "a null tool": ([call(tool=None)], "tool_call has no tool"),
    "an id twice": ([call("a1"), call("a1")], "duplicate action id 'a1'"),
    "a key nobody brings": ([call(state_dependencies=["k"])], "state dependency 'k' not found"),
    "only itself brings the key": (
        [call(state_dependencies=["k"], expected_effects={"k": 1})],
        "state dependency 'k' not found",
    ),
    "an unknown dependency": ([call(dependencies=["b"])], "dependency 'b' is not an action of this proposal"),
    "itself as dependency": ([call(dependencies=["a1"])], "dependency cycle: a1 → a1"),
    "preconditions": (
        [call(preconditions=[{"key": "k"}])],
        "preconditions are not supported: depend on an assertion instead",
    ),
    "a wrong parameter": (
        [call(tool="add", parameters={"a": "one"})],
        'tool \'add\': "one" is not of type "integer" - at `$.parameters.a`',
    ),
}


@pytest.mark.parametrize(("actions", "said"), REFUSED.values(), ids=REFUSED.keys())
async def test_refused_with_these_words_by_both(ground, propose, actions, said):
    ground.tool("work")
    ground.tool("add", type="object", properties={"a": {"type": "integer"}})
    verified = await verify(propose(*actions), ground)
    assert [issue.message for issue in verified.issues] == [said]
    assert not verified.valid
    rejected = [one for one in (await submit(propose(*actions), ground)).results if one.status == "rejected"]
    assert [one.error for one in rejected] == [said]
    assert len(ground.turns) == len(actions)


async def test_all_actions_of_a_cycle_are_refused_and_what_waits_for_it_is_skipped(ground, submitted, statuses):
    ground.tool("work")
    skipping = {"failure_behavior": "skip"}
    result = await submitted(
        call("a", dependencies=["b"], **skipping),
        call("b", state_dependencies=["k"], **skipping),
        call("c", expected_effects={"k": 1}, dependencies=["a"], **skipping),
        call("after", dependencies=["c"]),
        call("free"),
    )
    assert statuses(result) == {
        "a": "rejected",
        "b": "rejected",
        "c": "rejected",
        "after": "skipped",
        "free": "succeeded",
    }
    assert {one.error for one in result.results[:3]} == {"dependency cycle: a → b → c → a"}


async def test_a_cycle_of_thousands_is_told_in_few_words(ground, propose):
    ground.tool("work")
    count = 2_000
    verified = await verify(
        propose(*(call(f"a{n}", dependencies=[f"a{(n + 1) % count}"]) for n in range(count))), ground
    )
    assert len(verified.issues) == count
    assert verified.issues[0].message == "dependency cycle: a0 → a1 → a2 → a3 → a4 → a5 → … → a0"


async def test_a_policys_words_are_the_actions_and_no_tool_is_called(ground, submitted):
    said = "policy 'no-destructive': param 'prompt' matches denied pattern 'rm -rf'"

    def no_destructive(action, _state):
        bad = "rm -rf" in action.params.get("prompt", "")
        return Decision(False, "no-destructive", "prompt", said) if bad else None

    ground.rules.append(no_destructive)
    ground.tool("drive_cli")
    result = await submitted(call(tool="drive_cli", parameters={"prompt": "rm -rf /"}))
    assert (result.results[0].status, result.results[0].error) == ("rejected", said)
    assert ground.calls == []
    assert ground.turns[0].policy_rejected == {"rule": "no-destructive", "param": "prompt"}


async def test_a_policy_without_words_still_says_something(ground, submitted):
    ground.rules.append(lambda _action, _state: Decision(False, "no-shell"))
    ground.tool("shell")
    result = await submitted(call(tool="shell"))
    assert result.results[0].error == "policy 'no-shell': tool 'shell' denied by policy"


async def test_everything_wrong_with_an_action_is_said(ground, submitted):
    result = await submitted(call("a", "nope", dependencies=["b"], state_dependencies=["k"]))
    assert result.results[0].error == (
        "tool 'nope' is not registered; dependency 'b' is not an action of this proposal; state dependency 'k' not found"
    )


async def test_verify_begins_with_the_state_it_is_given(ground, propose):
    ground.tool("work")
    needs_k = propose(call(state_dependencies=["k"]))
    assert (await verify(needs_k, ground, {"k": 1})).valid
    ground.state["k"] = 1
    assert (await verify(needs_k, ground)).valid
    assert not (await verify(needs_k, ground, {})).valid
    assert ground.turns == []


async def test_actions_without_ids_get_ids_of_their_own(ground, submitted):
    ground.tool("work")
    nameless = {"type": "tool_call", "tool": "work"}
    result = await submitted(nameless, call("action-3"), nameless, {**nameless, "id": ""})
    assert [one.action_id for one in result.results] == ["action-1", "action-3", "action-3'", "action-4"]
    assert result.proposal_id


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (
            {"type": "assertion", "parameters": {"key": "k", "expect": 1}},
            "unknown field `expect` - at `$.actions[0].parameters`",
        ),
        (
            {"type": "assertion", "parameters": {"key": 1, "expected": 1}},
            "got `int` - at `$.actions[0].parameters.key`",
        ),
        (
            {"type": "assertion", "parameters": {"key": "k", "expected": 1, "operator": "gt"}},
            "unknown field `operator` - at `$.actions[0].parameters`",
        ),
        ({"type": "assertion", "parameters": {"key": "k"}}, "`expected` - at `$.actions[0].parameters`"),
        ({"type": "state_write", "parameters": {"key": "k"}}, "`value` - at `$.actions[0].parameters`"),
        ({"type": "state_read", "parameters": {}}, "`key` - at `$.actions[0].parameters`"),
        ({"type": "state_read"}, "`parameters` - at `$.actions[0]`"),
        ({"type": "frob"}, "Invalid value 'frob' - at `$.actions[0].type`"),
        ({"parameters": {}}, "missing required field `type` - at `$.actions[0]`"),
        ({"type": "tool_call", "timeout_ms": 0}, ">= 1 - at `$.actions[0].timeout_ms`"),
        ({"type": "tool_call", "max_retries": True}, "got `bool` - at `$.actions[0].max_retries`"),
        ({"type": "tool_call", "failure_behavior": "explode"}, "'explode' - at `$.actions[0].failure_behavior`"),
        ({"type": "tool_call", "parameters": []}, "got `array` - at `$.actions[0].parameters`"),
    ],
)
def test_what_is_mistyped_is_refused_with_its_path(propose, action, said):
    with pytest.raises(msgspec.ValidationError) as refused:
        propose(action)
    assert str(refused.value).endswith(said)


@pytest.mark.parametrize(
    ("state", "expected", "holds"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        ([0], [False], False),
        ({"a": [1, {}]}, {"a": [1, {}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (None, None, True),
        ("1", 1, False),
    ],
)
async def test_an_assertion_compares_json(ground, submitted, state, expected, holds):
    ground.state["k"] = state
    result = await submitted({"id": "a", "type": "assertion", "parameters": {"key": "k", "expected": expected}})
    assert result.results[0].status == ("succeeded" if holds else "failed")


async def test_an_assertion_and_a_read_of_what_is_not_there_fail(ground, submitted):
    ground.state["k"] = 1
    result = await submitted(
        {"type": "assertion", "parameters": {"key": "x", "expected": None}, "failure_behavior": "skip"},
        {"type": "state_read", "parameters": {"key": "x"}, "failure_behavior": "skip"},
        {"type": "assertion", "parameters": {"key": "k", "expected": 2}},
    )
    assert [one.error for one in result.results] == [
        "state key 'x' not found",
        "state key 'x' not found",
        "assertion failed: state key 'k' is 1, expected 2",
    ]


async def test_a_result_on_the_wire_has_only_what_there_is(ground, submitted):
    ground.tool("work")
    result = await submitted(write("a", "k"), call("b", "nope"))
    written, refused = msgspec.json.decode(msgspec.json.encode(result))["results"]
    assert written.keys() == {"action_id", "status", "rolled_back", "state_changes", "duration_ms", "timestamp"}
    assert written["state_changes"] == {"k": {"op": "set", "value": 1}}
    assert refused.keys() == {"action_id", "status", "error", "state_changes", "timestamp"}


async def test_an_empty_proposal_does_nothing(ground, submitted):
    result = await submitted()
    assert result.results == []
    assert ground.appends == []


NAMES = st.sampled_from(["a", "b", "c", "d"])
KEYS = st.sampled_from(["k", "m"])
SOME_NAMES = st.lists(NAMES, max_size=2)
COMMON = {
    "id": st.none() | NAMES,
    "dependencies": st.none() | SOME_NAMES,
    "state_dependencies": st.none() | st.lists(KEYS, max_size=2),
    "expected_effects": st.none() | st.dictionaries(KEYS, st.integers(), max_size=1),
    "failure_behavior": st.sampled_from(["abort", "skip", "retry"]),
    "max_retries": st.sampled_from([None, 0, 1]),
}
CALLS = st.fixed_dictionaries(
    {
        "type": st.just("tool_call"),
        "tool": st.sampled_from(["work", "fail", "strict", "denied", "nope", None]),
        "parameters": st.sampled_from([{}, {"n": 1}, {"n": "one"}]),
        **COMMON,
    }
)
WRITES = st.fixed_dictionaries(
    {
        "type": st.just("state_write"),
        "parameters": st.fixed_dictionaries({"key": KEYS, "value": st.integers()}),
        **COMMON,
    }
)
READS = st.fixed_dictionaries(
    {"type": st.just("state_read"), "parameters": st.fixed_dictionaries({"key": KEYS}), **COMMON}
)
PROPOSALS = st.lists(CALLS | WRITES | READS, max_size=6)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as runner:
        yield runner


def _ground_with_every_kind_of_tool(new_ground):
    async def fail(_call):
        return {"error": "no"}

    ground = new_ground()
    for name in ("work", "denied"):
        ground.tool(name)
    ground.tool("fail", fail)
    ground.tool("strict", properties={"n": {"type": "integer"}}, required=["n"])
    ground.rules.append(lambda action, _state: Decision(False, "denied") if action.tool == "denied" else None)
    return ground


@settings(max_examples=100, deadline=None)
@given(actions=PROPOSALS, state=st.dictionaries(KEYS, st.integers(), max_size=2))
def test_verify_says_exactly_what_submit_refuses(new_ground, runner, actions, state):
    async def both():
        ground = _ground_with_every_kind_of_tool(new_ground)
        ground.state |= state
        proposal = msgspec.convert({"actions": actions}, Proposal)
        return ground, await verify(proposal, ground), await submit(proposal, ground)

    ground, verified, result = runner.run(both())
    said = {}
    for issue in verified.issues:
        said.setdefault(issue.action_index, []).append(issue.message)
    refused = {place: one.error for place, one in enumerate(result.results) if one.status == "rejected"}
    assert {place: "; ".join(messages) for place, messages in said.items()} == refused
    assert verified.valid is (not refused)
    assert [one.action_id for one in result.results] == [
        action["id"] or f"action-{place + 1}" for place, action in enumerate(actions)
    ]
    assert len(ground.turns) == len(actions)
    if any(one.rolled_back for one in result.results):
        assert ground.state == state
