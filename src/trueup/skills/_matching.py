"""Whether values are what a case says: equality as JSON means it, patterns, and arguments of tool calls."""

from __future__ import annotations

from typing import Any

from trueup.core.errors import InputError
from trueup.core.regex import compile_regex
from trueup.runs import encode_json

from ._case import Match, Predicate, Predicates

_SHOWN = 100


def json_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1 but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other)


def pattern_found(pattern: str, text: str) -> bool:
    """Whether an RE2 pattern matches somewhere; its time is linear in the text."""
    try:
        compiled = compile_regex(pattern)
    except InputError as error:
        raise InputError(f"pattern {pattern[:_SHOWN]!r}: {error}") from None
    return compiled.search(text.encode(errors="replace")) is not None


def arguments_match(wanted: Predicates, given: Any) -> bool:
    """Whether a tool call was given every argument that is wanted, as it is wanted."""
    if not wanted:
        return True
    if not isinstance(given, dict):
        return False
    return all(name in given and _holds(predicate, given[name]) for name, predicate in wanted.items())


def call_matches(match: Match, tool: str, arguments: Any) -> bool:
    """Whether a tool call is one of those that are meant."""
    if match.tool is not None and match.tool.casefold() != tool.casefold():
        return False
    as_text = _json({"tool_name": tool} if arguments is None else {"tool_name": tool, "tool_input": arguments})
    if match.contains is not None and match.contains not in as_text:
        return False
    if match.pattern is not None and not pattern_found(match.pattern, as_text):
        return False
    return arguments_match(match.input, arguments)


def _holds(wanted: str | float | bool | Predicate, value: Any) -> bool:
    if not isinstance(wanted, Predicate):
        return _equals(wanted, value)
    text = value if isinstance(value, str) else _json(value)
    return (
        (wanted.equals is None or _equals(wanted.equals, value))
        and (wanted.contains is None or wanted.contains in text)
        and (wanted.pattern is None or pattern_found(wanted.pattern, text))
    )


def _equals(wanted: Any, value: Any) -> bool:
    # skilltest compares what is no text by its JSON, so a case may say "3" where the agent said 3.
    return json_equal(wanted, value) or (isinstance(wanted, str) and wanted == _json(value))


def _json(value: Any) -> str:
    return encode_json(value).decode()
