"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._request import Offered, Said, text_of
from .._steps import Fault, Part, Text, Thinking, Tool
from ._wire import Spoken, arguments_of, event, new_id, pieces

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
STOPS = {"max_tokens": "max_tokens", "refusal": "refusal"}


def read(body: Any, path: str) -> dict[str, Any]:
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return {
        "model": body.get("model", ""),
        "stream": bool(body.get("stream")),
        "max_tokens": body.get("max_tokens"),
        "tools": [
            Offered(tool.get("name", ""), (tool.get("input_schema") or {}).get("properties") or {})
            for tool in body.get("tools") or []
        ],
        "conversation": [*_system(body.get("system")), *_conversation(body.get("messages") or [])],
        "wants_json": wanted.get("schema"),
    }


def whole(spoken: Spoken) -> dict[str, Any]:
    return {
        **_head(spoken),
        "content": [_block(part) for part in spoken.parts],
        "stop_reason": _stop(spoken),
        "usage": _usage(spoken, spoken.usage.output),
    }


def stream(spoken: Spoken, piece: int) -> Iterator[bytes]:
    yield _event("message_start", message={**_head(spoken), "content": [], "usage": _usage(spoken, 1)})
    yield _event("ping")
    for number, part in enumerate(spoken.parts):
        yield _event("content_block_start", index=number, content_block={**_block(part), **_EMPTY[type(part)]})
        for delta in _deltas(part, piece):
            yield _event("content_block_delta", index=number, delta=delta)
        yield _event("content_block_stop", index=number)
    end = {"stop_reason": _stop(spoken), "stop_sequence": None}
    yield _event("message_delta", delta=end, usage=_usage(spoken, spoken.usage.output))
    yield _event("message_stop")


def error(fault: Fault, status: int) -> dict[str, Any]:
    kind = fault.type or TYPES.get(status, "api_error")
    said = {"type": kind, "message": fault.message or f"scripted {kind}"}
    return {"type": "error", "error": said, "request_id": new_id("req")}


def broken(fault: Fault) -> bytes:
    return event(error(fault, 529), "error")


def _system(system: Any) -> list[Said]:
    return [Said("system", text_of(system))] if system else []


def _conversation(messages: list[Mapping[str, Any]]) -> Iterator[Said]:
    for message in messages:
        role, content = message.get("role", "user"), message.get("content", "")
        if role == "user" and isinstance(content, list):
            results = [block for block in content if block.get("type") == "tool_result"]
            yield from (Said("tool", text_of(block.get("content", ""))) for block in results)
            content = [block for block in content if block.get("type") != "tool_result"]
            if results and not content:
                continue
        yield Said(role, text_of(content))


def _head(spoken: Spoken) -> dict[str, Any]:
    return {
        "id": spoken.id,
        "type": "message",
        "role": "assistant",
        "model": spoken.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(spoken: Spoken, output: int) -> dict[str, Any]:
    return {
        "input_tokens": spoken.usage.input,
        "cache_creation_input_tokens": spoken.usage.cache_write,
        "cache_read_input_tokens": spoken.usage.cache_read,
        "output_tokens": output,
    }


def _stop(spoken: Spoken) -> str:
    return STOPS.get(spoken.stop) or ("tool_use" if spoken.tools else "end_turn")


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text):
            return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}
        case Tool(name=name, arguments=arguments, id=id_):
            return {"type": "tool_use", "id": id_, "name": name, "input": dict(arguments)}


_EMPTY: Mapping[type, dict[str, Any]] = {
    Text: {"text": ""},
    Thinking: {"thinking": "", "signature": ""},
    Tool: {"input": {}},
}


def _deltas(part: Part, piece: int) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text=text):
            yield from ({"type": "text_delta", "text": some} for some in pieces(text, piece))
        case Thinking(text=text):
            yield from ({"type": "thinking_delta", "thinking": some} for some in pieces(text, piece))
            yield {"type": "signature_delta", "signature": "c2NyaXB0ZWQ="}
        case Tool():
            for some in pieces(arguments_of(part), piece):
                yield {"type": "input_json_delta", "partial_json": some}


def _event(name: str, **fields: Any) -> bytes:
    return event({"type": name, **fields}, name)
