"""Gemini's language."""

from __future__ import annotations

from typing import Any

from trueup.core.usage import Usage

from ._reading import Call, Gathered
from ._values import listed, number


class GeminiReading(Gathered):
    """Gemini."""

    def _take_event(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        self._name_model(event.get("modelVersion"))
        self._count(event.get("usageMetadata"))
        self._complain(event.get("error"))
        for candidate in listed(event.get("candidates")):
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
                self._say(text)
            case {"functionCall": dict(call)}:
                self._calls[len(self._calls)] = Call(call.get("id"), call.get("name"), call.get("args"))

    def _count(self, counts: Any) -> None:
        if isinstance(counts, dict):
            said, thought = (number(counts.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
            self._usage = Usage(
                input_tokens=number(counts.get("promptTokenCount")),
                output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
                cache_read_tokens=number(counts.get("cachedContentTokenCount")),
            )
