"""Requests to an ACP agent, by the SDK, with a clock for those that need no model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from acp.core import Connection, MethodHandler, RequestError
from acp.meta import AGENT_METHODS
from acp.utils import serialize_params
from pydantic import BaseModel, ValidationError

from trueup.core.errors import Kind

from ..agents import Failure
from ._endings import failure_of_error
from ._line import Line
from ._modes import UnusableError

Answer = TypeVar("Answer", bound=BaseModel)

# What a conversation ends with that was led and did not succeed.
FAILURES = (UnusableError, RequestError, ValidationError)


class UnansweredError(UnusableError):
    """An agent does not answer."""


class Wire:
    """The connection to one agent. Methods are named as in the SDK."""

    def __init__(self, handler: MethodHandler, line: Line, answer_secs: float) -> None:
        self._connection = Connection(handler, line)
        self._answer_secs = answer_secs

    async def ask(self, method: str, params: BaseModel, answer: type[Answer]) -> Answer:
        """Ask for something that an agent knows at once."""
        async with _in_time(AGENT_METHODS[method], self._answer_secs):
            return await self.wait_for(method, params, answer)

    async def tell(self, method: str, params: BaseModel) -> Mapping[str, Any]:
        """As `ask`, with the answer as it is: the SDK drops what it does not know of options."""
        async with _in_time(AGENT_METHODS[method], self._answer_secs):
            told = await self._connection.send_request(AGENT_METHODS[method], serialize_params(params))
        return told if isinstance(told, dict) else {}

    async def wait_for(self, method: str, params: BaseModel, answer: type[Answer]) -> Answer:
        """Ask for something that takes as long as it takes."""
        told = await self._connection.send_request(AGENT_METHODS[method], serialize_params(params))
        return answer.model_validate(told)

    async def notify(self, method: str, params: BaseModel) -> None:
        await self._connection.send_notification(AGENT_METHODS[method], serialize_params(params))

    async def close(self) -> None:
        await self._connection.close()


def failure_in(error: Exception) -> Failure:
    """What one of the `FAILURES` says."""
    match error:
        case UnusableError():
            return error.failure
        case RequestError():
            return failure_of_error(error.code, str(error), error.data)
        case ValidationError():
            wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            return Failure(f"the agent answered what is not ACP: {'; '.join(wrong)}", Kind.PROTOCOL)
    raise error


@asynccontextmanager
async def _in_time(method: str, secs: float) -> AsyncIterator[None]:
    clock = asyncio.timeout(secs)
    try:
        async with clock:
            yield
    except TimeoutError:
        if not clock.expired():
            raise
        what = f"the agent did not answer {method!r} within {secs:g} s: is it an ACP agent?"
        raise UnansweredError(Failure(what, Kind.TIMEOUT)) from None
