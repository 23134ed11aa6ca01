"""Google's Gemini: generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._request import Offered, Said, text_of
from .._steps import Fault, Part, Text, Thinking, Tool
from ._wire import Spoken, event, pieces

MODEL = re.compile(r"models/([^/:]+):(\w+)$")
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    529: "UNAVAILABLE",
}
STOPS = {"end": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}


def read(body: Any, path: str) -> dict[str, Any]:
    named = MODEL.search(path)
    settings = body.get("generationConfig") or {}
    told = body.get("systemInstruction") or body.get("system_instruction") or {}
    return {
        "model": named[1] if named else "",
        "stream": bool(named and named[2].startswith("stream")),
        "max_tokens": settings.get("maxOutputTokens"),
        "tools": list(_offered(body.get("tools") or [])),
        "conversation": [*_system(told), *_conversation(body.get("contents") or [])],
        "wants_json": settings.get("responseSchema") or settings.get("responseJsonSchema"),
    }


def whole(spoken: Spoken) -> dict[str, Any]:
    return _answer(spoken, [_part(part) for part in spoken.parts], over=True)


def stream(spoken: Spoken, piece: int) -> Iterator[bytes]:
    for part in spoken.parts:
        for some in _cut(part, piece):
            yield event(_answer(spoken, [_part(some)], over=False))
    yield event(_answer(spoken, [], over=True))


def error(fault: Fault, status: int) -> dict[str, Any]:
    kind = fault.type or STATUSES.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": fault.message or f"scripted {kind}", "status": kind}}


def broken(fault: Fault) -> bytes:
    return event(error(fault, 503))


def _offered(tools: list[Mapping[str, Any]]) -> Iterator[Offered]:
    for tool in tools:
        for said in tool.get("functionDeclarations") or tool.get("function_declarations") or []:
            schema = said.get("parameters") or said.get("parametersJsonSchema") or {}
            yield Offered(said.get("name", ""), schema.get("properties") or {})


def _system(told: Mapping[str, Any]) -> list[Said]:
    return [Said("system", text_of(told.get("parts") or ""))] if told else []


def _conversation(contents: list[Mapping[str, Any]]) -> Iterator[Said]:
    for content in contents:
        parts = content.get("parts") or []
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        yield from (Said("tool", _result(result)) for result in results)
        words = [part for part in parts if "functionResponse" not in part]
        if words or not results:
            yield Said("assistant" if content.get("role") == "model" else "user", text_of(words))


def _result(result: Mapping[str, Any]) -> str:
    answer = result.get("response") or {}
    return str(answer.get("output", answer.get("error", answer)))


def _cut(part: Part, piece: int) -> Iterator[Part]:
    match part:
        case Text(text=text):
            yield from map(Text, pieces(text, piece))
        case Thinking(text=text):
            yield from map(Thinking, pieces(text, piece))
        case Tool():
            yield part


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"text": text}
        case Thinking(text=text):
            return {"text": text, "thought": True}
        case Tool(name=name, arguments=arguments, id=id_):
            return {"functionCall": {"id": id_, "name": name, "args": dict(arguments)}}


def _answer(spoken: Spoken, parts: list[dict[str, Any]], *, over: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if over:
        candidate["finishReason"] = STOPS[spoken.stop]
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(spoken),
        "modelVersion": spoken.model,
        "responseId": spoken.id,
    }


def _usage(spoken: Spoken) -> dict[str, Any]:
    usage = spoken.usage
    return {
        "promptTokenCount": usage.prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.prompt + usage.output,
    }
