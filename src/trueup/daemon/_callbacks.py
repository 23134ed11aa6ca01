"""What the daemon asks its client: requests out, answers in, each within its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ._jsonrpc import Answer, encode_notification, encode_request

Send = Callable[[bytes], Awaitable[None]]


class ClientGoneError(Exception):
    """The client went away before it answered."""


class Counts(Struct):
    """What became of callbacks, for whoever wonders."""

    asked: int = 0
    timed_out: int = 0
    # Answers to what was never asked, was answered before, or had run out of time.
    ignored: int = 0


class Callbacks:
    """The questions of one connection that wait for their answers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._gone = False
        self.counts = Counts()

    def next_id(self) -> str:
        """A name for the next question."""
        self.counts.asked += 1
        return f"cb-{self.counts.asked}"

    async def ask(self, request_id: str, method: str, params: Any, within_secs: float) -> Answer:
        """Ask and wait; a `TimeoutError` or a `ClientGoneError` where no answer came."""
        if self._gone:
            raise ClientGoneError
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Answer] = loop.create_future()
        self._waiting[request_id] = waiter
        # One timer that is seldom used is cheaper than a context manager around each question.
        timer = loop.call_later(within_secs, self._expire, waiter)
        try:
            await self._send(encode_request(request_id, method, params))
            return await waiter
        finally:
            timer.cancel()
            self._waiting.pop(request_id, None)

    def _expire(self, waiter: asyncio.Future[Answer]) -> None:
        if not waiter.done():
            self.counts.timed_out += 1
            waiter.set_exception(TimeoutError())

    def settle(self, answer: Answer) -> None:
        """Hand an answer to whoever waits for it; one that nobody waits for is counted and ignored."""
        waiter = self._waiting.pop(answer.id, None) if isinstance(answer.id, str) else None
        if waiter is None or waiter.done():
            self.counts.ignored += 1
        else:
            waiter.set_result(answer)

    async def tell(self, method: str, params: Any) -> None:
        """Say something that needs no answer."""
        if not self._gone:
            await self._send(encode_notification(method, params))

    def abandon(self) -> None:
        """Nobody will answer any more."""
        self._gone = True
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(ClientGoneError())
