"""OpenAI's newer language."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._reading import Call, Gathered
from ._values import arguments_of, detail, listed, number


class _OutputDelta(Struct, gc=False):
    """A piece of text by OpenAI Responses."""

    delta: str


_OUTPUT_DELTA = msgspec.json.Decoder(_OutputDelta)


class ResponsesReading(Gathered):
    """OpenAI Responses."""

    def _take_text(self, data: bytes) -> bool:
        if b'"response.output_text.delta"' not in data:
            return False
        try:
            self._say(_OUTPUT_DELTA.decode(data).delta)
        except msgspec.MsgspecError:
            return False
        return True

    def _take_event(self, event: Any) -> None:
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                self._say(text)
            case {"type": "response.output_item.done", "item": dict(item)}:
                self._hear_call(item)
            case {"type": "response.created" | "response.in_progress", "response": dict(response)}:
                self._name_model(response.get("model"))
            case {"type": "response.completed" | "response.incomplete" | "response.failed", "response": dict(response)}:
                self._name_model(response.get("model"))
                self._count(response.get("usage"))
                self._complain(response.get("error"))
                self._finished = True
            case {"type": "error"}:
                self._complain(event.get("error") or event.get("message"))

    def take_whole(self, answer: Any) -> None:
        if not isinstance(answer, dict):
            return
        self._name_model(answer.get("model"))
        self._count(answer.get("usage"))
        self._complain(answer.get("error"))
        for item in listed(answer.get("output")):
            if isinstance(item, dict):
                self._hear_call(item)
                self._hear_text(item)
        # One that runs in the background has only begun.
        self._finished = "output" in answer and answer.get("status") not in {"queued", "in_progress"}

    def _hear_text(self, item: dict[str, Any]) -> None:
        for part in listed(item.get("content")):
            match part:
                case {"type": "output_text", "text": str(text)}:
                    self._say(text)

    def _hear_call(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "function_call":
                call = Call(item.get("call_id"), item.get("name"), arguments_of(item.get("arguments")))
            case "custom_tool_call":
                call = Call(item.get("call_id"), item.get("name"), item.get("input"))
            case "local_shell_call":
                call = Call(item.get("call_id"), "local_shell", item.get("action"))
            case _:
                return
        self._calls[len(self._calls)] = call

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            details = counts.get("input_tokens_details")
            self._usage = Usage(
                input_tokens=number(counts.get("input_tokens")),
                output_tokens=number(counts.get("output_tokens")),
                cache_read_tokens=detail(details, "cached_tokens"),
                cache_write_tokens=detail(details, "cache_write_tokens"),
            )
