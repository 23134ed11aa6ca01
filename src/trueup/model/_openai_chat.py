"""OpenAI's Chat Completions API, which many other servers speak too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._request import Message, Request, Role, ToolUse
from ._structured import asked_in_words, is_strict
from ._target import Provider, Target
from ._wire import Arguments, Turn, tool_use

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class _PromptDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    # Routers to many vendors say what a call cost.
    cost: float | None = None


class _Function(Struct):
    name: str
    # Text by the book; some servers send the object itself, or null where there are none.
    arguments: str | dict[str, Any] | None = None


class _ToolCall(Struct):
    function: _Function
    id: str | None = None


class _Part(Struct):
    type: str
    text: str | None = None


class _Said(Struct):
    # Text by the book; some servers send parts, thoughts among them.
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct):
    message: _Said
    finish_reason: str | None = None


class _Body(Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class OpenAIChat:
    """`POST /chat/completions`, without streaming."""

    library = "openai"
    name = "openai-chat"

    def arguments(self, request: Request, target: Target, *, native_schema: bool) -> Arguments:
        system = request.system
        arguments: Arguments = {"model": target.model}
        if request.schema is not None and native_schema:
            arguments["response_format"] = {"type": "json_schema", "json_schema": json_schema(request)}
        elif request.schema is not None:
            system = asked_in_words(system, request.schema)
        said = [turn for message in request.messages for turn in _turns(message)]
        arguments["messages"] = [{"role": "system", "content": system}, *said] if system else said
        # Other servers know only the old name, and OpenAI's newer models refuse it.
        limit = "max_completion_tokens" if target.provider is Provider.OPENAI else "max_tokens"
        arguments[limit] = request.max_tokens
        if request.tools:
            arguments["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        return arguments

    async def send(self, client: Any, arguments: Arguments) -> bytes:
        response = await client.chat.completions.with_raw_response.create(**arguments)
        body: bytes = response.http_response.content
        return body

    def read(self, body: bytes, target: Target) -> Turn:
        answer = msgspec.json.decode(body, type=_Body)
        if not answer.choices:
            raise msgspec.ValidationError("it has no choices")
        choice = answer.choices[0]
        said = choice.message
        calls = [
            # Some servers give no ids; a result must still name its call.
            tool_use(call.id or f"call_{number}", call.function.name, call.function.arguments)
            for number, call in enumerate(said.tool_calls or ())
        ]
        reason = STOP_REASONS.get(choice.finish_reason or "", choice.finish_reason or "unknown")
        return Turn(
            text=_text(said.content),
            model=answer.model or target.model,
            # Some servers say `stop` although a tool was asked for.
            stop_reason="tool_use" if calls and reason == "end_turn" else reason,
            tool_calls=calls,
            usage=_usage(answer.usage),
            refusal=said.refusal or ("" if reason == "refusal" else None),
        )


def json_schema(request: Request) -> dict[str, Any]:
    """The schema of a request as OpenAI wants it: strict where it can be."""
    return {"name": request.schema_name, "strict": is_strict(request.schema), "schema": request.schema}


def result_text(text: str, *, ok: bool) -> str:
    """The result of a tool; OpenAI has no field that says that it failed."""
    return text if ok else f"The tool failed: {text}"


def _text(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content if part.type == "text")
    return content or ""


def _turns(message: Message) -> Iterator[dict[str, Any]]:
    for result in message.tool_results:
        yield {"role": "tool", "tool_call_id": result.id, "content": result_text(result.text, ok=result.ok)}
    if message.role is Role.ASSISTANT and message.tool_calls:
        yield {"role": "assistant", "content": message.text or None, "tool_calls": [*map(_asked, message.tool_calls)]}
    elif message.text or not message.tool_results:
        yield {"role": str(message.role), "content": message.text}


def _asked(call: ToolUse) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.input).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details or _PromptDetails()
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cost_usd=usage.cost,
        cache_read_tokens=details.cached_tokens,
        cache_write_tokens=details.cache_write_tokens,
    )
