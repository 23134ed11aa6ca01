"""A provider whose answers hold no keys, whatever was shown to it or by it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from trueup.core.protocols import Event, Recorder

from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    Needs,
    Provider,
    ProviderError,
    Query,
    RespondRequest,
    UserTurn,
)
from .._secrets import Secrets

T = TypeVar("T")


class DiscreetProvider:
    """Another provider, with the name of its variable in the place of every key. Transcripts, errors and runs are made of that."""

    def __init__(self, provider: Provider, environ: Mapping[str, str]) -> None:
        self._provider = provider
        self._secrets = Secrets(environ)

    def __repr__(self) -> str:
        return f"DiscreetProvider({self._provider!r})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        return await self._hidden(self._provider.prepare(platforms, needs))

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        watched = replace(request, recorder=_DiscreetRecorder(request.recorder, self._secrets))
        return await self._hidden(self._provider.respond(watched))

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        return await self._hidden(self._provider.simulate_user(model, persona, messages))

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        return await self._hidden(self._provider.judge(model, query, messages))

    def supports_resume(self, platform: str) -> bool:
        return self._provider.supports_resume(platform)

    async def _hidden(self, call: Awaitable[T]) -> T:
        try:
            return self._secrets.hidden(await call)
        except ProviderError as error:
            told = ProviderError(
                error.context,
                self._secrets.text(str(error)),
                kind=error.kind,
                usage=error.usage,
                retry_after=error.retry_after,
            )
        # Outside of the handler: the first error would be shown with it, and says what is hidden here.
        raise told


class _DiscreetRecorder:
    """Passes on what happens, without keys."""

    def __init__(self, recorder: Recorder, secrets: Secrets) -> None:
        self._recorder = recorder
        self._secrets = secrets

    async def record(self, event: Event) -> None:
        await self._recorder.record(self._secrets.hidden(event))
