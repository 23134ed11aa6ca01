"""A judge's verdict: found in whatever a model wrote around it, then held to the type and the scale that were asked for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from trueup.core.errors import Kind
from trueup.core.text import written

from .._model import Judgement, ProviderError, Query, QueryKind
from ._prompts import plain_number, scale_of

QUOTED_CHARACTERS = 500

# More than any verdict needs; a reply that rambles on must not cost quadratic time, and may have its verdict anywhere.
MOST_CHARACTERS = 1 << 18
MOST_CANDIDATES = 200

_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_VALUE = re.compile(r'"value"\s*:\s*([^\s,}]*)')
_NEAR = 1000
_DEEPEST = 4


def parse_verdict(text: str, query: Query, context: str) -> Judgement:
    """The verdict in a judge's reply; a `ProviderError` where there is none, or several that contradict each other.

    Of several objects, the first with a `value` counts, and another one with a different value makes it void, also
    where that one is not JSON: a judge that quotes a verdict out of the transcript must not be taken at its word.
    """
    if len(text) > MOST_CHARACTERS:
        raise _error(context, f"the judge said {len(text):,} characters, too much to find a verdict in: {quoted(text)}")
    found, unread = _verdicts(text, context)
    if not found:
        raise _error(context, f"the judge gave no JSON object with a `value`: {quoted(text)}")
    first = found[0]
    said = _told(first["value"])
    if any(not _same(other["value"], first["value"]) for other in found[1:]) or not all(map(said.startswith, unread)):
        raise _error(context, f"the judge gave several verdicts that differ: {quoted(text)}")
    return verdict_of(first, query, context)


def verdict_of(answer: dict[str, Any], query: Query, context: str) -> Judgement:
    """A verdict by its object, held to what was asked: `true` is no number, 3 is no boolean, 11 is not on 0 to 10."""
    if "value" not in answer:
        raise _error(context, "the judge's verdict has no `value`")
    value, reason = answer["value"], answer.get("reason")
    reason = written(reason) if isinstance(reason, str) else ""
    if query.kind is QueryKind.BOOLEAN:
        if not isinstance(value, bool):
            raise _error(context, f"the judge was asked for true or false and said {_told(value)}")
        return Judgement(value=value, reason=reason)
    return Judgement(value=_score(value, query, context), reason=reason)


def quoted(text: str) -> str:
    """The beginning of what a judge said, for a message."""
    return written(text.strip()[:QUOTED_CHARACTERS]) or "nothing"


def _score(value: Any, query: Query, context: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _error(context, f"the judge was asked for a number and said {_told(value)}")
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise _error(context, "the judge was asked for a number and gave one that is not finite")
    least, most = scale_of(query)
    if not least <= score <= most:
        scale = f"{plain_number(least)} to {plain_number(most)}"
        raise _error("judge", f"the judge gave {plain_number(score)} on a scale from {scale}")
    return score


def _verdicts(text: str, context: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Every outermost object that is a verdict or has one inside, in order; and the values of those that are not JSON."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    unread: list[str] = []
    end = 0
    for count, start in enumerate(_OBJECT_START.finditer(text)):
        if count == MOST_CANDIDATES:
            raise _error(context, f"the judge gave more than {MOST_CANDIDATES} objects: {quoted(text)}")
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            claim = _VALUE.search(text, start.start(), start.start() + _NEAR)
            unread += [claim[1]] if claim else []
            continue
        found += _with_value(value)
    return found, unread


def _with_value(found: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if not isinstance(found, dict) or depth > _DEEPEST:
        return
    if "value" in found:
        yield found
        return
    for inner in found.values():
        yield from _with_value(inner, depth + 1)


def _same(mine: Any, theirs: Any) -> bool:
    # For Python, True is 1; for a judge it is not.
    return isinstance(mine, bool) == isinstance(theirs, bool) and bool(mine == theirs)


def _told(value: Any) -> str:
    return json.dumps(value, default=str)[:QUOTED_CHARACTERS]


def _error(context: str, message: str) -> ProviderError:
    return ProviderError(context, message, kind=Kind.PROTOCOL)
