"""The proxy: what it adds to the first byte, and what it leaves of a stream's throughput.

The vendor and the agent are programs of their own, as in life; the agent asks in turns with and without the proxy.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from bench.measure import milliseconds, more_milliseconds, report
from trueup.core.process import Command, Process, run
from trueup.harness.proxy import Proxy, Upstream
from trueup.testing import EventLog

FIRST_BYTES = 200
STREAMS = 15
EVENTS = 20_000
DELTA = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "text_delta", "text": " a few words of an answer"},
}
EVENT = f"event: content_block_delta\ndata: {json.dumps(DELTA)}\n\n".encode()
USAGE = {"input_tokens": 10, "output_tokens": 10}
START = {"type": "message_start", "message": {"model": "m", "usage": USAGE}}
STOP = b'event: message_stop\ndata: {"type": "message_stop"}\n\n'


async def be_the_vendor() -> None:
    """Stream as many events as are asked for, each sent by itself."""

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"event: message_start\ndata: {json.dumps(START)}\n\n".encode())
        for _ in range(asked["max_tokens"]):
            await response.write(EVENT)
        await response.write(STOP)
        return response

    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


async def be_the_agent(direct: str, proxied: str, key: str) -> None:
    """Ask both in turns, and print what it took: to the first byte, and to the end of a long stream."""
    async with aiohttp.ClientSession() as session:

        async def ask(url: str, events: int) -> tuple[float, float]:
            started = time.perf_counter()
            body = {"max_tokens": events, "messages": [{"role": "user", "content": "x" * 20_000}]}
            async with session.post(f"{url}/v1/messages", json=body, headers={"x-api-key": key}) as answer:
                await answer.content.readany()
                first = time.perf_counter() - started
                async for _ in answer.content.iter_any():
                    pass
            return first, time.perf_counter() - started

        for url in (direct, proxied):
            await ask(url, 100)
        firsts = [[(await ask(url, 1))[0] for url in (direct, proxied)] for _ in range(FIRST_BYTES)]
        wholes = [[(await ask(url, EVENTS))[1] for url in (direct, proxied)] for _ in range(STREAMS)]
    print(json.dumps([[statistics.median(column) for column in zip(*rows, strict=True)] for rows in (firsts, wholes)]))


@asynccontextmanager
async def vendor() -> AsyncIterator[str]:
    argv = (sys.executable, "-m", "bench.proxy", "vendor")
    async with Process(Command(argv=argv, cwd=Path(__file__).parents[1])) as process:
        yield f"http://127.0.0.1:{await anext(process.lines())}"


async def proxy_overhead() -> bool:
    """An agent's calls through the proxy, against the same calls of the same vendor without it."""
    async with vendor() as url, Proxy([Upstream.anthropic("k" * 20, url)], EventLog(), port=0) as proxy:
        argv = (sys.executable, "-m", "bench.proxy", "agent", url, proxy.url("anthropic"), proxy.key)
        finished = await run(Command(argv=argv, cwd=Path(__file__).parents[1], timeout_secs=300))
    if finished.exit_code != 0:
        raise RuntimeError(finished.stderr.text)
    (first, first_proxied), (whole, whole_proxied) = json.loads(finished.stdout.text)
    added, kept = first_proxied - first, whole / whole_proxied
    rate = EVENTS * len(EVENT) / whole_proxied / 1e6
    soon = report(
        "proxy, to the first byte",
        more_milliseconds(added),
        "+5 ms",
        added < 0.005,
        reference=f"{milliseconds(first)} without",
        ratio=first_proxied / first,
    )
    wide = report(
        "proxy, throughput of a stream",
        f"{rate:.0f} MB/s",
        "0.95 x",
        kept >= 0.95,
        reference=f"{rate / kept:.0f} MB/s without",
        ratio=kept,
    )
    return soon and wide


BENCHES = (proxy_overhead,)

if __name__ == "__main__":
    asyncio.run(be_the_vendor() if sys.argv[1] == "vendor" else be_the_agent(*sys.argv[2:]))
