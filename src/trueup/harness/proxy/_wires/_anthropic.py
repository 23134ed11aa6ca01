"""Anthropic's language."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._reading import Call, Gathered
from ._values import hashable, number


class _Words(Struct, gc=False):
    text: str


class _TextDelta(Struct, gc=False):
    """A piece of text by Anthropic."""

    delta: _Words


_TEXT_DELTA = msgspec.json.Decoder(_TextDelta)


class AnthropicReading(Gathered):
    """Anthropic Messages."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, Any] = {}

    def _take_text(self, data: bytes) -> bool:
        # Inside of a text the quotes would be escaped.
        if b'"text_delta"' not in data:
            return False
        try:
            self._say(_TEXT_DELTA.decode(data).delta.text)
        except msgspec.MsgspecError:
            return False
        return True

    def _take_event(self, event: Any) -> None:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._say(text)
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": piece}}:
                if call := self._calls.get(hashable(index)):
                    call.add(piece)
            case {"type": "content_block_start", "index": index, "content_block": dict(block)}:
                self._begin_block(index, block)
            case {"type": "message_start", "message": dict(message)}:
                self._name_model(message.get("model"))
                self._count(message.get("usage"))
            case {"type": "message_delta"}:
                # Its counts are totals: they replace those of the beginning.
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self._finished = True
            case {"type": "error"}:
                self._complain(event.get("error"))

    def take_whole(self, answer: Any) -> None:
        match answer:
            case {"type": "error"}:
                self._complain(answer.get("error"))
            case {"content": list(blocks)}:
                self._name_model(answer.get("model"))
                self._count(answer.get("usage"))
                for index, block in enumerate(blocks):
                    self._begin_block(index, block)
                self._finished = True

    def _begin_block(self, index: object, block: Any) -> None:
        match block:
            case {"type": "text", "text": str(text)}:
                self._say(text)
            case {"type": "tool_use"}:
                self._calls[hashable(index)] = Call(block.get("id"), block.get("name"), block.get("input"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            self._counts.update({name: count for name, count in counts.items() if count is not None})
        self._usage = Usage(
            input_tokens=number(self._counts.get("input_tokens")),
            output_tokens=number(self._counts.get("output_tokens")),
            cache_read_tokens=number(self._counts.get("cache_read_input_tokens")),
            cache_write_tokens=number(self._counts.get("cache_creation_input_tokens")),
        )
