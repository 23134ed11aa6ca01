"""What programs say about a turn besides its text, read with patience: what cannot be read is unknown, and never zero."""

from __future__ import annotations

import json
from typing import Any

from trueup.core.text import writable
from trueup.core.usage import Usage
from trueup.harness import ToolKind, tool_kind

from .._model import ToolEvent
from .._nesting import is_nested_deeper

# No set: what a program says here need not be hashable.
EVENT_KINDS = ("tool_call", "tool_result")
MOST_NESTED = 100
# Beyond this it is a mistake of whoever counts, and sums of it would end in infinity.
MOST_AMOUNT = 1e15
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_OUTCOMES = {"completed": True} | dict.fromkeys(("failed", "timeout", "interrupted"), False)


def read_json(text: str) -> Any:
    """What a program printed, as plain data that can be written again; a `ValueError` where it is none."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if is_nested_deeper(value, MOST_NESTED):
        raise ValueError(f"it is nested more than {MOST_NESTED} deep")
    return writable(value)


def read_usage(told: Any) -> Usage | None:
    """What a call used; None where nothing of it can be known."""
    if not isinstance(told, dict):
        return None
    amounts: dict[str, Any] = {name: _count(told.get(name)) for name in _TOKENS}
    amounts["cost_usd"] = _amount(told.get("cost_usd"))
    return None if all(amount is None for amount in amounts.values()) else Usage(**amounts)


def read_events(told: Any) -> tuple[ToolEvent, ...]:
    """The tool calls and results of a turn, in order; other things that programs tell of are not among them."""
    if not isinstance(told, list):
        return ()
    return tuple(
        _event(event, number)
        for number, event in enumerate(told)
        if isinstance(event, dict) and event.get("kind") in EVENT_KINDS
    )


def _event(told: dict[str, Any], number: int) -> ToolEvent:
    index, ok, kind = told.get("index"), told.get("ok"), told.get("tool_kind")
    name = _text(told.get("name")) or ""
    return ToolEvent(
        kind=told["kind"],
        name=name,
        input=told.get("input"),
        output=_text(told.get("output")),
        index=index if isinstance(index, int) and not isinstance(index, bool) else number,
        id=_text(told.get("id") or told.get("tool_call_id")) or "",
        tool_kind=kind if kind in list(ToolKind) else tool_kind(name).value,
        ok=ok if isinstance(ok, bool) else _outcome(told),
    )


def _outcome(told: dict[str, Any]) -> bool | None:
    status = told.get("status")
    return _OUTCOMES.get(status) if told["kind"] == "tool_result" and isinstance(status, str) else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _count(value: Any) -> int | None:
    amount = _amount(value)
    return None if amount is None or not amount.is_integer() else int(amount)


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if 0 <= amount <= MOST_AMOUNT else None
