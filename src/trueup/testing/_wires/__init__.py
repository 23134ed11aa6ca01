"""The formats in which models are spoken to, by name."""

from collections.abc import Mapping

from . import _anthropic, _chat, _gemini, _responses
from ._wire import Spoken, Wire, new_id

WIRES: Mapping[str, Wire] = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}
CALL_IDS = {"anthropic": "toolu", "chat": "call", "responses": "call", "gemini": "call"}
ANSWER_IDS = {"anthropic": "msg", "chat": "chatcmpl", "responses": "resp", "gemini": "resp"}

__all__ = ["ANSWER_IDS", "CALL_IDS", "WIRES", "Spoken", "Wire", "new_id"]
