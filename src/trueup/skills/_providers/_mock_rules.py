"""Mocks as rules for a program that applies them, and what it says that they did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from .._case import Match, Mock, Predicate
from .._mocks import MockAction, refusal_of, stubs_of
from .._model import MockCall


def rules_of(mocks: Sequence[Mock]) -> dict[str, Any] | None:
    """The mocks that do something, in the words of `oneharness mock --rules`; None where all of them only watch."""
    rules = [{"match": _match(mock.match), "action": action} for mock in mocks if (action := _action(mock)) is not None]
    return {"rules": rules} if rules else None


def has_sequences(mocks: Sequence[Mock]) -> bool:
    """Whether a mock answers one call otherwise than the next, which not every program can."""
    return any(len(stubs_of(mock)) > 1 for mock in mocks)


def read_calls(told: Any, mocks: Sequence[Mock]) -> tuple[MockCall, ...]:
    """The calls that were seen; a `ValueError` says which of them cannot be understood.

    Strict, other than with events: a call that is lost here would let `not_called` pass.
    """
    if not isinstance(told, list):
        raise ValueError(f"`mock_calls` is {json.dumps(told)[:100]} instead of a list")
    names = [mock.label(number) for number, mock in enumerate(mocks) if mock.actions]
    return tuple(_call(call, number, names) for number, call in enumerate(told))


def _call(told: Any, number: int, names: list[str]) -> MockCall:
    where = f"`mock_calls[{number}]`"
    if not isinstance(told, dict):
        raise ValueError(f"{where} is no object")
    tool, action, rule = told.get("tool"), told.get("action"), told.get("rule")
    if tool is not None and not isinstance(tool, str):
        raise ValueError(f"the tool of {where} is no text")
    if action not in list(MockAction):
        raise ValueError(
            f"the action of {where} is {json.dumps(action)[:100]}, and none of {', '.join(sorted(MockAction))}"
        )
    if rule is not None and (isinstance(rule, bool) or not isinstance(rule, int) or not 0 <= rule < len(names)):
        raise ValueError(f"the rule of {where} is {json.dumps(rule)[:100]}, and there are {len(names)}")
    if action != "allow" and rule is None:
        raise ValueError(f"{where} was answered by `{action}` and does not say by which rule")
    return MockCall(
        tool=tool or "",
        input=told.get("input"),
        action=action,
        rule=rule,
        mock=None if rule is None or action == "allow" else names[rule],
    )


def _match(match: Match) -> dict[str, Any]:
    spec: dict[str, Any] = {"tool": match.tool, "event_contains": match.contains, "event_regex": match.pattern}
    spec["input"] = {name: _predicate(wanted) for name, wanted in match.input.items()} or None
    return {name: value for name, value in spec.items() if value is not None}


def _predicate(wanted: str | float | Predicate) -> dict[str, str]:
    if not isinstance(wanted, Predicate):
        return {"equals": _as_text(wanted)}
    equals = None if wanted.equals is None else _as_text(wanted.equals)
    spec = {"equals": equals, "contains": wanted.contains, "regex": wanted.pattern}
    return {name: value for name, value in spec.items() if value is not None}


def _as_text(value: Any) -> str:
    """Arguments that are no texts are compared by their JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _action(mock: Mock) -> dict[str, Any] | None:
    if mock.stub is not None:
        stubs = [msgspec.to_builtins(stub) for stub in stubs_of(mock)]
        return {"stub": stubs[0] if len(stubs) == 1 else stubs}
    if mock.deny is not None:
        return {"deny": {"message": refusal_of(mock)}}
    return None if mock.rewrite is None else {"rewrite": {"input": mock.rewrite}}
