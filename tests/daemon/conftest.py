"""A daemon of its own for each test, and clients of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from daemon_clients import Client, Line, over_a_socket
from trueup.daemon import Daemon, listen
from trueup.runs import RunStore


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


@pytest.fixture
async def store(database):
    async with await RunStore.open(database) as store:
        yield store


@pytest.fixture
async def daemon(store):
    async with Daemon(store, grace_secs=0.1, slow_secs=0.2) as daemon:
        yield daemon


@pytest.fixture
async def lines(daemon):
    """Lets clients come: `lines()` is one more."""
    opened: list[Line] = []

    def come(to: Daemon = daemon) -> Line:
        opened.append(Line(to))
        return opened[-1]

    yield come
    for line in opened:
        await line.leave()


@pytest.fixture
async def line(lines) -> Line:
    return lines()


@pytest.fixture
async def client(line) -> Client:
    return line.client


@pytest.fixture
async def front(daemon):
    async with listen(daemon) as front:
        yield front


@pytest.fixture
async def sockets(front):
    """Lets clients come over real sockets: `await sockets()` is one more."""
    async with AsyncExitStack() as stack:

        async def come(url: str = front.url, **headers: str) -> Client:
            return await stack.enter_async_context(over_a_socket(url, **headers))

        yield come
