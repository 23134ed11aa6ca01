"""A vendor on loopback that answers with bodies as the real ones send them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

sys.path.insert(0, str(Path(__file__).parent))

from vendor_bodies import KEY


class Vendor:
    """Answers in the order in which it was told to; the last answer stays. Keeps what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.lost = asyncio.Event()
        self._answers: list[tuple[int, str | bytes, dict[str, str]]] = []
        self._hanging = asyncio.Event()

    def says(self, body: dict[str, Any] | str | bytes, status: int = 200, **headers: str) -> None:
        text = json.dumps(body) if isinstance(body, dict) else body
        self._answers.append((status, text, {name.replace("_", "-"): value for name, value in headers.items()}))

    def hangs(self) -> None:
        self.says("hang", status=0)

    def cuts(self) -> None:
        self.says("cut", status=0)

    def never_stops(self, status: int) -> None:
        self.says("endless", status=status)

    async def heard(self) -> None:
        """Wait until a call has come that is left hanging."""
        await asyncio.wait_for(self._hanging.wait(), 10)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.paths.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        status, body, headers = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if body == "hang":
            return await self._hang()
        if body == "endless":
            return await self._go_on_forever(request, status)
        if body == "cut":
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"content": [')
            request.transport.close()
            return response
        data = body if isinstance(body, bytes) else body.encode()
        kind = headers.pop("content-type", "application/json")
        return web.Response(status=status, body=data, headers=headers, content_type=kind)

    async def _go_on_forever(self, request: web.Request, status: int) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * (1 << 20))
        finally:
            self.lost.set()

    async def _hang(self) -> web.StreamResponse:
        self._hanging.set()
        try:
            await asyncio.sleep(3600)
        finally:
            self.lost.set()
        raise AssertionError("nobody waits for an hour")


@pytest.fixture
async def vendor() -> AsyncIterator[Vendor]:
    vendor = Vendor()
    app = web.Application()
    app.router.add_post("/{path:.*}", vendor.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    vendor.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield vendor
    await runner.cleanup()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for every vendor, and no other way to reach a real one."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
