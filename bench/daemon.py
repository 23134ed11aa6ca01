"""The daemon: proposals with callbacks over many connections, and how soon it is up.

The reference is the least that keeps the same promise: `websockets`, `json`, and a file with an fsync for every turn.
Servers and clients are programs of their own, as in life; the clients drive both servers in turns.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from bench.measure import report
from trueup.core.process import Command, Process, run

CONNECTIONS = 32
SUBMITS = 60
ROUNDS = 5
STARTS = 7
PROMPT = "Make the tests pass, and say what you changed and why. " * 4
OUTPUT = {"cli": "claude", "exit_code": 0, "timed_out": False, "output_tail": "..........\n10 passed in 0.42s\n" * 8}

_encode = msgspec.json.encode


async def be_the_plain_server(folder: str) -> None:
    """Answer the same methods with as little as possible, one file a run, synced after every turn."""
    from websockets.asyncio.server import ServerConnection, serve

    async def talk(client: ServerConnection) -> None:
        run, pending, numbers = None, {}, itertools.count()
        async for frame in client:
            message = json.loads(frame)
            match message.get("method"):
                case "tools.register":
                    await client.send(answer(message, len(message["params"])))
                case "runs.start":
                    run = (Path(folder) / f"{id(client)}.jsonl").open("ab")
                    await client.send(answer(message, {"run_id": str(id(client)), "agent_id": "a"}))
                case "proposal.submit":
                    (action,) = message["params"]["proposal"]["actions"]
                    callback = f"cb-{next(numbers)}"
                    pending[callback] = (message, action)
                    params = {"action_id": action["id"], "tool": action["tool"], "parameters": action["parameters"]}
                    asked = {"jsonrpc": "2.0", "id": callback, "method": "tools.execute", "params": params}
                    await client.send(json.dumps(asked))
                case _:
                    submitted, action = pending.pop(message["id"])
                    if run is not None:
                        run.write(json.dumps({**action, "output": message["result"]}).encode() + b"\n")
                        run.flush()
                        os.fsync(run.fileno())
                    result = {"action_id": action["id"], "status": "succeeded", "output": message["result"]}
                    await client.send(answer(submitted, {"proposal_id": "p", "results": [result]}))

    def answer(request: dict[str, Any], result: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async with serve(talk, "127.0.0.1", 0) as server:
        print(json.dumps({"url": f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"}), flush=True)
        await asyncio.Event().wait()


async def be_the_clients(url: str) -> None:
    """Submit over many connections at once, each waiting for its answers; print the latencies and the whole time."""
    async with aiohttp.ClientSession() as session:
        clients = [await session.ws_connect(url) for _ in range(CONNECTIONS)]
        for client in clients:
            await ask(client, 1, "tools.register", [{"name": "drive_cli", "description": "", "parameters": {}}])
            await ask(client, 2, "runs.start", {"intent": "bench", "agent_id": "a"})
        await asyncio.gather(*(submit(client, 3) for client in clients))
        started = time.perf_counter()
        latencies = await asyncio.gather(*(submit(client, SUBMITS) for client in clients))
        whole = time.perf_counter() - started
        for client in clients:
            await client.close()
    print(json.dumps({"whole": whole, "latencies": [each for some in latencies for each in some]}))


async def submit(client: aiohttp.ClientWebSocketResponse, times: int) -> list[float]:
    """How long each proposal took, from its submission to its result."""
    latencies = []
    for number in range(times):
        action = {"id": "a", "type": "tool_call", "tool": "drive_cli", "parameters": {"cli": "x", "prompt": PROMPT}}
        started = time.perf_counter()
        await ask(
            client, 100 + number, "proposal.submit", {"proposal": {"id": "p", "source": "b", "actions": [action]}}
        )
        latencies.append(time.perf_counter() - started)
    return latencies


async def ask(client: aiohttp.ClientWebSocketResponse, number: int, method: str, params: Any) -> Any:
    """One request, with whatever tools it asks for meanwhile."""
    await client.send_bytes(_encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
    while True:
        message = msgspec.json.decode((await client.receive()).data)
        if message.get("method") == "tools.execute":
            await client.send_bytes(_encode({"jsonrpc": "2.0", "id": message["id"], "result": OUTPUT}))
        elif message.get("id") == number:
            return message["result"]


@asynccontextmanager
async def servers(folder: str) -> AsyncIterator[tuple[str, str]]:
    """The plain server and ours."""
    plain = Command(argv=(sys.executable, "-m", "bench.daemon", "plain", folder))
    async with Process(plain) as reference, Process(_trueup_serve(folder)) as ours:
        yield await _url(reference), await _url(ours)


def _trueup_serve(folder: str) -> Command:
    program = str(Path(sys.executable).with_name("trueup"))
    database = f"sqlite:///{folder}/trueup.db"
    return Command(argv=(program, "serve", "--port", "0", "--no-auth", "--json", "--database-url", database))


async def _url(server: Process) -> str:
    said = ""
    async for line in server.lines():
        said += line
        try:
            url: str = json.loads(said)["url"]
        except ValueError:
            continue
        return url
    raise RuntimeError(f"the server did not start: {(await server.wait()).stderr.text}")


async def _drive(url: str) -> dict[str, Any]:
    finished = await run(Command(argv=(sys.executable, "-m", "bench.daemon", "clients", url), output_limit=1 << 24))
    if finished.exit_code != 0:
        raise RuntimeError(finished.stderr.text)
    measured: dict[str, Any] = json.loads(finished.stdout.text)
    return measured


async def daemon_proposals() -> bool:
    """Proposals with a callback and an open durable run, over many connections."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as folder:
        async with servers(folder) as (plain, ours):
            pairs = [(await _drive(plain), await _drive(ours)) for _ in range(ROUNDS)]
    rates = [
        CONNECTIONS * SUBMITS / statistics.median(each["whole"] for each in some) for some in zip(*pairs, strict=True)
    ]
    latencies = [each for _, measured in pairs for each in measured["latencies"]]
    p50, p99 = statistics.median(latencies), statistics.quantiles(latencies, n=100)[-1]
    many = report(
        f"submit with callback, {CONNECTIONS} connections",
        f"{rates[1]:,.0f}/s",
        "4 x",
        rates[1] >= 4 * rates[0],
        reference=f"{rates[0]:,.0f}/s by a plain server",
        ratio=rates[1] / rates[0],
    )
    even = report(
        "p99 of these submits",
        f"{p99 * 1000:.1f} ms",
        "3 x",
        p99 < 3 * p50,
        reference=f"{p50 * 1000:.1f} ms in the median",
        ratio=p99 / p50,
    )
    return many and even


async def daemon_cold_start() -> bool:
    """From nothing to taking connections."""
    taken = []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory(prefix="trueup-bench-") as folder:
            started = time.perf_counter()
            async with Process(_trueup_serve(folder)) as server:
                await _url(server)
                taken.append(time.perf_counter() - started)
    median = statistics.median(taken)
    return report("cold start of the daemon", f"{median:.2f} s", "0.6 s", median < 0.6)


BENCHES = (daemon_proposals, daemon_cold_start)

if __name__ == "__main__":
    asyncio.run(be_the_plain_server(sys.argv[2]) if sys.argv[1] == "plain" else be_the_clients(sys.argv[2]))
