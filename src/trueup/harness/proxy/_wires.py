"""What answers say in each vendor's language: text, tool calls, usage. Pure readers of decoded JSON; none may raise."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage


class Heard(Struct, frozen=True):
    """What an answer said. `finished` says that it came to its own end."""

    model: str | None = None
    text: str = ""
    tool_calls: list[dict[str, Any]] = []
    usage: Usage = Usage()
    finished: bool = False
    error: str = ""


class Reading(Protocol):
    """Reads one answer: event by event where it is streamed, or all at once."""

    def take(self, data: bytes) -> None: ...

    def take_whole(self, answer: Any) -> None: ...

    def heard(self) -> Heard: ...


class _Words(Struct, gc=False):
    text: str


class _TextDelta(Struct, gc=False):
    """A piece of text by Anthropic."""

    delta: _Words


class _OutputDelta(Struct, gc=False):
    """A piece of text by OpenAI Responses."""

    delta: str


class _Content(Struct, gc=False):
    content: str


class _Choice(Struct, gc=False):
    delta: _Content
    finish_reason: None = None


class _Chunk(Struct):
    """A piece of text by OpenAI Chat, and nothing else."""

    model: str
    choices: tuple[_Choice]


_TEXT_DELTA = msgspec.json.Decoder(_TextDelta)
_OUTPUT_DELTA = msgspec.json.Decoder(_OutputDelta)
_CHUNK = msgspec.json.Decoder(_Chunk)


class _Gathered:
    """What the readers have in common: parts that come one by one."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._texts: list[str] = []
        self._calls: dict[object, _Call] = {}
        self._usage = Usage()
        self._finished = False
        self._error = ""

    def heard(self) -> Heard:
        calls = [call.told() for call in self._calls.values()]
        return Heard(self._model, "".join(self._texts), calls, self._usage, self._finished, self._error)

    def take(self, data: bytes) -> None:
        """One event as it was sent. Most are a few words of text: those are read by a decoder that knows their form."""
        if not self._take_text(data):
            self._take_event(decoded(data))

    def _take_text(self, data: bytes) -> bool:
        """Whether it was only a piece of text, and has been taken."""
        return False

    def _take_event(self, event: Any) -> None:
        raise NotImplementedError

    def _name_model(self, model: Any) -> None:
        if isinstance(model, str) and model:
            self._model = model

    def _complain(self, error: Any) -> None:
        match error:
            case {"message": str(message)}:
                self._error = message
            case str():
                self._error = error
            case None:
                pass
            case _:
                self._error = msgspec.json.encode(error).decode()


class _Call:
    """A tool call whose arguments may come in pieces."""

    def __init__(self, id_: Any, name: Any, arguments: Any = None) -> None:
        self._id = id_ if isinstance(id_, str) else ""
        self._name = name if isinstance(name, str) else ""
        self._arguments = arguments
        self._pieces: list[str] = []

    def add(self, piece: Any) -> None:
        if isinstance(piece, str):
            self._pieces.append(piece)

    def told(self) -> dict[str, Any]:
        arguments = self._arguments
        if self._pieces:
            arguments = _decoded("".join(self._pieces))
        return {"id": self._id, "name": self._name, "arguments": {} if arguments is None else arguments}


class AnthropicReading(_Gathered):
    """Anthropic Messages."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, Any] = {}

    def _take_text(self, data: bytes) -> bool:
        # Inside of a text the quotes would be escaped.
        if b'"text_delta"' not in data:
            return False
        try:
            self._texts.append(_TEXT_DELTA.decode(data).delta.text)
        except msgspec.MsgspecError:
            return False
        return True

    def _take_event(self, event: Any) -> None:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._texts.append(text)
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": piece}}:
                if call := self._calls.get(_hashable(index)):
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
                self._texts.append(text)
            case {"type": "tool_use"}:
                self._calls[_hashable(index)] = _Call(block.get("id"), block.get("name"), block.get("input"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            self._counts.update({name: count for name, count in counts.items() if count is not None})
        self._usage = Usage(
            input_tokens=_number(self._counts.get("input_tokens")),
            output_tokens=_number(self._counts.get("output_tokens")),
            cache_read_tokens=_number(self._counts.get("cache_read_input_tokens")),
            cache_write_tokens=_number(self._counts.get("cache_creation_input_tokens")),
        )


class ChatReading(_Gathered):
    """OpenAI Chat Completions, and what resembles them."""

    def _take_text(self, data: bytes) -> bool:
        if any(word in data for word in (b'"tool_calls"', b'"refusal"', b'"error"', b'"usage":{', b'"usage": {')):
            return False
        try:
            chunk = _CHUNK.decode(data)
        except msgspec.MsgspecError:
            return False
        self._name_model(chunk.model)
        self._texts.append(chunk.choices[0].delta.content)
        return True

    def _take_event(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        self._name_model(event.get("model"))
        self._count(event.get("usage"))
        self._complain(event.get("error"))
        for choice in _listed(event.get("choices")):
            match choice:
                case {"delta": dict(said)} | {"message": dict(said)}:
                    self._hear(said)
                case {"text": str(text)}:
                    self._texts.append(text)
            if isinstance(choice, dict) and choice.get("finish_reason") is not None:
                self._finished = True

    def take_whole(self, answer: Any) -> None:
        self._take_event(answer)
        # Embeddings have no choices, and no reason to finish.
        self._finished = isinstance(answer, dict) and "error" not in answer

    def _hear(self, said: dict[str, Any]) -> None:
        for text in (said.get("content"), said.get("refusal")):
            if isinstance(text, str):
                self._texts.append(text)
        for position, call in enumerate(_listed(said.get("tool_calls"))):
            match call:
                case {"function": dict(function)}:
                    index = _hashable(call.get("index", position))
                    if index not in self._calls:
                        self._calls[index] = _Call(call.get("id"), function.get("name"))
                    self._calls[index].add(function.get("arguments"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            details = counts.get("prompt_tokens_details")
            self._usage = Usage(
                input_tokens=_number(counts.get("prompt_tokens")),
                output_tokens=_number(counts.get("completion_tokens")),
                cost_usd=_amount(counts.get("cost")),
                cache_read_tokens=_detail(details, "cached_tokens"),
                cache_write_tokens=_detail(details, "cache_write_tokens"),
            )


class ResponsesReading(_Gathered):
    """OpenAI Responses."""

    def _take_text(self, data: bytes) -> bool:
        if b'"response.output_text.delta"' not in data:
            return False
        try:
            self._texts.append(_OUTPUT_DELTA.decode(data).delta)
        except msgspec.MsgspecError:
            return False
        return True

    def _take_event(self, event: Any) -> None:
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                self._texts.append(text)
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
        for item in _listed(answer.get("output")):
            if isinstance(item, dict):
                self._hear_call(item)
                self._hear_text(item)
        # One that runs in the background has only begun.
        self._finished = "output" in answer and answer.get("status") not in {"queued", "in_progress"}

    def _hear_text(self, item: dict[str, Any]) -> None:
        for part in _listed(item.get("content")):
            match part:
                case {"type": "output_text", "text": str(text)}:
                    self._texts.append(text)

    def _hear_call(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "function_call":
                call = _Call(item.get("call_id"), item.get("name"), _decoded(item.get("arguments")))
            case "custom_tool_call":
                call = _Call(item.get("call_id"), item.get("name"), item.get("input"))
            case "local_shell_call":
                call = _Call(item.get("call_id"), "local_shell", item.get("action"))
            case _:
                return
        self._calls[len(self._calls)] = call

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            details = counts.get("input_tokens_details")
            self._usage = Usage(
                input_tokens=_number(counts.get("input_tokens")),
                output_tokens=_number(counts.get("output_tokens")),
                cache_read_tokens=_detail(details, "cached_tokens"),
                cache_write_tokens=_detail(details, "cache_write_tokens"),
            )


class GeminiReading(_Gathered):
    """Gemini."""

    def _take_event(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        self._name_model(event.get("modelVersion"))
        self._count(event.get("usageMetadata"))
        self._complain(event.get("error"))
        for candidate in _listed(event.get("candidates")):
            match candidate:
                case {"content": {"parts": list(parts)}}:
                    for part in parts:
                        self._hear(part)
            if isinstance(candidate, dict) and candidate.get("finishReason"):
                self._finished = True

    def take_whole(self, answer: Any) -> None:
        for each in answer if isinstance(answer, list) else [answer]:
            self._take_event(each)

    def _hear(self, part: Any) -> None:
        match part:
            case {"thought": True}:
                pass
            case {"text": str(text)}:
                self._texts.append(text)
            case {"functionCall": dict(call)}:
                self._calls[len(self._calls)] = _Call(call.get("id"), call.get("name"), call.get("args"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            said, thought = (_number(counts.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
            self._usage = Usage(
                input_tokens=_number(counts.get("promptTokenCount")),
                output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
                cache_read_tokens=_number(counts.get("cachedContentTokenCount")),
            )


def decoded(data: bytes) -> Any:
    """JSON, or None where it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _decoded(text: Any) -> Any:
    """Arguments as JSON, or as they are where they are none."""
    if not isinstance(text, str):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return text


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _detail(details: Any, name: str) -> int | None:
    return _number(details.get(name)) if isinstance(details, dict) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _hashable(value: object) -> object:
    return value if isinstance(value, int | str) else str(value)
