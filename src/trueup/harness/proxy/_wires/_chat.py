"""OpenAI's older language, which many others speak too."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._reading import Call, Gathered
from ._values import amount, detail, hashable, listed, number


class _Content(Struct, gc=False):
    content: str


class _Choice(Struct, gc=False):
    delta: _Content
    finish_reason: None = None


class _Chunk(Struct):
    """A piece of text by OpenAI Chat, and nothing else."""

    model: str
    choices: tuple[_Choice]


_CHUNK = msgspec.json.Decoder(_Chunk)


class ChatReading(Gathered):
    """OpenAI Chat Completions, and what resembles them."""

    def _take_text(self, data: bytes) -> bool:
        if any(word in data for word in (b'"tool_calls"', b'"refusal"', b'"error"', b'"usage":{', b'"usage": {')):
            return False
        try:
            chunk = _CHUNK.decode(data)
        except msgspec.MsgspecError:
            return False
        self._name_model(chunk.model)
        self._say(chunk.choices[0].delta.content)
        return True

    def _take_event(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        self._name_model(event.get("model"))
        self._count(event.get("usage"))
        self._complain(event.get("error"))
        for choice in listed(event.get("choices")):
            match choice:
                case {"delta": dict(said)} | {"message": dict(said)}:
                    self._hear(said)
                case {"text": str(text)}:
                    self._say(text)
            if isinstance(choice, dict) and choice.get("finish_reason") is not None:
                self._finished = True

    def take_whole(self, answer: Any) -> None:
        self._take_event(answer)
        # Embeddings have no choices, and no reason to finish.
        self._finished = isinstance(answer, dict) and "error" not in answer

    def _hear(self, said: dict[str, Any]) -> None:
        for text in (said.get("content"), said.get("refusal")):
            if isinstance(text, str):
                self._say(text)
        for position, call in enumerate(listed(said.get("tool_calls"))):
            match call:
                case {"function": dict(function)}:
                    index = hashable(call.get("index", position))
                    if index not in self._calls:
                        self._calls[index] = Call(call.get("id"), function.get("name"))
                    self._calls[index].add(function.get("arguments"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            details = counts.get("prompt_tokens_details")
            self._usage = Usage(
                input_tokens=number(counts.get("prompt_tokens")),
                output_tokens=number(counts.get("completion_tokens")),
                cost_usd=amount(counts.get("cost")),
                cache_read_tokens=detail(details, "cached_tokens"),
                cache_write_tokens=detail(details, "cache_write_tokens"),
            )
