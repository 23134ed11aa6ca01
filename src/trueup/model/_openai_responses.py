"""OpenAI's Responses API: the only one over which its reasoning models use tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._errors import Complaint
from ._openai_chat import json_schema, result_text
from ._request import Message, Native, Request, Role
from ._structured import asked_in_words
from ._target import Target
from ._wire import Arguments, Turn, of_type, replayed, tool_use

_INCOMPLETE = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


class _InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None


class _Part(Struct):
    type: str
    text: str = ""
    refusal: str = ""


class _Said(Struct):
    content: list[_Part] | None = None


class _Call(Struct):
    call_id: str
    name: str
    arguments: str = ""


class _Incomplete(Struct):
    reason: str | None = None


class _Error(Struct):
    message: str = ""
    code: str | None = None


class _Body(Struct):
    output: list[dict[str, Any]]
    model: str | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    error: _Error | None = None
    usage: _Usage | None = None


class OpenAIResponses:
    """`POST /responses`, without streaming and with nothing kept at the vendor's."""

    library = "openai"
    name = "openai-responses"

    def arguments(self, request: Request, target: Target, *, native_schema: bool) -> Arguments:
        arguments: Arguments = {
            "model": target.model,
            "input": [item for message in request.messages for item in self._items(message, target)],
            "max_output_tokens": request.max_tokens,
            "store": False,
            # Nothing is kept there, so the reasoning has to come along, sealed.
            "include": ["reasoning.encrypted_content"],
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ],
        }
        system = request.system
        if request.schema is not None and native_schema:
            arguments["text"] = {"format": {"type": "json_schema", **json_schema(request)}}
        elif request.schema is not None:
            system = asked_in_words(system, request.schema)
        if system:
            arguments["instructions"] = system
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        return arguments

    def _items(self, message: Message, target: Target) -> Iterator[Any]:
        if said := replayed(message.native, self.name, target):
            yield from said
            return
        for result in message.tool_results:
            yield {
                "type": "function_call_output",
                "call_id": result.id,
                "output": result_text(result.text, ok=result.ok),
            }
        if message.text:
            yield {"role": str(message.role), "content": message.text}
        for call in message.tool_calls if message.role is Role.ASSISTANT else ():
            arguments = msgspec.json.encode(call.input).decode()
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}

    async def send(self, client: Any, arguments: Arguments) -> bytes:
        response = await client.responses.with_raw_response.create(**arguments)
        body: bytes = response.http_response.content
        return body

    def read(self, body: bytes, target: Target) -> Turn:
        answer = msgspec.json.decode(body, type=_Body)
        said = msgspec.convert(of_type(answer.output, "message"), list[_Said])
        asked = msgspec.convert(of_type(answer.output, "function_call"), list[_Call])
        parts = [part for item in said for part in item.content or ()]
        calls = [tool_use(call.call_id, call.name, call.arguments) for call in asked]
        refusals = [part.refusal for part in parts if part.type == "refusal"]
        reason = _stop_reason(answer, asks_for_tools=bool(calls))
        return Turn(
            text="".join(part.text for part in parts if part.type == "output_text"),
            model=answer.model or target.model,
            stop_reason=reason,
            tool_calls=calls,
            usage=_usage(answer.usage),
            refusal=refusals[0] if refusals else ("" if reason == "refusal" else None),
            complaint=_complaint(answer.error),
            native=Native(self.name, target.model, answer.output),
        )


def _complaint(error: _Error | None) -> Complaint | None:
    return None if error is None else Complaint(error.message, (error.code,) if error.code else ())


def _stop_reason(answer: _Body, *, asks_for_tools: bool) -> str:
    if answer.incomplete_details is not None and answer.incomplete_details.reason:
        return _INCOMPLETE.get(answer.incomplete_details.reason, answer.incomplete_details.reason)
    if asks_for_tools:
        return "tool_use"
    return "end_turn" if answer.status in {"completed", None} else str(answer.status)


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    details = usage.input_tokens_details or _InputDetails()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=details.cached_tokens,
        cache_write_tokens=details.cache_write_tokens,
    )
