"""OpenAI's Responses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._request import Said, text_of
from .._steps import Fault, Part, Text, Thinking, Tool
from ._openai import error, offered
from ._wire import Spoken, arguments_of, event, new_id, pieces

__all__ = ["broken", "error", "read", "stream", "whole"]

CREATED = 1_700_000_000
INCOMPLETE = {"max_tokens": "max_output_tokens"}

Emit = Callable[..., bytes]


def read(body: Any, path: str) -> dict[str, Any]:
    told = body.get("instructions")
    asked = body.get("input") or []
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    wanted = (body.get("text") or {}).get("format") or {}
    return {
        "model": body.get("model", ""),
        "stream": bool(body.get("stream")),
        "max_tokens": body.get("max_output_tokens"),
        "tools": offered(body.get("tools") or []),
        "conversation": [*([Said("system", told)] if told else []), *map(_said, items)],
        "wants_json": wanted.get("schema"),
    }


def whole(spoken: Spoken) -> dict[str, Any]:
    return _response(spoken, [_item(part, spoken) for part in spoken.parts], over=True)


def stream(spoken: Spoken, piece: int) -> Iterator[bytes]:
    numbers = itertools.count()

    def emit(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield emit("response.created", response=_response(spoken, [], over=False))
    yield emit("response.in_progress", response=_response(spoken, [], over=False))
    items = []
    for index, part in enumerate(spoken.parts):
        item = _item(part, spoken)
        items.append(item)
        begun = {**item, "status": "in_progress", **_empty(item)}
        yield emit("response.output_item.added", output_index=index, item=begun)
        where = {"item_id": item["id"], "output_index": index}
        yield from _inside(item, where, piece, emit)
        yield emit("response.output_item.done", output_index=index, item=item)
    final = _response(spoken, items, over=True)
    yield emit(f"response.{final['status']}", response=final)


def broken(fault: Fault) -> bytes:
    said = error(fault, 500)["error"]
    failed = {"code": said["code"] or "server_error", "message": said["message"]}
    response = {"id": new_id("resp"), "object": "response", "status": "failed", "error": failed, "output": []}
    return event({"type": "response.failed", "sequence_number": 99, "response": response}, "response.failed")


def _said(item: Mapping[str, Any]) -> Said:
    kind = item.get("type", "message")
    if kind.endswith("_output"):
        return Said("tool", text_of(item.get("output") or ""))
    if kind != "message":
        return Said("assistant", text_of(item.get("summary") or ""))
    role = item.get("role", "user")
    return Said("system" if role == "developer" else role, text_of(item.get("content") or ""))


def _response(spoken: Spoken, output: list[dict[str, Any]], *, over: bool) -> dict[str, Any]:
    reason = INCOMPLETE.get(spoken.stop)
    status = ("incomplete" if reason else "completed") if over else "in_progress"
    return {
        "id": spoken.id,
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": spoken.model,
        "output": output,
        "error": None,
        "incomplete_details": {"reason": reason} if over and reason else None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "usage": _usage(spoken) if over else None,
    }


def _item(part: Part, spoken: Spoken) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {
                "type": "message",
                "id": new_id("msg"),
                "role": "assistant",
                "status": "completed",
                "content": [_content(text, spoken)],
            }
        case Thinking(text=text):
            return {
                "type": "reasoning",
                "id": new_id("rs"),
                "summary": [{"type": "summary_text", "text": text}],
                "encrypted_content": "c2NyaXB0ZWQ=",
            }
        case Tool():
            return _call(part, spoken)


def _content(text: str, spoken: Spoken) -> dict[str, Any]:
    if spoken.stop == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(tool: Tool, spoken: Spoken) -> dict[str, Any]:
    head = {"id": new_id("fc"), "call_id": tool.id, "status": "completed"}
    if tool.name in spoken.free:
        return {**head, "type": "custom_tool_call", "name": tool.name, "input": str(tool.arguments.get("input", ""))}
    if tool.name == "local_shell":
        action: dict[str, Any] = {"type": "exec", "command": tool.arguments.get("command"), "env": {}}
        return {**head, "type": "local_shell_call", "action": action}
    return {**head, "type": "function_call", "name": tool.name, "arguments": arguments_of(tool)}


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    filled = {"message": "content", "reasoning": "summary", "function_call": "arguments", "custom_tool_call": "input"}
    key = filled.get(item["type"])
    return {} if key is None else {key: type(item[key])()}


def _inside(item: Mapping[str, Any], where: dict[str, Any], piece: int, emit: Emit) -> Iterator[bytes]:
    """What is told of an item between its beginning and its end."""
    match item["type"]:
        case "message":
            yield from _message(item["content"][0], {**where, "content_index": 0}, piece, emit)
        case "reasoning":
            yield from _reasoning(item["summary"][0], {**where, "summary_index": 0}, piece, emit)
        case "function_call":
            kind, text = "response.function_call_arguments", item["arguments"]
            yield from (emit(f"{kind}.delta", **where, delta=some) for some in pieces(text, piece))
            yield emit(f"{kind}.done", **where, arguments=text, name=item["name"])
        case "custom_tool_call":
            kind, text = "response.custom_tool_call_input", item["input"]
            yield from (emit(f"{kind}.delta", **where, delta=some) for some in pieces(text, piece))
            yield emit(f"{kind}.done", **where, input=text)


def _message(part: Mapping[str, Any], where: dict[str, Any], piece: int, emit: Emit) -> Iterator[bytes]:
    key = "refusal" if part["type"] == "refusal" else "text"
    kind = f"response.{part['type']}"
    more: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
    yield emit("response.content_part.added", **where, part={**part, key: ""})
    yield from (emit(f"{kind}.delta", **where, **more, delta=some) for some in pieces(part[key], piece))
    yield emit(f"{kind}.done", **where, **more, **{key: part[key]})
    yield emit("response.content_part.done", **where, part=part)


def _reasoning(part: Mapping[str, Any], where: dict[str, Any], piece: int, emit: Emit) -> Iterator[bytes]:
    text = part["text"]
    yield emit("response.reasoning_summary_part.added", **where, part={**part, "text": ""})
    for some in pieces(text, piece):
        yield emit("response.reasoning_summary_text.delta", **where, delta=some)
    yield emit("response.reasoning_summary_text.done", **where, text=text)
    yield emit("response.reasoning_summary_part.done", **where, part=part)


def _usage(spoken: Spoken) -> dict[str, Any]:
    usage = spoken.usage
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.output,
    }
