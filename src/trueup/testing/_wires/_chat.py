"""OpenAI's Chat Completions, which many other vendors speak too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._request import Said, text_of
from .._steps import Fault, Tool
from ._openai import error, offered
from ._wire import Spoken, arguments_of, event, pieces

__all__ = ["broken", "error", "read", "stream", "whole"]

CREATED = 1_700_000_000
ROLES = {"developer": "system", "function": "tool"}
STOPS = {"max_tokens": "length", "refusal": "content_filter"}


def read(body: Any, path: str) -> dict[str, Any]:
    wanted = body.get("response_format") or {}
    return {
        "model": body.get("model", ""),
        "stream": bool(body.get("stream")),
        "max_tokens": body.get("max_completion_tokens") or body.get("max_tokens"),
        "tools": offered(body.get("tools") or []),
        "conversation": [
            Said(ROLES.get(role := message.get("role", "user"), role), text_of(message.get("content") or ""))
            for message in body.get("messages") or []
        ],
        "wants_json": (wanted.get("json_schema") or {}).get("schema"),
    }


def whole(spoken: Spoken) -> dict[str, Any]:
    refused = spoken.stop == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else spoken.text or None,
        "refusal": spoken.text if refused else None,
    }
    if spoken.thinking:
        message["reasoning_content"] = spoken.thinking
    if spoken.tools:
        message["tool_calls"] = [_call(tool, spoken) for tool in spoken.tools]
    choice = {"index": 0, "message": message, "finish_reason": _stop(spoken), "logprobs": None}
    return {**_head(spoken, "chat.completion"), "choices": [choice], "usage": _usage(spoken)}


def stream(spoken: Spoken, piece: int) -> Iterator[bytes]:
    yield _chunk(spoken, {"role": "assistant", "content": ""})
    yield from (_chunk(spoken, {"reasoning_content": some}) for some in pieces(spoken.thinking, piece))
    key = "refusal" if spoken.stop == "refusal" else "content"
    yield from (_chunk(spoken, {key: some}) for some in pieces(spoken.text, piece))
    for number, tool in enumerate(spoken.tools):
        call = _call(tool, spoken)
        carrier = call.get("function") or call["custom"]
        carried = "arguments" if "function" in call else "input"
        text, carrier[carried] = carrier[carried], ""
        yield _chunk(spoken, {"tool_calls": [{"index": number, **call}]})
        for some in pieces(text, piece):
            yield _chunk(spoken, {"tool_calls": [{"index": number, call["type"]: {carried: some}}]})
    yield _chunk(spoken, {}, _stop(spoken))
    # Sent also to who did not ask for it: some clients never ask, and count on it.
    yield event({**_head(spoken, "chat.completion.chunk"), "choices": [], "usage": _usage(spoken)})
    yield b"data: [DONE]\n\n"


def broken(fault: Fault) -> bytes:
    return event(error(fault, 500))


def _call(tool: Tool, spoken: Spoken) -> dict[str, Any]:
    if tool.name in spoken.free:
        said = {"name": tool.name, "input": str(tool.arguments.get("input", ""))}
        return {"id": tool.id, "type": "custom", "custom": said}
    return {"id": tool.id, "type": "function", "function": {"name": tool.name, "arguments": arguments_of(tool)}}


def _head(spoken: Spoken, kind: str) -> dict[str, Any]:
    return {"id": spoken.id, "object": kind, "created": CREATED, "model": spoken.model}


def _chunk(spoken: Spoken, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return event({**_head(spoken, "chat.completion.chunk"), "choices": [choice]})


def _stop(spoken: Spoken) -> str:
    return STOPS.get(spoken.stop) or ("tool_calls" if spoken.tools else "stop")


def _usage(spoken: Spoken) -> dict[str, Any]:
    usage = spoken.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
