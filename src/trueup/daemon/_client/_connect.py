"""Finding a daemon, and being let in."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from trueup import __version__
from trueup.core.errors import InputError, Kind, TrueupError

from .._errors import RpcError
from .._methods._session import PROTOCOL_VERSION, Auth, AuthResult, Handshake, HandshakeResult
from .._serve import DEFAULT_PORT, token_folder
from .._tokens import HUMAN_TOKEN_FILE, TOKEN_FILE
from ._client import Client
from ._incoming import Incoming
from ._link import Link

URL_VARIABLE = "TRUEUP_DAEMON_URL"
DEFAULT_URL = f"ws://127.0.0.1:{DEFAULT_PORT}/"

OPENING_SECS = 10.0
CLOSING_SECS = 2.0
# A machine that fell off the network says nothing about it.
HEARTBEAT_SECS = 60.0

_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


@asynccontextmanager
async def connect(
    url: str | None = None, *, token: str | Path | None = None, human: bool = False, agent_id: str | None = None
) -> AsyncIterator[Client]:
    """Talk to a daemon: `async with connect() as client`.

    Without an address it is the one in `TRUEUP_DAEMON_URL`, else the usual port of this machine. A token is given as it
    is or by the path of its file; without one it is that of the user's own daemon. With `human`, the token is the human's,
    who may confirm contracts and approve merges. `agent_id` is whose the runs are that do not say so themselves.
    """
    address = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    shown = await _token(address, token, human=human)
    incoming = Incoming()
    async with aiohttp.ClientSession() as session, Link(await _open(session, address), address, incoming) as link:
        client = Client(link, incoming)
        await _authenticate(client, address, Auth(**{"host_token" if human else "token": shown}, agent_id=agent_id))
        hello = Handshake(PROTOCOL_VERSION, f"trueup {__version__}")
        await client.call("server.handshake", hello, HandshakeResult)
        yield client


async def _token(address: str, token: str | Path | None, *, human: bool) -> str | None:
    """What to show; None where there is nothing, which is enough for a daemon that lets in everybody."""
    if isinstance(token, str):
        return token
    if token is not None:
        return await _read(token)
    # The user's secret is not for whoever answers elsewhere.
    if urlsplit(address).hostname not in _THIS_MACHINE:
        return None
    file = token_folder() / (HUMAN_TOKEN_FILE if human else TOKEN_FILE)
    return await _read(file) if await asyncio.to_thread(file.exists) else None


async def _read(file: Path) -> str:
    try:
        return (await asyncio.to_thread(file.read_text, "ascii")).strip()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: the token cannot be read: {error}") from None


async def _open(session: aiohttp.ClientSession, address: str) -> Any:
    try:
        async with asyncio.timeout(OPENING_SECS):
            return await session.ws_connect(
                address,
                heartbeat=HEARTBEAT_SECS,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSING_SECS),
            )
    except aiohttp.InvalidURL:
        raise InputError(f"{address} is no address of a daemon; it looks like {DEFAULT_URL}") from None
    except aiohttp.WSServerHandshakeError as error:
        raise TrueupError(f"what answers at {address} is no daemon: HTTP {error.status}", kind=Kind.NETWORK) from None
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _nobody(address, error) from None


def _nobody(address: str, error: Exception) -> TrueupError:
    refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
    why = "nobody listens there" if refused else str(error) or "no answer"
    advice = f"start one with `trueup serve`, or say where it is with {URL_VARIABLE}"
    return TrueupError(f"no daemon at {address}: {why}; {advice}", kind=Kind.NETWORK)


async def _authenticate(client: Client, address: str, shown: Auth) -> None:
    try:
        await client.call("session.auth", shown, AuthResult)
    except RpcError as error:
        has_none = shown.token is None and shown.host_token is None
        why = "it wants a token, and none was found" if has_none else str(error)
        advice = "`trueup serve` prints where its tokens are"
        raise TrueupError(
            f"the daemon at {address} did not let this client in: {why}; {advice}", kind=Kind.AUTH
        ) from None
