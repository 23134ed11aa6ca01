"""A model that is called directly, as the judge and the simulated user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trueup.core.errors import InputError, Kind, TrueupError
from trueup.core.usage import Usage
from trueup.model import Access, Answer, ModelError, Provider, Request, Secret, chat, find_key, resolve_model
from trueup.model import Message as Question

from .._case import ApiJudge, Vendor
from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    Needs,
    ProviderError,
    Query,
    QueryKind,
    RespondRequest,
    UserTurn,
)
from ._prompts import JUDGE_SYSTEM, judge_prompt, user_prompt
from ._verdict import parse_verdict

CONTEXT = "api-judge"
MAX_TOKENS = 1024
RETRY_DELAYS_SECS = (1.0, 2.0)

_OPENAI_HOST = "api.openai.com"
_VARIABLES = {Vendor.ANTHROPIC: "ANTHROPIC_API_KEY", Vendor.OPENAI: "OPENAI_API_KEY"}

Sleep = Callable[[float], Awaitable[None]]


class ApiJudgeProvider:
    """Asks a vendor's API. It runs no skills: that is another provider's part of a `SplitProvider`."""

    def __init__(self, config: ApiJudge, environ: Mapping[str, str], *, sleep: Sleep = asyncio.sleep) -> None:
        self._config = config
        self._environ = environ
        self._sleep = sleep
        self._variable = config.api_key_env or _VARIABLES[config.vendor]

    def __repr__(self) -> str:
        return f"ApiJudgeProvider({self._config.vendor})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """Nothing runs here, so nothing has a version; but without a key there is no judge."""
        if needs.judge:
            await self._access("any")
        return dict.fromkeys(platforms)

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        del request
        raise ProviderError(
            CONTEXT, "the API judge does not run skills; a provider beside it does (`provider` in the configuration)"
        )

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        answer = await self._ask(model, user_prompt(persona, messages))
        return UserTurn(message=answer.text.strip(), usage=_known(answer.usage))

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        schema = verdict_schema(query.kind) if self._config.strict_json else None
        answer = await self._ask(model, judge_prompt(query, messages), schema)
        usage = _known(answer.usage)
        try:
            return msgspec.structs.replace(parse_verdict(answer.text, query, CONTEXT), usage=usage)
        except ProviderError as error:
            told = f"{error} (it stopped with {answer.stop_reason})"
            raise ProviderError(error.context, told, kind=error.kind, usage=usage) from None

    def supports_resume(self, platform: str) -> bool:
        """Never: there is nothing to go on with."""
        del platform
        return False

    async def _ask(self, model: str, prompt: str, schema: dict[str, Any] | None = None) -> Answer:
        if not model.strip():
            raise ProviderError(CONTEXT, "the API judge has no model; name one as `judge_model`", kind=Kind.INPUT)
        access, key, name = await self._access(model)
        request = Request(
            model=name,
            system=JUDGE_SYSTEM,
            messages=(Question(text=prompt),),
            schema=schema,
            schema_name="verdict",
            schema_binds=False,
            max_tokens=MAX_TOKENS,
        )
        try:
            answer = await chat(request, access, sleep=self._sleep)
        except TrueupError as error:
            problem = _problem(error)
        else:
            # What a judge says stands in reports, and a server may repeat what it was sent.
            return msgspec.structs.replace(answer, text=key.redact(answer.text))
        # Outside of the handler: the error of the other room would be shown with it, and says the same.
        raise problem

    async def _access(self, model: str) -> tuple[Access, Secret, str]:
        """How a model is reached, with which key, and its name there."""
        try:
            provider, base_url = self._server(model)
            key = await find_key(provider, self._variable, self._environ)
        except TrueupError as error:
            problem = _problem(error)
        else:
            access = Access(
                base_url=base_url,
                key=key,
                key_variable=self._variable,
                timeout_secs=self._config.timeout_secs,
                retry_delays_secs=RETRY_DELAYS_SECS,
            )
            return access, key, f"{provider}:{model}"
        raise problem

    def _server(self, model: str) -> tuple[Provider, str]:
        vendor = Provider(self._config.vendor)
        target = resolve_model(f"{vendor}:{model}", self._config.base_url, self._environ)
        # OpenAI's own server has a newer name for `max_tokens`, which others do not know.
        if vendor is Provider.OPENAI and urlsplit(target.base_url).hostname != _OPENAI_HOST:
            return Provider.OPENAI_COMPATIBLE, target.base_url
        return vendor, target.base_url


def verdict_schema(kind: QueryKind) -> dict[str, Any]:
    """What a verdict looks like. Without the bounds of a scale, which vendors do not enforce and some refuse."""
    value = "boolean" if kind is QueryKind.BOOLEAN else "number"
    return {
        "type": "object",
        "properties": {"value": {"type": value}, "reason": {"type": "string"}},
        "required": ["value", "reason"],
        "additionalProperties": False,
    }


def _problem(error: TrueupError) -> ProviderError:
    kind = Kind.INPUT if isinstance(error, InputError) else error.kind
    if not isinstance(error, ModelError):
        return ProviderError(CONTEXT, str(error), kind=kind)
    return ProviderError(CONTEXT, str(error), kind=kind, usage=error.usage, retry_after=error.retry_after_secs)


def _known(usage: Usage) -> Usage | None:
    return None if usage == Usage() else usage
