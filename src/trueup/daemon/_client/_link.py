"""JSON-RPC over one WebSocket: what is asked here and answered there, and what the daemon asks and tells."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec
from aiohttp import ClientWebSocketResponse, WSMsgType
from msgspec import UNSET, Raw

from trueup.core.errors import InputError, Kind, TrueupError

from .._errors import Code
from .._jsonrpc import Answer, Request, encode_request, parse
from ._errors import ConnectionLostError, ErrorBody, as_error

Send = Callable[[bytes], Awaitable[None]]


class Hearer(Protocol):
    """Takes in what the daemon says of its own accord, and never waits."""

    def asked(self, request: Request, send: Send) -> None:
        """The daemon waits for an answer."""

    def told(self, notice: Request) -> None:
        """The daemon wants none."""

    def lost(self, error: ConnectionLostError) -> None:
        """The daemon will say nothing more."""


class Link:
    """One connection: `async with Link(socket, url, hearer) as link`."""

    def __init__(self, socket: ClientWebSocketResponse, url: str, hearer: Hearer) -> None:
        self._socket = socket
        self._url = url
        self._hearer = hearer
        self._ids = itertools.count(1)
        # What each request waits for; None is that no answer will come.
        self._waiting: dict[int, asyncio.Future[Answer | None]] = {}
        # What the daemon said just before it hung up.
        self._complaint = ""
        # Why there is no connection any more; None while there is one.
        self._lost: str | None = None

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.cancel()
        await asyncio.wait([self._reader])
        await self._socket.close()

    async def ask(self, method: str, params: Any, result_type: Any) -> Any:
        """The result of a method, typed; an `RpcError` where it is refused."""
        answer = await self._ask(method, params)
        if answer.error is not UNSET and not _is_null(answer.error):
            raise as_error(decoded(answer.error, ErrorBody, method))
        return decoded(answer.result, result_type, method)

    async def _ask(self, method: str, params: Any) -> Answer:
        request_id = next(self._ids)
        waiter: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = waiter
        try:
            await self.send(_encoded(request_id, method, params))
            answer = await waiter
        finally:
            self._waiting.pop(request_id, None)
        if answer is None:
            raise self._lost_error()
        return answer

    async def send(self, frame: bytes) -> None:
        """Send a frame; frames go out in the order in which this was called."""
        if self._lost is not None:
            raise self._lost_error()
        try:
            await self._socket.send_frame(frame, WSMsgType.TEXT)
        except ConnectionError:
            raise self._lost_error() from None

    async def _read(self) -> None:
        why = "this client left"
        try:
            why = await self._read_all() or self._complaint
        except TrueupError as error:
            why = str(error)
        finally:
            self._lose(why)

    async def _read_all(self) -> str:
        """Take in whatever comes; why nothing comes any more."""
        while True:
            message = await self._socket.receive()
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                self._take(message.data)
            elif message.type is WSMsgType.CLOSE:
                return message.extra or ""
            elif message.type is WSMsgType.ERROR:
                return str(message.data)
            else:
                return ""

    def _take(self, frame: bytes | str) -> None:
        match parse(frame):
            case Request(id=None) | Request(id=msgspec.UNSET) as notice:
                self._hearer.told(notice)
            case Request() as request:
                self._hearer.asked(request, self.send)
            case Answer(id=None) as complaint:
                self._hear(complaint)
            case Answer(id=int() as request_id) as answer:
                waiter = self._waiting.pop(request_id, None)
                if waiter is not None and not waiter.done():
                    waiter.set_result(answer)

    def _hear(self, complaint: Answer) -> None:
        """Take in what the daemon says of a frame that it could not read."""
        body: ErrorBody = decoded(complaint.error, ErrorBody, "a frame")
        if body.code == Code.FRAME_TOO_LARGE:
            self._complaint = body.message
        else:
            # Which frame it was cannot be told, and whoever waits for its answer must not do so for ever.
            self._settle_all(complaint)

    def _lose(self, why: str) -> None:
        self._lost = why
        self._settle_all(None)
        self._hearer.lost(self._lost_error())

    def _settle_all(self, answer: Answer | None) -> None:
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_result(answer)

    def _lost_error(self) -> ConnectionLostError:
        return ConnectionLostError(self._url, self._lost or self._complaint)


def decoded(part: Any, kind: Any, about: str) -> Any:
    """A part of what the daemon said about something, typed; an error where it is something else."""
    try:
        return _decoded(part, kind)
    except ValueError as error:
        said = f"what the daemon says to {about} is not what this client knows: {error}"
        raise TrueupError(f"{said}; are both of the same version?", kind=Kind.PROTOCOL) from None


def _decoded(part: Any, kind: Any) -> Any:
    if not isinstance(part, Raw):
        return msgspec.convert(None if part is UNSET else part, kind)
    try:
        return msgspec.json.decode(part, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Half of a surrogate pair is JSON that only the standard library reads.
        return msgspec.convert(json.loads(bytes(part)), kind)


def _encoded(request_id: int, method: str, params: Any) -> bytes:
    try:
        return encode_request(request_id, method, params)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{method}: the parameters cannot be written as JSON: {error}") from None


def _is_null(part: Any) -> bool:
    return part is None or (isinstance(part, Raw) and bytes(part) == b"null")
