"""Answers as the vendors send them."""

from __future__ import annotations

from trueup.model import Message

KEY = "sk-test-9f8e7d6c5b4a3210-secret"
CLAUDE = "claude-opus-5-5"
HELLO = [Message(text="hello")]


def anthropic(*blocks: dict, stop: str = "end_turn", **more: object) -> dict:
    usage = {
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_input_tokens": 500,
        "cache_creation_input_tokens": 200,
        "service_tier": "standard",
    }
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def openai(
    content: str | list | None, finish: str = "stop", model: str = "gpt-6.1-terra-2026-10-26", **said: object
) -> dict:
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None, "annotations": [], **said},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": 1000,
            "completion_tokens": 100,
            "total_tokens": 1100,
            "prompt_tokens_details": {"cached_tokens": 400, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def text(words: str) -> dict:
    return {"type": "text", "text": words, "citations": None}
