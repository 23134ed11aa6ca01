"""Models as a `Generate`: one prompt, one reply."""

from __future__ import annotations

from collections.abc import Mapping

from trueup.core.errors import Kind
from trueup.core.protocols import Generate, Prompt, Reply

from ._chat import Access, OnRetry, chat
from ._command import CommandModel
from ._errors import ModelError
from ._keys import has_key
from ._request import MAX_TOKENS, Message, Request
from ._target import Provider, resolve_model

COMMAND_PREFIX = "command:"

# Good enough to write a contract or judge a change, and not the dearest of their makers.
_USUAL = {Provider.ANTHROPIC: "anthropic:claude-sonnet-5-5", Provider.OPENAI: "openai:gpt-6.1-sol"}
_MAKERS = {"claude-code": Provider.ANTHROPIC, "codex": Provider.OPENAI}


class ChatModel:
    """A `Generate` that asks a vendor's API."""

    def __init__(
        self,
        model: str,
        *,
        access: Access | None = None,
        max_tokens: int = MAX_TOKENS,
        on_retry: OnRetry | None = None,
    ) -> None:
        self._access = access or Access()
        self._on_retry = on_retry
        self._model = model
        self._max_tokens = max_tokens
        # A name that nobody serves is better refused before there is work to lose.
        resolve_model(model, self._access.base_url)

    def __repr__(self) -> str:
        return f"ChatModel({self._model!r})"

    async def __call__(self, prompt: Prompt) -> Reply:
        messages = (Message(text=prompt.text),)
        request = Request(model=self._model, system=prompt.system, messages=messages, max_tokens=self._max_tokens)
        answer = await chat(request, self._access, self._on_retry)
        if answer.stop_reason == "max_tokens":
            raise ModelError(
                f"{self._model} was not done after {self._max_tokens} tokens, which is the most that an answer may have; "
                "ask for less",
                kind=Kind.PROTOCOL,
                usage=answer.usage,
            )
        return Reply(answer.text, answer.usage)


def generate_for(spec: str, on_retry: OnRetry | None = None) -> Generate:
    """Who answers prompts: `command:LINE` for a program, else the name of a model."""
    if spec.startswith(COMMAND_PREFIX):
        return CommandModel(spec.removeprefix(COMMAND_PREFIX).strip())
    return ChatModel(spec, on_retry=on_retry)


def default_model_for(engine: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The model to ask beside an engine: of the same maker, else of whoever a key is there for; None where nobody is."""
    maker = _MAKERS.get(engine or "")
    if maker is not None:
        return _USUAL[maker]
    return next((model for provider, model in _USUAL.items() if has_key(provider, environ)), None)
