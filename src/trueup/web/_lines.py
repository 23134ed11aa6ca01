"""Records as a person reads them on a page: a line, and its parts folded below it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from trueup.runs import (
    AnyRecord,
    CheckRecord,
    Ended,
    EventRecord,
    ModelTurn,
    Outlined,
    RunInfo,
    Started,
    Step,
    StoredRecord,
    Totals,
    Turn,
    as_step,
    as_text,
)

# What is shown of one part before the whole of it is asked for.
MOST_SHOWN = 2000
# A text that is not folded.
_SHORT = 300
_FEW_LINES = 6


class Part(Struct, frozen=True):
    """Something that a record has, and how many characters it is."""

    name: str
    text: str
    characters: int
    is_cut: bool


class Line(Struct, frozen=True):
    """A record of a timeline. `in_all` is what was spent until then, `left_out` the bytes of it that were not read."""

    step: Step
    said: str
    parts: tuple[Part, ...]
    in_all: str = ""
    left_out: int = 0

    @property
    def is_short(self) -> bool:
        """Whether what was said is shown at once."""
        return len(self.said) <= _SHORT and self.said.count("\n") < _FEW_LINES

    @property
    def glance(self) -> str:
        """The first words of what was said."""
        return f"{' '.join(self.said[:_SHORT].split())[:120]}…"


def as_lines(records: list[Outlined], run: RunInfo, totals: Totals | None) -> list[Line]:
    """Records as lines; what was spent before them adds up, where it is known."""
    return [_line(each, run, totals) for each in records]


def _line(outlined: Outlined, run: RunInfo, totals: Totals | None) -> Line:
    stored = outlined.stored
    step = as_step(stored, run)
    if totals is not None:
        totals.add(stored)
    in_all = totals.cost if totals is not None and step.usage is not None else ""
    said, others = told(stored.record, step.said)
    parts = tuple(_part(name, text, outlined.left_out > 0) for name, text in others.items())
    return Line(step, said, parts, in_all, outlined.left_out)


def _part(name: str, text: str, left_out: bool) -> Part:
    return Part(name, text[:MOST_SHOWN], len(text), left_out or len(text) > MOST_SHOWN)


def told(record: AnyRecord, said: str) -> tuple[str, dict[str, str]]:
    """What a record says, and what else it has, as text. Data that is said at a glance is said so that it can be read."""
    parts = {}
    for name, value in _values(record):
        if not value:
            continue
        if as_text(value) == said:
            said = readable(value)
        else:
            parts[name] = readable(value)
    return said, parts


def _values(record: AnyRecord) -> Iterator[tuple[str, Any]]:
    match record:
        case Started():
            yield "data", record.data
        case Turn():
            yield "parameters", record.parameters
            yield "output", None if record.output is UNSET else record.output
            yield "refusal", record.policy_rejected
        case ModelTurn():
            # Where a call has no more than its name, the line says it.
            yield "tool calls", [each for each in record.requested_tool_calls if set(each) - {"name"}]
        case CheckRecord():
            yield "result", record.result
        case EventRecord():
            yield "data", record.data if set(record.data) - {"text"} else None
        case Ended():
            yield "outcome", record.outcome
            yield "termination", record.termination


def readable(value: Any) -> str:
    """Data as text: fields as lines, so that a text of several lines stays one."""
    match value:
        case str():
            return value
        case dict():
            return "\n".join(_field(name, each) for name, each in value.items())
    return _json(value)


def _field(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"
    return f"{name}: {_json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def whole_text(stored: StoredRecord) -> str:
    """A record with everything that it has."""
    return _json(msgspec.to_builtins(stored))
