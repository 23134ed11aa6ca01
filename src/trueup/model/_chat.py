"""Asking a model: the right wire, another try where that may help, and an answer that can be used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.usage import Usage

from ._anthropic import AnthropicMessages
from ._attempt import Attempt
from ._errors import ModelError
from ._keys import Secret, checked, find_key
from ._openai_chat import OpenAIChat
from ._openai_responses import OpenAIResponses
from ._prices import estimated_cost
from ._request import Answer, Request
from ._structured import first_fitting
from ._target import Provider, Target, resolve_model
from ._wire import Turn, Wire

TIMEOUT_SECS = 600.0
RETRIED = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED})

# A server that wants more than this is better asked another day.
LONGEST_WAIT_SECS = 60.0

_ABOUT_SCHEMA = re.compile(
    r"response_format|json_schema|output_config|output_format|structured output|text\.format", re.IGNORECASE
)


class Access(Struct, frozen=True, kw_only=True):
    """How a model is reached: another server, another variable for the key, the clock of one try, waits between tries."""

    base_url: str | None = None
    key: Secret | None = None
    key_variable: str | None = None
    timeout_secs: float = TIMEOUT_SECS
    retry_delays_secs: tuple[float, ...] = (1.0, 2.0)


class Retry(Struct, frozen=True):
    """A busy server is asked again: for the how manieth time, after how long, and what it said."""

    attempt: int
    wait_secs: float
    error: ModelError

    def __str__(self) -> str:
        return f"{self.error}; tried again in {self.wait_secs:g} s"


OnRetry: TypeAlias = Callable[[Retry], Awaitable[None]]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


async def chat(
    request: Request, access: Access | None = None, on_retry: OnRetry | None = None, *, sleep: Sleep = asyncio.sleep
) -> Answer:
    """Ask a model, and once more where it was busy; a `ModelError` where there is no answer that can be used.

    `sleep` waits between two tries, for whoever has another clock.
    """
    access = access or Access()
    target = resolve_model(request.model, access.base_url)
    key = checked(access.key, "the key") if access.key else await find_key(target.provider, access.key_variable)
    attempt = Attempt(
        target=target,
        wire=_wire(target, request),
        key=key,
        key_variable=access.key_variable,
        timeout_secs=access.timeout_secs,
    )
    turn = await _ask(attempt, request, _Patience(access.retry_delays_secs, on_retry, sleep))
    return _judge(turn, attempt, request)


def _wire(target: Target, request: Request) -> Wire:
    if target.provider is Provider.ANTHROPIC:
        return AnthropicMessages()
    return OpenAIResponses() if request.tools and target.reasons_with_tools else OpenAIChat()


class _Patience(Struct, frozen=True):
    """How long to wait for a busy server, who is told, and by which clock."""

    delays_secs: tuple[float, ...]
    on_retry: OnRetry | None
    sleep: Sleep

    async def ask(self, attempt: Attempt, arguments: dict[str, Any]) -> Turn:
        for number, delay in enumerate(self.delays_secs, 1):
            try:
                return await attempt.ask(arguments)
            except ModelError as error:
                wait = delay if error.retry_after_secs is None else error.retry_after_secs
                if error.kind not in RETRIED or wait > LONGEST_WAIT_SECS:
                    raise
                retry = Retry(number, wait, error)
            if self.on_retry is not None:
                await self.on_retry(retry)
            await self.sleep(retry.wait_secs)
        return await attempt.ask(arguments)


async def _ask(attempt: Attempt, request: Request, patience: _Patience) -> Turn:
    try:
        return await patience.ask(attempt, attempt.wire.arguments(request, attempt.target, native_schema=True))
    except ModelError as error:
        if request.schema is None or error.status not in {400, 422} or not _ABOUT_SCHEMA.search(str(error)):
            raise
    # The server cannot be bound to a schema, so it is asked in words.
    return await patience.ask(attempt, attempt.wire.arguments(request, attempt.target, native_schema=False))


def _judge(turn: Turn, attempt: Attempt, request: Request) -> Answer:
    usage = _priced(turn, attempt.target)
    stopped = f"it stopped with {turn.stop_reason}"
    if turn.refusal is not None:
        reason = attempt.quote(turn.refusal or turn.text)
        raise attempt.error(Kind.REFUSED, f"would not answer ({reason})", usage=usage)
    if not turn.text.strip() and not turn.tool_calls:
        too_long = turn.stop_reason == "model_context_window_exceeded"
        kind = Kind.CONTEXT_LENGTH if too_long else Kind.PROTOCOL
        raise attempt.error(kind, f"gave a blank answer ({stopped})", usage=usage)
    data = None
    if request.schema is not None and not turn.tool_calls:
        data = first_fitting(turn.text, request.schema)
        if data is None and request.schema_binds:
            told = f"gave no JSON that fits the schema ({stopped}): {attempt.quote(turn.text)}"
            raise attempt.error(Kind.PROTOCOL, told, usage=usage)
    return Answer(
        text=turn.text,
        model=turn.model,
        stop_reason=turn.stop_reason,
        tool_calls=turn.tool_calls,
        usage=usage,
        data=data,
        native=turn.native,
    )


def _priced(turn: Turn, target: Target) -> Usage:
    if target.provider is Provider.OPENAI_COMPATIBLE or turn.usage.cost_usd is not None:
        # A model of the same name costs something else elsewhere, and a cost that is known needs no estimate.
        return turn.usage
    cost = estimated_cost(turn.model, turn.usage)
    if cost is None:
        cost = estimated_cost(target.model, turn.usage)
    return msgspec.structs.replace(turn.usage, estimated_cost_usd=cost)
