"""The policies of a client: what its actions have to keep to, for the whole connection or one of its sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from msgspec import UNSET, Struct

from trueup.core.errors import InputError
from trueup.policy import AnyPolicy, Listed, policy_from

from .._errors import Code, RpcError
from .._method import Call, method

T = TypeVar("T")


class PolicyRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy: its name, its rule, and what the rule needs."""

    name: str
    rule: str
    target: str | None = None
    key: str | None = None
    pattern: str | list[str] | None = None
    value: Any = UNSET

    def as_policy(self, path: str = "") -> AnyPolicy:
        """The policy that is meant; an `RpcError` where it is none."""
        given = {name: getattr(self, name) for name in PolicyRule.__struct_fields__}
        return _or_invalid(lambda: policy_from({name: each for name, each in given.items() if each is not UNSET}, path))


class RegisterPolicy(PolicyRule, frozen=True, forbid_unknown_fields=True):
    """A policy; with a session, for that one only."""

    session_id: str | None = None


class SessionScope(Struct, frozen=True):
    """One session of the connection."""

    session_id: str


Scope = Literal["global"] | SessionScope


class PolicyRegistered(Struct, frozen=True):
    """The name, and what it holds for."""

    registered: str
    scope: Scope


@method("policy.register")
async def register(call: Call, params: RegisterPolicy) -> PolicyRegistered:
    """Register a policy that every later proposal is held to. One of the same name and scope is replaced."""
    policy = params.as_policy()
    _or_invalid(lambda: call.connection.policies.register(policy, params.session_id))
    return PolicyRegistered(policy.name, _scope(params.session_id))


class ListPolicies(Struct, frozen=True):
    """Which scope."""

    session_id: str | None = None


class ListedPolicies(Struct, frozen=True):
    """Policies, in the order in which they are asked."""

    policies: list[Listed]
    scope: Scope


@method("policy.list")
async def list_policies(call: Call, params: ListPolicies) -> ListedPolicies:
    """List the policies of the connection, the repository's among them, or those of one session."""
    return ListedPolicies(call.connection.policies.listed(params.session_id), _scope(params.session_id))


class UnregisterPolicy(Struct, frozen=True):
    """A policy by its name and scope."""

    name: str
    session_id: str | None = None


class PolicyUnregistered(Struct, frozen=True):
    """How many policies were removed; none is no error."""

    unregistered: str
    removed: int
    scope: Scope


@method("policy.unregister")
async def unregister(call: Call, params: UnregisterPolicy) -> PolicyUnregistered:
    """Take a policy away. The repository's cannot be."""
    removed = _or_invalid(lambda: call.connection.policies.unregister(params.name, params.session_id))
    return PolicyUnregistered(params.name, int(removed), _scope(params.session_id))


def _or_invalid(work: Callable[[], T]) -> T:
    try:
        return work()
    except InputError as error:
        # Clients wait for exactly this text.
        known = str(error).startswith("unknown rule type: ")
        raise RpcError(Code.INVALID_PARAMS, str(error) if known else f"invalid params: {error}") from None


def _scope(session_id: str | None) -> Scope:
    return "global" if session_id is None else SessionScope(session_id)
