"""Calls of the provider: each is timed, written down and paid for, also the one that fails."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from msgspec.structs import replace

from trueup.core.errors import Kind
from trueup.core.text import written
from trueup.core.usage import Usage

from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    Provider,
    ProviderError,
    Query,
    QueryKind,
    RespondRequest,
    UserTurn,
)
from ._mock_calls import unheard
from ._recording import Call, CellRun


class Calls:
    """A provider as one cell uses it, with what that came to."""

    def __init__(self, provider: Provider, run: CellRun) -> None:
        self.provider = provider
        self._run = run
        self._skill: list[Usage] = []
        self._judge: list[Usage] = []

    @property
    def skill_usage(self) -> Usage | None:
        """What the replies of the skill used; None where nobody told."""
        return _total(self._skill)

    @property
    def judge_usage(self) -> Usage | None:
        """What judges and the simulated user used."""
        return _total(self._judge)

    @property
    def usage(self) -> Usage | None:
        return _total([*self._skill, *self._judge])

    async def respond(self, request: RespondRequest, turn: int) -> AssistantTurn:
        """The next reply of the skill."""
        about = {"turn": turn, "platform": request.platform, "said": request.messages[-1].content}
        await self._run.begins("respond", about)
        began, told = time.monotonic(), self._run.tools_told
        try:
            reply = await self.provider.respond(request)
            _require_watched(request, reply)
        except ProviderError as error:
            await self._fail("respond", {"turn": turn}, error, self._skill)
            raise
        self._skill.append(reply.usage or Usage())
        if self._run.tools_told == told:
            await self._run.saw_tools(reply.events)
        tools = tuple(event.name for event in reply.events if event.kind == "tool_call")
        await self._done("respond", request.model, None, reply.message, reply.usage, began, tools)
        return reply

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        """What the simulated user says next."""
        began = time.monotonic()
        try:
            said = await self.provider.simulate_user(model, persona, messages)
        except ProviderError as error:
            await self._fail("user", {}, error, self._judge)
            raise
        self._judge.append(said.usage or Usage())
        await self._done("user", model, {"stop": said.stop}, said.message, said.usage, began)
        return said

    async def judge(self, model: str, query: Query, messages: Sequence[Message], *, op: str = "judge") -> Judgement:
        """A verdict that is one: what is malformed or off the scale is asked for once more."""
        try:
            return await self._judge_once(model, query, messages, op)
        except ProviderError as error:
            if error.kind is not Kind.PROTOCOL:
                raise
        return await self._judge_once(model, query, messages, op)

    async def _judge_once(self, model: str, query: Query, messages: Sequence[Message], op: str) -> Judgement:
        about: dict[str, Any] = {"criterion": query.criterion}
        began = time.monotonic()
        try:
            verdict = await self.provider.judge(model, query, messages)
            _require_fitting(verdict, query)
        except ProviderError as error:
            await self._fail(op, about, error, self._judge)
            raise
        self._judge.append(verdict.usage or Usage())
        value = shown(verdict.value)
        text = f"{value}: {verdict.reason}" if verdict.reason else value
        await self._done(op, model, about | {"value": verdict.value}, text, verdict.usage, began)
        return replace(verdict, reason=written(verdict.reason))

    async def _done(
        self,
        op: str,
        model: str,
        about: dict[str, Any] | None,
        text: str,
        usage: Usage | None,
        began: float,
        tools: tuple[str, ...] = (),
    ) -> None:
        took = time.monotonic() - began
        call = Call(op=op, model=model, about=about, text=text, usage=usage, duration_secs=took, tools=tools)
        await self._run.called(call)

    async def _fail(self, op: str, about: dict[str, Any], error: ProviderError, spent: list[Usage]) -> None:
        spent.append(error.usage or Usage())
        await self._run.failed(op, about, error)


def _total(calls: Sequence[Usage]) -> Usage | None:
    """What calls used together; None where none of them said anything. No calls are a known zero."""
    used = Usage.total(calls)
    return None if used == Usage() else used


def shown(value: bool | float) -> str:
    """A verdict as people write it."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _require_fitting(verdict: Judgement, query: Query) -> None:
    value = verdict.value
    if isinstance(value, bool) != (query.kind is QueryKind.BOOLEAN) or not isinstance(value, bool | int | float):
        _refuse_verdict(f"a {query.kind.value} verdict was asked for, and the judge said {value!r}", verdict.usage)
    if query.kind is QueryKind.BOOLEAN:
        return
    low = -math.inf if query.min is None else query.min
    high = math.inf if query.max is None else query.max
    if not (math.isfinite(value) and low <= value <= high):
        scale = f"{low:g} to {high:g}"
        _refuse_verdict(f"the judge gave a score of {value:g} on a scale from {scale}", verdict.usage)


def _refuse_verdict(why: str, usage: Usage | None) -> NoReturn:
    raise ProviderError("judge", why, kind=Kind.PROTOCOL, usage=usage)


def _require_watched(request: RespondRequest, reply: AssistantTurn) -> None:
    """Where a case watches tool calls, all must have been seen: else `not_called` would hold wherever nobody looks."""
    if request.mocks is None:
        return
    if reply.mock_calls is None:
        why = f"the case has mocks or a spy, and {request.platform} did not tell which tool calls were made (`mock_calls`)"
        raise ProviderError("respond", why, kind=Kind.PROTOCOL, usage=reply.usage)
    missed = unheard(reply.events, reply.mock_calls, request.mocks)
    if missed is not None:
        why = f"{request.platform} called {missed}, which a mock or spy is about, and told no such call in `mock_calls`"
        raise ProviderError("respond", why, kind=Kind.PROTOCOL, usage=reply.usage)
