"""Asking policies about actions."""

from __future__ import annotations

from typing import Any

from trueup.core.protocols import Action, Decision
from trueup.policy import Policies, PolicyGate, policy_from


def gate_of(*rules: dict[str, Any], clock: Any = None, **circumstances: Any) -> PolicyGate:
    """A gate by rules, named `rule` unless they have a name."""
    named = [policy_from({"name": "rule", **rule}) for rule in rules]
    return PolicyGate(Policies(named, clock=clock) if clock else Policies(named), **circumstances)


def asked(rule: dict[str, Any], tool: str, /, **params: Any) -> Decision:
    """What one rule says to a call."""
    return gate_of(rule).decide_now(Action(tool, params))


def runs(rule: dict[str, Any], command: Any) -> Decision:
    """What one rule says to a command of the shell."""
    return asked(rule, "shell", command=command)
