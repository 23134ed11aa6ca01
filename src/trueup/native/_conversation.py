"""Keeping a conversation within bounds: what one tool may say, and what becomes of it when it is old."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from trueup.model import Message, ToolOutput

# About ten pages, of which the end usually matters more than the beginning.
OUTPUT_CHARS = 24_000
HEAD_CHARS = 8_000

# About 60 000 tokens: less than half of any window, and folding is rare, since it makes a vendor's cache useless.
FOLD_ABOVE_CHARS = 240_000
KEPT_TURNS = 6
SHORT_CHARS = 600
BEGINNING_CHARS = 200


def shortened(text: str) -> str:
    """The beginning and the end of a long text, and how much is missing."""
    if len(text) <= OUTPUT_CHARS:
        return text
    return joined(text[:HEAD_CHARS], text[HEAD_CHARS - OUTPUT_CHARS :], f"{len(text) - OUTPUT_CHARS} characters")


def joined(head: str, tail: str, missing: str) -> str:
    """A beginning and an end with a word about what was between them."""
    return f"{head}\n[... {missing} left out here: only the beginning and the end are shown ...]\n{tail}"


def folded_where_long(messages: Sequence[Message]) -> list[Message]:
    """The conversation with old tool output folded, once it has grown too long."""
    return folded(messages, KEPT_TURNS) if _size(messages) > FOLD_ABOVE_CHARS else list(messages)


def folded(messages: Sequence[Message], kept_turns: int) -> list[Message]:
    """The conversation with all long tool output folded but that of the last turns."""
    turns = [number for number, message in enumerate(messages) if message.tool_results]
    old = set(turns[: max(0, len(turns) - kept_turns)])
    result: list[Message] = []
    rewritten = False
    for number, message in enumerate(messages):
        # A vendor's seal is of the conversation as it was; after a turn that was rewritten it would be refused.
        message = message.plain if rewritten else message  # noqa: PLW2901
        if number in old and any(_is_long(each) for each in message.tool_results):
            message = replace(message, tool_results=[_fold(each) for each in message.tool_results])  # noqa: PLW2901
            rewritten = True
        result.append(message)
    return result


def _is_long(output: ToolOutput) -> bool:
    return len(output.text) > SHORT_CHARS


def _fold(output: ToolOutput) -> ToolOutput:
    if not _is_long(output):
        return output
    began = output.text[:BEGINNING_CHARS].rstrip()
    return replace(
        output, text=f"{began}\n[... folded: {len(output.text)} characters; call again if you need them ...]"
    )


def _size(messages: Sequence[Message]) -> int:
    return sum(
        len(message.text)
        + sum(len(result.text) for result in message.tool_results)
        + sum(len(msgspec.json.encode(call.input)) for call in message.tool_calls)
        for message in messages
    )
