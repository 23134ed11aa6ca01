"""What a client keeps here by key: proposals read and write it. It ends with the connection."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .._method import Call, method


class Tenant(Struct, frozen=True):
    """Whose state; without a tenant, the client's own."""

    tenant: str | None = None


class Key(Struct, frozen=True):
    """A key, and whose."""

    key: str
    tenant: str | None = None


class KeyAndValue(Struct, frozen=True):
    """A key and what to keep there."""

    key: str
    value: Any
    tenant: str | None = None


@method("state.set")
async def set_value(call: Call, params: KeyAndValue) -> Any:
    """Keep a value; the value."""
    call.connection.state(params.tenant)[params.key] = params.value
    return params.value


@method("state.get")
async def get_value(call: Call, params: Key) -> Any:
    """The value of a key; null where there is none."""
    return call.connection.state(params.tenant).get(params.key)


@method("state.exists")
async def exists(call: Call, params: Key) -> bool:
    """Whether a key has a value."""
    return params.key in call.connection.state(params.tenant)


@method("state.keys")
async def keys(call: Call, params: Tenant) -> list[str]:
    """Every key, sorted."""
    return sorted(call.connection.state(params.tenant))


@method("state.snapshot")
async def snapshot(call: Call, params: Tenant) -> dict[str, Any]:
    """Everything that is kept."""
    return call.connection.state(params.tenant)
