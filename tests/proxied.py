"""Scenes for the proxy: a vendor behind it, and clients before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from trueup.harness import UsageReported
from trueup.harness.proxy import ModelTurned, Proxy, Upstream
from trueup.testing import EventLog

REAL_KEY = "sk-ant-api03-the-real-key-that-nobody-may-see-0123456789"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def vendor(handler: Handler) -> AsyncIterator[str]:
    """A vendor on loopback that answers everything with one handler."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(request)

    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_vendor(answer: bytes, *, stays: bool = False) -> AsyncIterator[str]:
    """A vendor that sends these bytes whatever it is asked, and hangs up or stays."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(1 << 16)
            writer.write(answer)
            await writer.drain()
            if stays:
                await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@asynccontextmanager
async def proxied(url: str, log: Any = None, **options: Any) -> AsyncIterator[tuple[Proxy, EventLog]]:
    """A proxy on a free port before a vendor that speaks Anthropic's language."""
    log = EventLog() if log is None else log
    async with Proxy([Upstream.anthropic(REAL_KEY, url)], log, port=0, **options) as proxy:
        yield proxy, log


@asynccontextmanager
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


def ask(proxy: Proxy, session: aiohttp.ClientSession, *, key: str | None = None, **options: Any) -> Any:
    """A call of the model through the proxy."""
    headers = {"x-api-key": key or proxy.key, **options.pop("headers", {})}
    body = options.pop("json", {"model": "m-1", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})
    url = proxy.url("anthropic") + options.pop("path", "/v1/messages")
    if "data" not in options:
        options["json"] = body
    return session.post(url, headers=headers, **options)


def turns(log: EventLog) -> list[ModelTurned]:
    return [event for event in log.events if isinstance(event, ModelTurned)]


def usages(log: EventLog) -> list[UsageReported]:
    return [event for event in log.events if isinstance(event, UsageReported)]


def event(name: str, **fields: Any) -> bytes:
    """One server-sent event as Anthropic writes it."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def message(*texts: str, output_tokens: int = 7) -> list[bytes]:
    """A whole streamed answer, event by event."""
    start = {
        "id": "msg_1",
        "model": "m-1",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }
    return [
        event("message_start", message=start),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *(event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}) for text in texts),
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": output_tokens}),
        event("message_stop"),
    ]


async def streamed(request: web.Request, pieces: list[bytes], pause: float = 0) -> web.StreamResponse:
    """Answer with pieces, each sent by itself."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
        await asyncio.sleep(pause)
    await response.write_eof()
    return response
