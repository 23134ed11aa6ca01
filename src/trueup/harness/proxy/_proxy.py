"""The proxy: listens, lets in whom it knows, and stops when it has to."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from trueup.core.errors import InfrastructureError, InputError, TrueupError
from trueup.core.protocols import Recorder

from ._cassette import Cassette
from ._door import MOST_OF_A_HEAD, Door
from ._hosts import Allowed
from ._redact import Redactor
from ._refusal import Refusal
from ._relay import Relay
from ._scribe import Scribe
from ._tunnel import open_tunnel, pump_both
from ._turn import Price, Turn
from ._turnstile import Admit, Turnstile
from ._upstream import Upstream, shown_keys
from ._wires import Reading

LOOPBACK = "127.0.0.1"
BACKLOG = 1024
# What is asked at once is let through before any of it is accounted for.
AT_ONCE = 32
# Each is an open file of this process, which needs some for itself.
CONNECTIONS = 512
IDLE_SECS = 600.0
MOST_NAMES_KEPT = 1000
SHUTDOWN_SECS = 1.0
# By Linux; what is longer cannot be bound.
LONGEST_SOCKET_PATH = 107
# What an agent sends that is no HTTP is answered, and is nothing that a person has to read about.
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())
_HELLO = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """An agent's only way out: `async with Proxy(upstreams, recorder, socket=…) as proxy`.

    Args:
        upstreams: the vendors that are served below `/NAME/`.
        recorder: is told of every call of a model (`ModelTurned`), and of what it used (`UsageReported`). When it
            raises, the proxy serves nothing more: `exhausted` is set, and `objection` is what it raised.
        socket: a path to listen on; for a sandbox that sees its folder.
        port: a port of loopback to listen on, 0 for a free one; for an agent without a sandbox.
        allowed: hosts that may be reached by CONNECT and by plain HTTP.
        cassette: records all answers, or gives them in the vendors' place.
        admit: is asked before each call of a model, with the number of those under way. When it raises, the call is not
            made, and nothing more is served.
        price: what a call costs that the vendor names no price for.
        idle_secs: how long a vendor may keep silent.
        at_once: how many calls of models may flow at the same time; the others wait.
        connections: how many connections of agents are taken; more are turned away.
        trust_env: whether the user's own proxy settings are used to reach the vendors.

    Attributes:
        key: what the agent shows instead of a real key.
        refused: hosts that were asked for and not allowed, and how often.
    """

    def __init__(
        self,
        upstreams: Iterable[Upstream],
        recorder: Recorder,
        *,
        socket: str | Path | None = None,
        port: int | None = None,
        allowed: Iterable[Allowed] = (),
        cassette: Cassette | None = None,
        admit: Admit | None = None,
        price: Price | None = None,
        idle_secs: float = IDLE_SECS,
        at_once: int = AT_ONCE,
        connections: int = CONNECTIONS,
        trust_env: bool = False,
    ) -> None:
        if socket is None and port is None:
            raise TypeError("a Proxy listens on a socket, a port, or both")
        self.key = f"trueup-{secrets.token_urlsafe(24)}"
        self.port = port
        self.socket = None if socket is None else Path(socket)
        self.exhausted = asyncio.Event()
        self.objection: Exception | None = None
        self.refused: Counter[str] = Counter()
        self._upstreams = {each.name: each for each in upstreams}
        self._allowed = tuple(allowed)
        self._cassette = cassette
        self._price = price
        self._idle_secs = idle_secs
        self._connections = connections
        self._trust_env = trust_env
        self._redactor = Redactor([self.key, *(each.key for each in self._upstreams.values() if each.key)])
        self._scribe = Scribe(recorder, self._object)
        self._turnstile = Turnstile(at_once, admit, self._scribe.settled, self._object)
        self._inside: set[asyncio.Task[object]] = set()
        self._flowing: set[asyncio.Task[object]] = set()
        self._is_over = False
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            if self._cassette is not None:
                await self._cassette.open(self._redactor)
                opening.callback(self._cassette.close)
            await opening.enter_async_context(self._writing())
            self._relay = Relay(
                self._redactor,
                self._cassette,
                self._scribe.write_down,
                idle_secs=self._idle_secs,
                trust_env=self._trust_env,
            )
            opening.push_async_callback(self._relay.close)
            door = await opening.enter_async_context(self._serving())
            await self._listen(door, opening)
            self._open = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, trace)
        if error is None and self.objection is not None and not isinstance(self.objection, TrueupError):
            raise self.objection

    def url(self, name: str, port: int | None = None) -> str:
        """The base URL for an agent of one of the upstreams, where the proxy is at a port of the agent's loopback."""
        return self._upstreams[name].url_at(self._origin(port))

    def environment(self, port: int | None = None) -> dict[str, str]:
        """The variables that lead an agent here, where the proxy is at a port of the agent's own loopback.

        Base URLs and keys by the names that the vendors' libraries know; the proxy for everything else. An agent that
        uses its own credentials is given no key.
        """
        origin = self._origin(port)
        told = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), origin)
        told |= dict.fromkeys(("NO_PROXY", "no_proxy"), f"{LOOPBACK},localhost")
        for upstream in self._upstreams.values():
            if upstream.variables is not None:
                base_url, key = upstream.variables
                told[base_url] = upstream.url_at(origin)
                if not upstream.passes_through:
                    told[key] = self.key
        return told

    async def settled(self) -> None:
        """Wait until everything that went through until now has been told to the recorder."""
        await self._scribe.settled()

    async def cut_off(self) -> None:
        """Serve nothing more, since the agent is gone; what it left unfinished is told to the recorder."""
        self._is_over = True
        await _end(self._inside)
        await self._scribe.settled()

    def _origin(self, port: int | None) -> str:
        seen_at = self.port if port is None else port
        if not seen_at:
            raise TypeError("this Proxy has no port of its own: say at which one the agent sees it")
        return f"http://{LOOPBACK}:{seen_at}"

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """With the scribe at work; in the end everything is written down."""
        task = asyncio.create_task(self._scribe.write())
        try:
            yield
            await self._scribe.settled()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[Door]:
        """With a door through which connections can come; in the end nobody is inside."""
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            logger=_log,
            auto_decompress=False,
            max_line_size=MOST_OF_A_HEAD,
            max_field_size=MOST_OF_A_HEAD,
        )
        self._door = Door(server, self._tunnel, self._connections)
        try:
            yield self._door
        finally:
            self._door.close_silent()
            await _end(self._inside)
            await _end(self._door.tunnels)
            server.pre_shutdown()
            await server.shutdown(SHUTDOWN_SECS)

    async def _listen(self, door: Door, opening: AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self.port is not None:
                listener = await loop.create_server(door, LOOPBACK, self.port, backlog=BACKLOG)
                opening.callback(listener.close)
                self.port = listener.sockets[0].getsockname()[1]
            if self.socket is not None:
                _refuse_long(self.socket)
                at_path = await loop.create_unix_server(door, str(self.socket), backlog=BACKLOG)
                opening.callback(_remove, self.socket)
                opening.callback(at_path.close)
                # Whoever can see the folder may be anybody; only this user may connect.
                self.socket.chmod(0o600)
        except OSError as error:
            where = f"port {self.port}" if self.socket is None else f"{self.socket}"
            raise InfrastructureError(f"the proxy cannot listen on {where}: {error}; choose another") from None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        with _among(self._inside):
            try:
                return await self._serve(request)
            except Refusal as refusal:
                return web.Response(status=refusal.status, headers=refusal.headers, body=refusal.body)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        target = request.raw_path
        if request.method == "CONNECT":
            raise Refusal(400, "late_connect", "a tunnel needs a connection of its own")
        if "upgrade" in request.headers:
            raise Refusal(426, "no_upgrade", "only plain HTTP is spoken here, and no WebSocket")
        if target.startswith("/"):
            return await self._call(request, target)
        self._refuse_if_exhausted()
        if not target.startswith("http://"):
            raise Refusal(400, "bad_target", f"{target!r} cannot be fetched; use CONNECT for https")
        with self._counting(request.url.authority):
            return await self._relay.visit(request, self._allowed)

    async def _call(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        name, slash, path = target[1:].partition("/")
        upstream = self._upstreams.get(name)
        if upstream is None:
            known = ", ".join(f"/{each}/" for each in self._upstreams) or "nothing"
            raise Refusal(403, "no_such_upstream", f"{target!r} leads nowhere: {known} is served here")
        upstream.refuse_strangers(request.headers, request.query, self.key)
        endpoint = upstream.endpoint(request.method, f"{slash}{path}")
        if upstream.passes_through:
            for secret in shown_keys(request.headers, request.query):
                self._redactor.learn(secret)
        if endpoint is None or endpoint.reading is None:
            return await self._flow(request, upstream, f"{slash}{path}", None)
        async with self._turnstile.passed():
            return await self._flow(request, upstream, f"{slash}{path}", endpoint.reading())

    async def _flow(
        self, request: web.BaseRequest, upstream: Upstream, path: str, reading: Reading | None
    ) -> web.StreamResponse:
        self._refuse_if_exhausted()
        turn = Turn(upstream.name, reading, self._redactor, self._price)
        try:
            with _among(self._flowing):
                return await self._relay.call(request, upstream, path, turn)
        except asyncio.CancelledError:
            turn.cut("the budget is used up" if self.exhausted.is_set() else "the agent hung up")
            raise
        finally:
            self._scribe.note(turn.told())

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._refuse_if_exhausted()
            with self._counting(target):
                there = await open_tunnel(target, self._allowed)
            writer.write(_HELLO)
            await pump_both((reader, writer), there)
        except Refusal as refusal:
            writer.write(refusal.encode())
        finally:
            writer.close()

    @contextmanager
    def _counting(self, target: str) -> Iterator[None]:
        try:
            yield
        except Refusal as refusal:
            known = target in self.refused or len(self.refused) < MOST_NAMES_KEPT
            if refusal.status == 403 and known:
                self.refused[target] += 1
            raise

    def _refuse_if_exhausted(self) -> None:
        if self._is_over:
            raise Refusal(403, "agent_gone", "the agent's turn is over, nothing more is served")
        if self.objection is not None:
            raise Refusal(403, "budget_exhausted", f"the budget is used up, nothing more is served: {self.objection}")

    def _object(self, error: Exception) -> None:
        """Serve nothing more, and cut what still flows."""
        if self.objection is not None:
            return
        self.objection = error
        self.exhausted.set()
        for task in (*self._flowing, *self._door.tunnels):
            task.cancel()


@contextmanager
def _among(tasks: set[asyncio.Task[object]]) -> Iterator[None]:
    """With the current task in a set of those that can be ended."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - tells the type
    tasks.add(task)
    try:
        yield
    finally:
        tasks.discard(task)


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def _refuse_long(path: Path) -> None:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise InputError(
            f"{path} is too long for a socket: at most {LONGEST_SOCKET_PATH} bytes; choose a shorter folder"
        )


def _remove(socket: Path) -> None:
    # An agent that can write to the folder may have put something else in its place, a folder for one.
    with suppress(OSError):
        socket.unlink()
