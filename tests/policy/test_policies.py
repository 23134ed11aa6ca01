"""Policies together: scopes, names, order, limits, and rehearsals."""

from __future__ import annotations

import asyncio
import threading

import pytest
from deciding import gate_of

from trueup.core.errors import InputError
from trueup.core.protocols import Action
from trueup.policy import DenyTool, Listed, Policies, PolicyGate, policy_from

CALL = Action("search_web")


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limit(calls: int, secs: float, **more):
    return {"rule": "rate_limit_tool", "target": "search_web", "value": {"calls": calls, "secs": secs}, **more}


def denied(name: str, target: str = "shell") -> DenyTool:
    return DenyTool(name=name, target=target)


def test_a_tool_is_refused_after_so_many_calls_and_allowed_again_later(clock):
    gate = gate_of(limit(2, 60), clock=clock)
    assert gate.decide_now(CALL).allowed
    clock.now += 30
    assert gate.decide_now(CALL).allowed
    refused = gate.decide_now(CALL)
    assert refused.reason == "policy 'rule': tool 'search_web' was called 2 times within 60 s, which is its limit"
    assert gate.decide_now(Action("other")).allowed
    clock.now += 30
    assert gate.decide_now(CALL).allowed
    assert not gate.decide_now(CALL).allowed


def test_what_is_refused_does_not_count(clock):
    gate = gate_of(limit(1, 60), {"rule": "deny_tool_param", "target": "*", "key": "q", "pattern": "x"}, clock=clock)
    assert not gate.decide_now(Action("search_web", {"q": "x"})).allowed
    assert gate.decide_now(Action("search_web", {"q": "y"})).allowed


def test_a_limit_that_is_full_keeps_no_other_from_its_calls(clock):
    gate = gate_of(limit(1, 10, name="tight"), limit(2, 60, name="wide"), clock=clock)
    assert gate.decide_now(CALL).allowed
    assert [gate.decide_now(CALL).rule for _ in range(3)] == ["tight"] * 3
    clock.now += 10
    assert gate.decide_now(CALL).allowed
    clock.now += 10
    assert gate.decide_now(CALL).rule == "wide"


def test_the_first_of_a_full_limit_and_another_refusal_wins(clock):
    rules = [limit(1, 10, name="limit"), {"rule": "require_state", "key": "k", "name": "state"}]
    state: dict[str, int] = {"k": 1}
    first, second = gate_of(*rules, clock=clock, state=state), gate_of(*reversed(rules), clock=clock, state=state)
    assert first.decide_now(CALL).allowed
    assert second.decide_now(CALL).allowed
    state.clear()
    assert (first.decide_now(CALL).rule, second.decide_now(CALL).rule) == ("limit", "state")


def test_a_rehearsal_decides_a_whole_sequence_and_leaves_no_trace(clock):
    gate = gate_of(limit(2, 60), clock=clock)
    assert gate.decide_now(CALL).allowed
    for _ in range(3):
        rehearsal = gate.rehearsal()
        assert [rehearsal.decide_now(CALL).allowed for _ in range(3)] == [True, False, False]
    assert [gate.decide_now(CALL).allowed for _ in range(2)] == [True, False]


def test_a_rehearsal_can_have_a_state_of_its_own():
    gate = gate_of({"rule": "require_state", "key": "k"})
    assert gate.rehearsal(state={"k": 1}).decide_now(CALL).allowed
    assert not gate.rehearsal().decide_now(CALL).allowed


async def test_calls_at_the_same_time_do_not_share_the_last_place(clock):
    gate = gate_of(limit(10, 60), clock=clock)
    allowed = await asyncio.gather(*(gate.decide(CALL) for _ in range(50)))
    assert sum(decision.allowed for decision in allowed) == 10


def test_threads_do_not_share_the_last_place(clock):
    gate = gate_of(limit(100, 60), clock=clock)
    allowed: list[bool] = []
    threads = [
        threading.Thread(target=lambda: allowed.extend([gate.decide_now(CALL).allowed for _ in range(100)]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(allowed), sum(allowed)) == (400, 100)


def test_a_session_has_the_policies_of_the_whole_and_its_own():
    policies = Policies([denied("file", "a")])
    policies.register(denied("whole", "b"))
    policies.register(denied("own", "c"), session_id="s1")

    def refused(session_id):
        gate = PolicyGate(policies, session_id=session_id)
        return [gate.decide_now(Action(tool)).rule for tool in "abc"]

    assert refused(None) == ["file", "whole", None]
    assert refused("s1") == ["file", "whole", "own"]
    assert refused("s2") == ["file", "whole", None]
    assert [one.name for one in policies.listed()] == ["file", "whole"]
    assert policies.listed("s1") == [Listed("own", "tool 'c' is refused")]


def test_a_gate_sees_what_is_registered_after_it_was_made():
    policies = Policies()
    gate = PolicyGate(policies)
    assert gate.decide_now(Action("shell")).allowed
    policies.register(denied("late"))
    assert not gate.decide_now(Action("shell")).allowed


def test_a_policy_of_the_same_name_takes_the_others_place():
    policies = Policies()
    for policy in (denied("a"), denied("b"), denied("a", "read")):
        policies.register(policy)
    assert [(one.name, one.description) for one in policies.listed()] == [
        ("a", "tool 'read' is refused"),
        ("b", "tool 'shell' is refused"),
    ]


def test_saying_a_policy_again_does_not_empty_its_count(clock):
    policies = Policies(clock=clock)
    gate = PolicyGate(policies)
    for _ in range(2):
        policies.register(policy_from({"name": "l", **limit(1, 60)}))
        gate.decide_now(CALL)
    assert not gate.decide_now(CALL).allowed
    policies.register(policy_from({"name": "l", **limit(1, 61)}))
    assert gate.decide_now(CALL).allowed


def test_a_policy_is_taken_away_from_its_own_scope_only():
    policies = Policies()
    policies.register(denied("a"))
    assert not policies.unregister("a", session_id="s1")
    assert policies.unregister("a")
    assert not policies.unregister("a")
    assert policies.listed() == []


def test_the_policies_of_the_repository_stay():
    policies = Policies([denied("file")])
    for attempt in (lambda: policies.register(denied("file", "x"), "s"), lambda: policies.unregister("file")):
        with pytest.raises(InputError, match="name: policy 'file' is the repository's"):
            attempt()


def test_a_session_that_ended_is_forgotten():
    policies = Policies()
    policies.register(denied("a"), session_id="s1")
    policies.end_session("s1")
    assert policies.listed("s1") == []
    assert PolicyGate(policies, session_id="s1").decide_now(Action("shell")).allowed
