"""A cell that did not pass, told to the person who has to find out why."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trueup.core.text import visible

from ._model import Message, ToolEvent
from ._report import CellReport, report_words

LAST_MESSAGES = 8
LONGEST_TEXT = 2000
LONGEST_CALL = 200


def cell_story(cell: CellReport) -> str:
    """What went wrong in a cell, and the end of its conversation."""
    return visible("\n".join([*_reasons(cell), *_conversation(cell.transcript.messages), *_notes(cell)]))


def _reasons(cell: CellReport) -> Iterator[str]:
    if cell.error is not None:
        yield from report_words.why(cell)
    failed = [each for each in cell.evals if not each.passed]
    if failed:
        yield f"{len(failed)} of {len(cell.evals)} evals failed:"
    yield from (f"  {each.label}: {each.reason or 'no reason was given'}" for each in failed)


def _conversation(messages: list[Message]) -> Iterator[str]:
    if not messages:
        return
    left_out = len(messages) - LAST_MESSAGES
    yield ""
    yield f"the last {LAST_MESSAGES} of {len(messages)} messages:" if left_out > 0 else "the conversation:"
    for message in messages[-LAST_MESSAGES:]:
        yield from (f"  {_call(event)}" for event in message.events)
        yield f"  {message.role.value}: {_end(message.content, LONGEST_TEXT)}"


def _call(event: ToolEvent) -> str:
    if event.kind == "tool_result":
        return f"  = {_end(event.output or '', LONGEST_CALL)}"
    return f"  > {event.name} {_end(msgspec.json.encode(event.input).decode(), LONGEST_CALL)}"


def _end(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"… {text[-limit:]}"


def _notes(cell: CellReport) -> Iterator[str]:
    yield from (f"note: {note}" for note in cell.notes)
