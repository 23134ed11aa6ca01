"""What a page is told while it is open: Server-Sent Events, each a fragment of HTML that was rendered here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

from aiohttp import web
from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.text import written

# A browser asks with at most six connections at a time, and closes those of pages that nobody looks at.
MOST_STREAMS = 128
# How soon it is noticed that a browser is gone, where nothing is to be told.
BEAT_SECS = 15.0
# A browser that takes nothing for so long is as good as gone.
SENDING_SECS = 30.0
# How soon a browser comes again.
RETRY_MS = 2000
_BEAT = b":\n\n"

Send = Callable[[bytes], Awaitable[None]]


class Fragment(Struct, frozen=True):
    """Something to show. A browser that comes again says the `id` of the last one that it got."""

    event: str
    html: str = ""
    id: str | None = None

    def encode(self) -> bytes:
        """As the wire has it: every line of the text is one of `data`."""
        head = f"event: {self.event}\n" + ("" if self.id is None else f"id: {self.id}\n")
        lines = written(self.html).splitlines() or [""]
        return (head + "".join(f"data: {line}\n" for line in lines) + "\n").encode()


class Streams:
    """The open streams of a daemon's pages. They end with it."""

    def __init__(self) -> None:
        self._ending = asyncio.Event()
        self._count = 0

    async def end(self, _: web.Application) -> None:
        """Let every stream end, and begin no other."""
        self._ending.set()

    async def send(self, request: web.Request, fragments: AsyncGenerator[Fragment, None]) -> web.StreamResponse:
        """Send fragments until there are no more, the browser is gone, or the daemon ends.

        The next one is asked for when the last one was taken: a slow browser holds up its own stream and nothing else.
        """
        if self._count >= MOST_STREAMS or self._ending.is_set():
            raise web.HTTPServiceUnavailable
        self._count += 1
        try:
            answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
            await answer.prepare(request)
            async with aclosing(fragments):
                # What breaks a stream, a browser's going or a database that is away, is over when it comes again.
                with suppress(ConnectionError, TrueupError):
                    await self._pump(sender(request, answer), fragments)
        finally:
            self._count -= 1
        return answer

    async def _pump(self, send: Send, fragments: AsyncGenerator[Fragment, None]) -> None:
        await send(f"retry: {RETRY_MS}\n\n".encode())
        ending: asyncio.Future[Any] = asyncio.ensure_future(self._ending.wait())
        coming: asyncio.Future[Any] = asyncio.ensure_future(anext(fragments))
        try:
            while not ending.done():
                await asyncio.wait({ending, coming}, timeout=BEAT_SECS, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    await send(coming.result().encode())
                    coming = asyncio.ensure_future(anext(fragments))
                elif not ending.done():
                    await send(_BEAT)
        except StopAsyncIteration:
            pass
        finally:
            for each in (ending, coming):
                each.cancel()
            await asyncio.wait({ending, coming})


def sender(request: web.Request, answer: web.StreamResponse) -> Send:
    """Sends parts of an answer, and gives a browser up that takes nothing of it."""

    async def send(content: bytes) -> None:
        try:
            async with asyncio.timeout(SENDING_SECS):
                await answer.write(content)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionError("the browser takes nothing") from None

    return send
