"""How a turn of an ACP agent ended: by its stop reason, by an error of JSON-RPC, or by saying nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from trueup.core.errors import Kind
from trueup.core.usage import Usage

from ..agents import Failure, failure
from ._named import AcpAgent
from ._updates import Updates

T = TypeVar("T")
# An agent that took something back could use as much as it likes.
_Tokens = Annotated[int, Meta(ge=0)]

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
# A method or parameters that the agent does not know: it speaks another protocol than it said.
MISUNDERSTOOD = (-32600, -32601, -32602, -32700)

_REASONS = {
    "max_tokens": Failure("the model stopped at its limit of tokens", Kind.CONTEXT_LENGTH),
    "max_turn_requests": Failure("the agent stopped at its limit of calls in one turn", Kind.OTHER),
    "refusal": Failure("the model refused to go on", Kind.REFUSED),
}


def failure_of_error(code: int, message: str, data: Any) -> Failure:
    """What an error of JSON-RPC means: by its code, where that is the protocol's or one of HTTP, then by its words."""
    said = _said_in(message)
    detail = data if isinstance(data, str) else _detail(data)
    whole = f"{said}: {detail}" if detail and detail not in said else said
    # Where nobody was reached, there is no status but one that the agent has for whatever fails.
    worded = failure(whole)
    told = worded if worded.kind is Kind.NETWORK else failure(whole, status=code if 400 <= code < 600 else None)
    if told.kind is not Kind.OTHER:
        return told
    if code == AUTH_REQUIRED:
        return Failure(whole, Kind.AUTH)
    if code in MISUNDERSTOOD:
        return Failure(whole, Kind.PROTOCOL)
    # A last resort: some hand on what the vendor said with nothing but its status in it.
    return Failure(whole, failure(f"status {_last_number(whole)}").kind)


def failure_of_reason(reason: str, updates: Updates, *, was_denied: bool, is_counted: bool) -> Failure | None:
    """Why a turn that came to its end did not succeed; None where it did."""
    if reason == "cancelled":
        if was_denied:
            return Failure("the agent gave its turn up because it was denied something", Kind.REFUSED)
        return Failure("the agent gave its turn up", Kind.OTHER)
    return _REASONS.get(reason) or _silent_failure(updates, is_counted=is_counted)


def _silent_failure(updates: Updates, *, is_counted: bool) -> Failure | None:
    """A failure behind a turn that ended as if nothing had happened."""
    marker = next((each for each in updates.agent.error_remarks if updates.remark.startswith(each)), None)
    if marker and not is_counted:
        return failure(updates.remark.removeprefix(marker))
    if updates.is_broken:
        return failure(updates.text)
    if not updates.text.strip() and not updates.used_tools:
        return Failure("the agent ended its turn without a word and without using a tool", Kind.PROTOCOL)
    return None


def usage_of(
    told: Mapping[str, Any] | None, meta: Mapping[str, Any] | None, cost_usd: float | None, agent: AcpAgent
) -> Usage:
    """What a turn used, as far as the agent tells it."""
    counted = _converted(told, _Usage) or _converted(_inner(_inner(meta, "quota"), "token_count"), _Quota) or _Usage()
    # An agent that was interrupted tells zeros for what it did not count, and of a price that it does not know too.
    if not (counted.input_tokens or counted.output_tokens):
        return Usage(cost_usd=cost_usd or None, incomplete=True)
    return Usage(
        input_tokens=_with_cached(counted),
        output_tokens=counted.output_tokens,
        cost_usd=cost_usd or None,
        cache_read_tokens=counted.cached_read_tokens,
        cache_write_tokens=counted.cached_write_tokens,
        incomplete=agent.counts_last_call,
    )


class _Usage(Struct, rename="camel"):
    total_tokens: _Tokens | None = None
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cached_read_tokens: _Tokens | None = None
    cached_write_tokens: _Tokens | None = None


class _Quota(Struct):
    """What gemini tells instead."""

    total_tokens: _Tokens | None = None
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cached_read_tokens: _Tokens | None = None
    cached_write_tokens: _Tokens | None = None


def _with_cached(counted: _Usage | _Quota) -> int | None:
    """What the model was given, from a cache or not: some agents count the one beside the other."""
    given = counted.input_tokens or 0
    cached = (counted.cached_read_tokens or 0) + (counted.cached_write_tokens or 0)
    is_beside = (counted.total_tokens or 0) >= given + (counted.output_tokens or 0) + cached
    return given + cached if is_beside else counted.input_tokens


def _converted(told: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(told, kind) if told else None
    except msgspec.ValidationError:
        return None


def _inner(outer: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    value = (outer or {}).get(name)
    return value if isinstance(value, dict) else None


def _said_in(message: str) -> str:
    """What an answer of a vendor says that an agent hands on whole, as JSON; else the message itself."""
    try:
        said = msgspec.json.decode(message.encode(errors="replace"))["error"]["message"]
    except (msgspec.MsgspecError, RecursionError, LookupError, TypeError):
        return message
    return said if isinstance(said, str) else message


def _detail(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    told = next((data[name] for name in ("details", "detail", "message", "error", "reason") if name in data), "")
    return told if isinstance(told, str) else ""


def _last_number(said: str) -> str:
    return next((word for word in reversed(said.split()) if word.isdecimal()), "")
