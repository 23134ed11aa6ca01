"""The door: connections come in here, and go on as HTTP or as a tunnel.

The HTTP server is aiohttp's, which has no place for CONNECT. So the first bytes are looked at before it gets them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from aiohttp import web

from ._refusal import Refusal

_CONNECT = b"CONNECT "
_END_OF_HEAD = b"\r\n\r\n"
MOST_OF_A_HEAD = 64 << 10

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Tunnel = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Door:
    """Makes a protocol for each connection, and knows those that have not said anything yet and those that tunnel."""

    def __init__(self, serve: web.Server, tunnel: Tunnel, most: int) -> None:
        self.serve = serve
        self.most = most
        self._tunnel = tunnel
        self.silent: set[asyncio.Transport] = set()
        self.tunnels: set[asyncio.Task[None]] = set()

    def __call__(self) -> asyncio.Protocol:
        return _Doorman(self)

    @property
    def is_full(self) -> bool:
        return len(self.silent) + len(self.tunnels) + len(self.serve.connections) >= self.most

    def open_tunnel(self, target: str, transport: asyncio.Transport, early: bytes) -> None:
        task = asyncio.create_task(self._tunnel(target, *streams_of(transport, early)))
        self.tunnels.add(task)
        task.add_done_callback(self.tunnels.discard)

    def close_silent(self) -> None:
        for transport in list(self.silent):
            transport.abort()


class _Doorman(asyncio.Protocol):
    """Reads until it knows who a connection is for."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not checked: the transports of other loops are none by their class.
        self._transport = cast("asyncio.Transport", transport)
        if self._door.is_full:
            why = f"{self._door.most} connections are open, and no more are taken"
            self._turn_away(Refusal(503, "too_many_connections", why, final=False))
        else:
            self._door.silent.add(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._door.silent.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if self._transport.is_closing():
            return
        if not _CONNECT.startswith(self._seen[: len(_CONNECT)]):
            self._hand_to_server()
        elif _END_OF_HEAD in self._seen:
            self._hand_to_tunnel()
        elif len(self._seen) > MOST_OF_A_HEAD:
            self._turn_away(Refusal(431, "head_too_large", "the request has too large a head"))

    def _turn_away(self, refusal: Refusal) -> None:
        self._transport.write(refusal.encode())
        self._transport.close()

    def _hand_to_server(self) -> None:
        self._door.silent.discard(self._transport)
        protocol = self._door.serve()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(self._seen)

    def _hand_to_tunnel(self) -> None:
        self._door.silent.discard(self._transport)
        head, _, early = self._seen.partition(_END_OF_HEAD)
        words = head.split(b"\r\n")[0].decode("latin-1").split(" ")
        self._door.open_tunnel(words[1], self._transport, early)


def streams_of(transport: asyncio.Transport, early: bytes) -> Streams:
    """The streams of a connection that somebody else accepted, with what was already read of it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if early:
        reader.feed_data(early)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
