"""Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._request import Message, Native, Request, Role, ToolUse
from ._structured import asked_in_words
from ._target import Target
from ._wire import Arguments, Turn, of_type, replayed

# The last version of the API that lets a caller set a temperature; the library itself asks for a later one.
_VERSION_WITH_TEMPERATURE = "2023-06-01"


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Text(Struct, tag_field="type", tag="text"):
    text: str = ""


class _ToolUse(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any] | None = None


class _StopDetails(Struct):
    category: str | None = None
    explanation: str | None = None


class _Body(Struct):
    content: list[dict[str, Any]]
    model: str = ""
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None
    usage: _Usage = msgspec.field(default_factory=_Usage)


class AnthropicMessages:
    """`POST /v1/messages`, without streaming."""

    library = "anthropic"
    name = "anthropic-messages"

    def arguments(self, request: Request, target: Target, *, native_schema: bool) -> Arguments:
        arguments: Arguments = {
            "model": target.model,
            "max_tokens": request.max_tokens,
            "messages": [self._message(message, target) for message in request.messages],
        }
        system = request.system
        if request.schema is not None and native_schema:
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
        elif request.schema is not None:
            system = asked_in_words(system, request.schema)
        if system:
            arguments["system"] = system
        if request.tools:
            arguments["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
            # A conversation with tools comes back with one turn more: what it has said so far need not be paid again.
            arguments["cache_control"] = {"type": "ephemeral"}
        if request.temperature is not None:
            arguments["extra_body"] = {"temperature": request.temperature}
            arguments["extra_headers"] = {"anthropic-version": _VERSION_WITH_TEMPERATURE}
        return arguments

    def _message(self, message: Message, target: Target) -> dict[str, Any]:
        if message.role is Role.ASSISTANT:
            said = replayed(message.native, self.name, target)
            return {"role": "assistant", "content": said or [*_text(message), *map(_asked, message.tool_calls)]}
        results = [
            {"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": not result.ok}
            for result in message.tool_results
        ]
        return {"role": "user", "content": [*results, *_text(message)] if results else message.text}

    async def send(self, client: Any, arguments: Arguments) -> bytes:
        response = await client.messages.with_raw_response.create(**arguments)
        body: bytes = response.http_response.content
        return body

    def read(self, body: bytes, target: Target) -> Turn:
        answer = msgspec.json.decode(body, type=_Body)
        texts = msgspec.convert(of_type(answer.content, "text"), list[_Text])
        calls = msgspec.convert(of_type(answer.content, "tool_use"), list[_ToolUse])
        details = answer.stop_details or _StopDetails()
        return Turn(
            text="".join(block.text for block in texts),
            model=answer.model or target.model,
            stop_reason=answer.stop_reason or "unknown",
            tool_calls=[ToolUse(call.id, call.name, call.input or {}) for call in calls],
            usage=Usage(
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                cache_read_tokens=answer.usage.cache_read_input_tokens,
                cache_write_tokens=answer.usage.cache_creation_input_tokens,
            ),
            refusal=details.explanation or details.category or "" if answer.stop_reason == "refusal" else None,
            native=Native(self.name, target.model, answer.content),
        )


def _text(message: Message) -> list[dict[str, Any]]:
    # An empty text block is refused.
    return [{"type": "text", "text": message.text}] if message.text else []


def _asked(call: ToolUse) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
