"""Evals of what the skill said: a text in it, a pattern, JSON."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import UNSET

from trueup.core.errors import InputError
from trueup.core.text import writable

from .._case import Contains, JsonEval, Matches
from .._matching import json_equal, pattern_found
from .._nesting import is_nested_deeper
from .._report import SeenDetail
from ._bounds import cut
from ._evidence import Evidence, Finding

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

SHOWN = 300
MOST_LEVELS = 200
TOO_DEEP = "The last reply is JSON that is nested too deep to be looked at."
MOST_SCHEMA_ERRORS = 3
_PATTERN_BYTES = 1 << 20
_FENCE = re.compile(r"`{3,}|~{3,}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def contains(eval_: Contains, evidence: Evidence) -> Finding:
    """Look for a text in the last reply, or in any."""
    sought = eval_.text.casefold() if eval_.ignore_case else eval_.text
    texts = [text.casefold() if eval_.ignore_case else text for text in _looked_at(eval_.message, evidence)]
    return _found(any(sought in text for text in texts), eval_, f"{eval_.text!r}", "contain")


def matches(eval_: Matches, evidence: Evidence) -> Finding:
    """Look for a pattern in the last reply, or in any."""
    found = any(pattern_found(eval_.pattern, text) for text in _looked_at(eval_.message, evidence))
    return _found(found, eval_, f"{eval_.pattern!r}", "match")


def is_json(eval_: JsonEval, evidence: Evidence) -> Finding:
    """Read the last reply as JSON, and look at a part of it."""
    reply = evidence.replies[-1] if evidence.replies else ""
    expected = _expected(eval_)
    try:
        part = _at(eval_.pointer, parsed(reply))
    except _NotThereError as error:
        return Finding(passed=False, detail=SeenDetail(value=None, expected=expected), reason=str(error))
    where = f"The value at {eval_.pointer!r}" if eval_.pointer else "The reply"
    reason = _complaint(eval_, part, where)
    told = reason or f"{where} is JSON{_praise(eval_)}."
    return Finding(passed=reason is None, detail=SeenDetail(value=brief(part), expected=expected), reason=told)


def parsed(reply: str) -> Any:
    """The JSON that a reply is, bare or in one code fence."""
    text = reply.strip()
    try:
        value = json.loads(_unfenced(text), parse_constant=_refuse_constant)
    except RecursionError:
        raise _NotThereError(TOO_DEEP) from None
    except ValueError as error:
        raise _NotThereError(f"The last reply is not JSON ({error}): {cut(text, SHOWN)!r}") from None
    if is_nested_deeper(value, MOST_LEVELS):
        raise _NotThereError(TOO_DEEP)
    return writable(value)


def brief(value: Any) -> Any:
    """A value that can stand in a report, as a text of its beginning and end where it is large."""
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= SHOWN else cut(text, SHOWN)


def _unfenced(text: str) -> str:
    """What stands in the code fence that a text is; else the text."""
    fence = _FENCE.match(text)
    _, _, body = text.partition("\n")
    return body.removesuffix(fence[0]) if fence and body.endswith(fence[0]) else text


class _NotThereError(Exception):
    """There is no such JSON."""


def _looked_at(which: str, evidence: Evidence) -> list[str]:
    return evidence.replies if which == "any" else evidence.replies[-1:]


def _found(found: bool, eval_: Contains | Matches, what: str, verb: str) -> Finding:
    who = "The last reply" if eval_.message == "last" else "A reply" if found else "No reply"
    negated = not found and eval_.message == "last"
    told = f"{who} does not {verb} {what}." if negated else f"{who} {verb}{'es' if verb == 'match' else 's'} {what}."
    return Finding(passed=found is eval_.expected, detail=SeenDetail(value=found, expected=eval_.expected), reason=told)


def _at(pointer: str, document: Any) -> Any:
    """What a JSON Pointer (RFC 6901) leads to."""
    if not pointer:
        return document
    if not pointer.startswith("/"):
        raise InputError(f"json.pointer: {pointer!r} is no JSON Pointer; begin it with '/'")
    value = document
    for word in pointer[1:].split("/"):
        name = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise _NotThereError(f"The reply is JSON, and nothing is at {pointer!r} (no {name!r}).")
    return value


def _expected(eval_: JsonEval) -> Any:
    if eval_.equals is not UNSET:
        return eval_.equals
    return "JSON" if eval_.schema is None else "JSON that fits the schema"


def _complaint(eval_: JsonEval, part: Any, where: str) -> str | None:
    """What is wrong with a value, as a sentence."""
    if eval_.equals is not UNSET and not json_equal(part, eval_.equals):
        return f"{where} is {_quoted(part)} and not {_quoted(eval_.equals)}."
    errors = [] if eval_.schema is None else _schema_errors(eval_.schema, part)
    return f"{where} does not fit the schema: {'; '.join(errors)}." if errors else None


def _praise(eval_: JsonEval) -> str:
    praise = "" if eval_.equals is UNSET else f" and is {_quoted(eval_.equals)}"
    return praise if eval_.schema is None else f"{praise} and fits the schema"


def _quoted(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False), SHOWN)


def _schema_errors(schema: dict[str, Any], value: Any) -> list[str]:
    # Here, so that a cell without schemas does not load it.
    import jsonschema_rs

    limits = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES)
    try:
        validator = jsonschema_rs.validator_for(schema, pattern_options=limits, retriever=_fetch_nothing)
    except jsonschema_rs.ValidationError as error:
        raise InputError(f"json.schema: cannot be used: {cut(error.message, SHOWN)}") from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InputError(f"json.schema: cannot be used: {cut(str(error), SHOWN)}") from None
    return [_schema_error(each) for each in islice(validator.iter_errors(value), MOST_SCHEMA_ERRORS)]


def _schema_error(error: ValidationError) -> str:
    place = "".join(f"/{word}" for word in error.instance_path)
    return f"{place or 'the whole'}: {cut(error.message, SHOWN)}"


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
