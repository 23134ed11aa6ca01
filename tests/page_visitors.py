"""Visitors of the pages."""

from __future__ import annotations

import aiohttp

from trueup.daemon import Tokens

TOKENS = Tokens("program-token", "human-token")


def visitor(port: int) -> aiohttp.ClientSession:
    """A browser without cookies yet."""
    return aiohttp.ClientSession(
        f"http://127.0.0.1:{port}",
        cookie_jar=aiohttp.CookieJar(unsafe=True),
        connector=aiohttp.TCPConnector(limit=0),
    )
