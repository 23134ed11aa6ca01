"""Visitors of the pages."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from trueup.daemon import Tokens

TOKENS = Tokens("program-token", "human-token")


class BrowserResolver(AbstractResolver):
    """Finds every name under `localhost` here, as browsers do and not every system does."""

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        assert host.endswith(".localhost")
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def visitor(port: int, host: str = "127.0.0.1") -> aiohttp.ClientSession:
    """A browser without cookies yet."""
    return aiohttp.ClientSession(
        f"http://{host}:{port}",
        cookie_jar=aiohttp.CookieJar(unsafe=True),
        connector=aiohttp.TCPConnector(limit=0, resolver=BrowserResolver()),
    )


@asynccontextmanager
async def let_in(link: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser whose user opened a link."""
    url = URL(link)
    async with visitor(url.port, url.host) as session:
        async with session.get(link) as answer:
            assert answer.status == 200
        yield session
