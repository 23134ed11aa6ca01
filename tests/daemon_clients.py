"""Clients of a daemon: through nothing but the dispatcher, or over a real socket."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from trueup.core.process import Command, Process
from trueup.daemon import Daemon

PATIENCE_SECS = 20
TRUEUP = str(Path(sys.executable).with_name("trueup"))


class WireError(Exception):
    """An error that came back."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


class Client:
    """Speaks JSON-RPC over whatever it is given: `call` and be answered; tools are run as they are asked for."""

    def __init__(self, send: Callable[[str | bytes], Awaitable[None]], frames: AsyncIterator[str | bytes]) -> None:
        self._send = send
        self._frames = frames
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self.tools: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.asked: list[dict[str, Any]] = []
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.unclaimed: asyncio.Queue[Any] = asyncio.Queue()
        self.ended = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._busy: set[asyncio.Task[None]] = set()

    async def call(self, method: str, params: Any = None, *, request_id: Any = None) -> Any:
        answer = await asyncio.wait_for(await self.begin(method, params, request_id=request_id), PATIENCE_SECS)
        if "error" in answer:
            raise WireError(answer["error"])
        return answer["result"]

    async def begin(self, method: str, params: Any = None, *, request_id: Any = None) -> asyncio.Future[dict[str, Any]]:
        request_id = f"r{next(self._ids)}" if request_id is None else request_id
        self._waiting[request_id] = asyncio.get_running_loop().create_future()
        await self.send(
            {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {} if params is None else params}
        )
        return self._waiting[request_id]

    async def send(self, message: Any) -> None:
        await self._send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def next_unclaimed(self) -> Any:
        return await asyncio.wait_for(self.unclaimed.get(), PATIENCE_SECS)

    async def next_told(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.told.get(), PATIENCE_SECS)

    async def _read(self) -> None:
        try:
            async for frame in self._frames:
                self._take(json.loads(frame))
        finally:
            self.ended.set()
            for waiter in self._waiting.values():
                waiter.cancel()

    def _take(self, message: Any) -> None:
        if isinstance(message, dict) and "method" in message:
            if "id" not in message:
                self.told.put_nowait(message)
                return
            self.asked.append(message)
            task = asyncio.create_task(self._run_tool(message))
            self._busy.add(task)
            task.add_done_callback(self._busy.discard)
        elif isinstance(message, dict) and message.get("id") in self._waiting:
            waiter = self._waiting.pop(message["id"])
            if not waiter.done():
                waiter.set_result(message)
        else:
            self.unclaimed.put_nowait(message)

    async def _run_tool(self, request: dict[str, Any]) -> None:
        output = self.tools[request["params"]["tool"]](request["params"])
        if asyncio.iscoroutine(output):
            output = await output
        if output is not SILENCE:
            await self.send({"jsonrpc": "2.0", "id": request["id"], **answer(output)})

    async def close(self) -> None:
        for task in (*self._busy, self._reader):
            task.cancel()
        await asyncio.gather(*self._busy, self._reader, return_exceptions=True)


SILENCE = object()


class ToolError(Exception):
    """Given by a tool in place of an output."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data


def answer(output: Any) -> dict[str, Any]:
    if isinstance(output, ToolError):
        return {"error": {"code": -32000, "message": str(output), **({"data": output.data} if output.data else {})}}
    return {"result": output}


class Line:
    """A connection without a transport: frames by a queue, in both directions."""

    def __init__(self, daemon: Daemon) -> None:
        self._in: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self._out: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self.connection = daemon.connect(self._out.put)
        self.client = Client(self._in.put, self._frames(self._out))
        self._serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        await self.connection.serve(self._frames(self._in))
        await self._out.put(None)

    async def _frames(self, queue: asyncio.Queue[str | bytes | None]) -> AsyncIterator[str | bytes]:
        while (frame := await queue.get()) is not None:
            yield frame

    async def leave(self) -> None:
        await self._in.put(None)
        await self._serving
        await self.client.close()


@asynccontextmanager
async def over_a_socket(url: str, **headers: str):
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        socket = await stack.enter_async_context(session.ws_connect(url, headers=headers, max_msg_size=0))

        async def send(frame: str | bytes) -> None:
            await (socket.send_str(frame) if isinstance(frame, str) else socket.send_bytes(frame))

        async def frames() -> AsyncIterator[str]:
            async for message in socket:
                yield message.data

        client = Client(send, frames())
        client.socket = socket
        try:
            yield client
        finally:
            await client.close()


class Served:
    """A `trueup serve` in a process of its own, as it told where it is."""

    def __init__(self, process: Process, where: dict[str, Any]) -> None:
        self.process = process
        self.url: str = where["url"]
        self.where = where

    @property
    def token(self) -> str:
        return Path(self.where["token_file"]).read_text().strip()

    @property
    def human_token(self) -> str:
        return Path(self.where["human_token_file"]).read_text().strip()


@asynccontextmanager
async def serving(*arguments: str, port: int = 0, cwd: Path | None = None, **environ: str) -> AsyncIterator[Served]:
    """A real daemon, stopped at the end."""
    argv = (TRUEUP, "serve", "--json", "--port", str(port), *arguments)
    async with Process(Command(argv=argv, env=os.environ | environ, cwd=cwd or Path.cwd(), grace_secs=20)) as process:
        async with asyncio.timeout(60):
            line = await anext(aiter(process.lines()))
        yield Served(process, json.loads(line))
        process.stop()
        await process.wait()
