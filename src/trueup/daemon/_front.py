"""The front of the daemon: WebSocket at `/`, `GET /health`, and pages where there are any, on one port of this machine."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol, Self

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware
from msgspec import Struct

from trueup import __version__
from trueup.core.errors import InputError

from ._callbacks import ClientGoneError
from ._connection import Connection
from ._daemon import Daemon
from ._errors import Code, RpcError
from ._jsonrpc import encode_error
from ._method import Level

HOST = "127.0.0.1"
HOST_6 = "::1"
MOST_FRAME_BYTES = 64 << 20
MOST_CONNECTIONS = 512
# Whoever has shown no token yet. Above that the one who has waited longest goes, so that nobody can keep others out by
# coming often and saying nothing.
MOST_STRANGERS = 128
# A client that takes nothing of so much for so long is as good as gone. It may be busy with a tool meanwhile.
CROWDED_BYTES = 64 << 10
SENDING_SECS = 300.0
CLOSING_SECS = 2.0

_NAMES = frozenset({HOST, "localhost", f"[{HOST_6}]"})
_NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_PORT = re.compile(r":\d+$")
_LOG = logging.getLogger(__name__)
# What somebody sends that is no HTTP is answered, and is no mistake of ours to tell of.
_LOG.addFilter(lambda told: not isinstance((told.exc_info or (None, None))[1], HttpProcessingError))
_TOO_LARGE = f"frame too large: send at most {MOST_FRAME_BYTES >> 20} MiB at once"


class _Socket(web.WebSocketResponse):
    """A WebSocket that says why, where a frame is too large to be read."""

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if code == WSCloseCode.MESSAGE_TOO_BIG and not self.closed:
            message = _TOO_LARGE.encode()
            with suppress(ConnectionError):
                error = RpcError(Code.FRAME_TOO_LARGE, _TOO_LARGE)
                await self.send_frame(encode_error(None, error), WSMsgType.TEXT)
        return await super().close(code=code, message=message, drain=drain)


class _Guest(Struct, frozen=True):
    """A client at its socket, and who serves it."""

    socket: _Socket
    connection: Connection
    transport: asyncio.Transport
    serving: asyncio.Task[Any] | None

    async def dismiss(self, code: WSCloseCode, why: str) -> None:
        """End the connection with a word, if that is taken; one who does not read is not waited for."""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(CLOSING_SECS):
                await self.socket.close(code=code, message=why.encode())
        self.transport.abort()


Admit = Callable[[web.Request], None]


class Pages(Protocol):
    """What people see of a daemon in a browser."""

    def add_to(self, application: web.Application, admit: Admit) -> None:
        """Put the pages on their paths. Whoever may see them is to be admitted, so that they can stay."""
        ...

    @property
    def name(self) -> str:
        """The name of this machine that browsers know them by."""
        ...

    def link(self, host: str, port: int) -> str:
        """An address that lets a person in, once."""
        ...


class Front:
    """Takes connections for a daemon: `async with Front(daemon).listening(port) as front`."""

    def __init__(self, daemon: Daemon, pages: Pages | None = None) -> None:
        self._daemon = daemon
        self._pages = pages
        self._guests: dict[asyncio.BaseTransport, _Guest] = {}
        # By the time they came; some are gone or known already.
        self._strangers: dict[web.RequestHandler, None] = {}
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"ws://{HOST}:{self.port}/"

    @property
    def page_link(self) -> str | None:
        """An address that lets a person see the pages, once; None where there are none."""
        return None if self._pages is None else self._pages.link(HOST, self.port)

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[Self]:
        """Take connections at a port of this machine, or at any free one where it is 0, until the block ends."""
        names = _NAMES if self._pages is None else _NAMES | {self._pages.name}
        application = web.Application(middlewares=[_refuse_strangers(names)])
        application.router.add_get("/", self._connect)
        application.router.add_get("/health", self._health)
        if self._pages is not None:
            self._pages.add_to(application, self._admit)
        # It is waited for so long twice: until what is being answered is done, and until it has been given up.
        patience = CLOSING_SECS / 2
        runner = web.AppRunner(
            application, handle_signals=False, access_log=None, logger=_LOG, shutdown_timeout=patience
        )
        await runner.setup()
        servers: list[asyncio.Server] = []
        try:
            servers += await self._open(runner, port)
            self.port = servers[0].sockets[0].getsockname()[1]
            yield self
        finally:
            for server in servers:
                server.close()
            await self._close()
            await runner.cleanup()

    async def _open(self, runner: web.AppRunner, port: int) -> list[asyncio.Server]:
        try:
            server = await self._bind(runner, HOST, port)
        except OSError as error:
            raise _explain(port, error) from None
        # A browser looks for the name of the pages at the other address first, and must find nobody else there.
        try:
            found = server.sockets[0].getsockname()[1]
            return [server] if self._pages is None else [server, await self._bind(runner, HOST_6, found)]
        except OSError as error:
            if error.errno in _NO_IPV6:
                return [server]
            server.close()
            if port == 0 and error.errno == errno.EADDRINUSE:
                return await self._open(runner, port)
            raise _explain(port, error) from None

    async def _bind(self, runner: web.AppRunner, host: str, port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        return await loop.create_server(partial(self._welcome, runner), host, port, reuse_address=True)

    def _welcome(self, runner: web.AppRunner) -> web.RequestHandler:
        """Somebody who just came, and has a while to ask for something and to show a token."""
        self._strangers = {each: None for each in self._strangers if not self._is_known(each)}
        if len(self._strangers) >= MOST_STRANGERS:
            self._send_away(next(iter(self._strangers)))
        stranger: web.RequestHandler = runner.server()  # type: ignore[misc]
        self._strangers[stranger] = None
        asyncio.get_running_loop().call_later(self._daemon.token_within_secs, self._send_away, stranger)
        return stranger

    def _admit(self, request: web.Request) -> None:
        """Whoever looks at pages may stay."""
        self._strangers.pop(request.protocol, None)

    def _is_known(self, stranger: web.RequestHandler) -> bool:
        guest = None if stranger.transport is None else self._guests.get(stranger.transport)
        return guest is not None and guest.connection.level is not Level.NOTHING

    def _send_away(self, stranger: web.RequestHandler) -> None:
        if stranger not in self._strangers:
            return
        del self._strangers[stranger]
        if stranger.transport is not None and not self._is_known(stranger):
            stranger.transport.abort()

    async def _close(self) -> None:
        """Tell every client that the daemon ends, and wait until what was begun for them is written down."""
        guests = tuple(self._guests.values())
        goodbyes = (guest.dismiss(WSCloseCode.GOING_AWAY, "the daemon ends") for guest in guests)
        await asyncio.gather(*goodbyes, return_exceptions=True)
        if serving := {guest.serving for guest in guests if guest.serving is not None}:
            await asyncio.wait(serving, timeout=CLOSING_SECS)

    async def _health(self, _: web.Request) -> web.Response:
        daemon = self._daemon
        return web.json_response(
            {"status": "ok", "version": __version__, "connections": daemon.connections, "open_runs": len(daemon.runs)}
        )

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            if self._pages is not None:
                raise web.HTTPSeeOther("/runs")
            return web.Response(text=f"trueup {__version__}: JSON-RPC 2.0 over WebSocket is spoken here\n")
        known = sum(guest.connection.level is not Level.NOTHING for guest in self._guests.values())
        if known >= MOST_CONNECTIONS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_CONNECTIONS} clients are connected already\n")
        socket = _Socket(max_msg_size=MOST_FRAME_BYTES, compress=False, decode_text=False, timeout=CLOSING_SECS)
        await socket.prepare(request)
        if (transport := request.transport) is None:
            return socket
        connection = self._daemon.connect(partial(_send, socket, transport))
        guest = self._guests[transport] = _Guest(socket, connection, transport, asyncio.current_task())
        try:
            await connection.serve(_frames(socket))
            if not socket.closed:
                await guest.dismiss(WSCloseCode.POLICY_VIOLATION, "authenticate first")
        finally:
            del self._guests[transport]
        return socket


def _refuse_strangers(names: Container[str]) -> Middleware:
    """A page of a browser says where it comes from; only one that was served here may come in.

    A name that leads here from elsewhere would make a foreign page ours, so the host must be this machine's too.
    """

    @web.middleware
    async def refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get("Host", "")
        if _PORT.sub("", host) not in names:
            raise web.HTTPForbidden(text=f"this is a daemon of {HOST}, not of {host!r}\n")
        # Another port than ours is one that was forwarded here.
        if request.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise web.HTTPForbidden(text="pages of other origins cannot drive this daemon\n")
        return await handler(request)

    return refuse


async def _frames(socket: _Socket) -> AsyncIterator[bytes]:
    async for message in socket:
        if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            yield message.data


async def _send(socket: _Socket, transport: asyncio.Transport, frame: bytes) -> None:
    try:
        # Nearly always there is room at once; a timer for each frame would cost more than sending it.
        if transport.get_write_buffer_size() + len(frame) < CROWDED_BYTES:
            await socket.send_frame(frame, WSMsgType.TEXT)
        else:
            async with asyncio.timeout(SENDING_SECS):
                await socket.send_frame(frame, WSMsgType.TEXT)
    except TimeoutError:
        transport.abort()
        raise ClientGoneError from None
    except (ConnectionError, RuntimeError):
        raise ClientGoneError from None


def _explain(port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(f"port {port} is taken; is a daemon running already? Choose another one with --port")
    return InputError(f"cannot listen at port {port}: {error.strerror}; choose another one with --port")
