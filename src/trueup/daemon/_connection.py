"""One client, whatever it came by: an iterator of frames in, a function that sends frames out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from trueup.core.errors import TrueupError

from ._callbacks import Callbacks, ClientGoneError, Send
from ._errors import Code, RpcError, as_rpc_error
from ._jsonrpc import (
    Answer,
    Batch,
    Fault,
    Id,
    Message,
    Request,
    encode_batch,
    encode_error,
    encode_notification,
    encode_result,
    parse,
)
from ._method import Call, Level, Method, find_method
from ._subscriptions import Subscriptions

if TYPE_CHECKING:
    from trueup.policy import Policies

    from ._daemon import Daemon
    from ._live_runs import LiveRun
    from ._proposals import Tools

# How many requests of a client may be worked on at once. Those that must wait for it to answer something cannot hold
# back what it sends, so that one more is refused.
MOST_IN_FLIGHT = 128
# A client that sends without end lets the others have their turn after so many frames.
MOST_IN_A_ROW = 32
# What was begun for a client that left is given this long to be written down.
LEAVING_SECS = 2.0


_log = logging.getLogger("trueup.daemon")


class Connection:
    """A client's own tools, policies and state, what it has shown, and what is being done for it."""

    def __init__(self, daemon: Daemon, client_id: str, send: Send) -> None:
        self.daemon = daemon
        self.client_id = client_id
        self.agent_id: str | None = None
        self.level = Level.HUMAN if daemon.tokens is None else Level.NOTHING
        self.shook_hands = daemon.tokens is None
        self.wrong_tokens = 0
        self.callbacks = Callbacks(self.send)
        self.subscriptions = Subscriptions(self)
        # The one opened last is the one that turns are recorded on.
        self.open_runs: dict[str, LiveRun] = {}
        self._states: dict[str | None, dict[str, Any]] = {}
        self._send = send
        self._asides: set[asyncio.Task[Any]] = set()
        self._ids_in_use: set[Id] = set()

    @cached_property
    def tools(self) -> Tools:
        """What this client can do for those who ask."""
        from ._proposals import Tools

        return Tools()

    @cached_property
    def policies(self) -> Policies:
        """What this client's actions have to keep to."""
        from trueup.policy import Policies

        return Policies(self.daemon.policies)

    @property
    def current_run(self) -> LiveRun | None:
        """The run that this client's turns are recorded on."""
        return next(reversed(self.open_runs.values()), None)

    def state(self, tenant: str | None = None) -> dict[str, Any]:
        """What this client keeps here by key, apart for each of its tenants."""
        return self._states.setdefault(tenant, {})

    async def send(self, frame: bytes) -> None:
        """Send a frame; a `ClientGoneError` where there is nobody."""
        await self._send(frame)

    async def notify(self, method: str, params: Any) -> None:
        """Tell the client something that it asked to be told."""
        await self._send(encode_notification(method, params))

    async def serve(self, frames: AsyncIterator[bytes | str]) -> None:
        """Answer frames until there are no more, or the client must go."""
        in_a_row = 0
        try:
            async for frame in frames:
                if not await self.receive(frame):
                    return
                in_a_row += 1
                if in_a_row == MOST_IN_A_ROW:
                    in_a_row = 0
                    await asyncio.sleep(0)
        except ClientGoneError:
            pass
        finally:
            await self._leave()

    async def receive(self, frame: bytes | str) -> bool:
        """Take in one frame; False where the connection must end."""
        message = parse(frame)
        if isinstance(message, Batch):
            return await self._take_batch(message)
        begun = await self._begin(message, self._answer)
        return begun is None or isinstance(begun, asyncio.Task) or await self._deliver(begun)

    async def _take_batch(self, batch: Batch) -> bool:
        """Begin everything in order; the answers go out together, when the last of them is there."""
        begun: list[Reply | asyncio.Task[Any]] = []
        for message in batch.messages:
            each = await self._begin(message, self._reply)
            if each is not None:
                begun.append(each)
            if isinstance(each, Reply) and each.hang_up:
                # Whoever must go has nothing more done for them.
                await self._deliver_together(begun)
                return False
        if any(isinstance(each, asyncio.Task) for each in begun):
            self._put_aside(self._deliver_together(begun))
        else:
            await self._deliver_together(begun)
        return True

    async def _begin(self, message: Message, work: Work) -> Reply | asyncio.Task[Any] | None:
        """The reply to a message, or what will give it; None where there is none to give."""
        match message:
            case Request():
                return await self._begin_request(message, work)
            case Fault():
                return Reply(encode_error(message.id, message.error))
            case Answer():
                self.callbacks.settle(message)
        return None

    async def _begin_request(self, request: Request, work: Work) -> Reply | asyncio.Task[Any] | None:
        try:
            method = self._admit(request)
        # Whatever is wrong with a method is told to whoever asks for it, and ends nothing.
        except Exception as error:  # noqa: BLE001
            return _refusal(request, _explain(request.method, error))
        if method.aside:
            if request.id is not UNSET:
                self._ids_in_use.add(request.id)
            return self._put_aside(work(request, method))
        return await self._reply(request, method)

    def _admit(self, request: Request) -> Method:
        """The method, if this client may call it now."""
        if self.level is Level.NOTHING and request.method != "session.auth":
            raise RpcError(Code.AUTH_REQUIRED, "auth required: call session.auth with the token first", hang_up=True)
        if not self.shook_hands and request.method not in ("session.auth", "server.handshake"):
            raise RpcError(Code.HANDSHAKE_REQUIRED, "handshake required: call server.handshake first")
        method = find_method(request.method)
        if self.level < method.needs:
            said = f"approval denied: {method.name} is for a human: call session.auth with the host_token"
            raise RpcError(Code.APPROVAL_DENIED, f"{said} that is in {self.daemon.human_token_file}")
        if request.id in self._ids_in_use:
            raise RpcError(Code.INVALID_REQUEST, f"duplicate id {request.id!r}: a request with it is being answered")
        if method.aside and len(self._asides) >= MOST_IN_FLIGHT:
            raise RpcError(Code.BUSY, f"{MOST_IN_FLIGHT} requests are being answered; wait for one of them")
        return method

    def _put_aside(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)
        return task

    async def _answer(self, request: Request, method: Method) -> Reply:
        reply = await self._reply(request, method)
        with suppress(ClientGoneError):
            await self._deliver(reply)
        return reply

    async def _reply(self, request: Request, method: Method) -> Reply:
        """Do what is asked, whatever comes of it."""
        call = Call(self, None if request.id is UNSET else request.id)
        try:
            result = await method.handler(call, method.decode(request.params))
            content = None if request.id is UNSET else encode_result(request.id, result)
            return Reply(content, call.afterwards)
        # Of a mistake in one method, nobody else may hear more than its sender does.
        except Exception as error:  # noqa: BLE001
            return _refusal(request, _explain(method.name, error))
        finally:
            if method.aside and request.id is not UNSET:
                # Before the answer goes out: its reader may use the id again at once.
                self._ids_in_use.discard(request.id)

    async def _deliver(self, reply: Reply) -> bool:
        if reply.content is not None:
            await self._send(reply.content)
        if reply.afterwards is not None:
            reply.afterwards()
        return not reply.hang_up

    async def _deliver_together(self, begun: Sequence[Reply | asyncio.Task[Reply]]) -> None:
        replies = [await each if isinstance(each, asyncio.Task) else each for each in begun]
        contents = [reply.content for reply in replies if reply.content is not None]
        with suppress(ClientGoneError):
            if contents:
                await self._send(encode_batch(contents))
        for reply in replies:
            if reply.afterwards is not None:
                reply.afterwards()

    async def _leave(self) -> None:
        """End what only this client wanted. Its runs wait a while for it to come back."""
        self.callbacks.abandon()
        self.subscriptions.close()
        begun = set(self._asides)
        try:
            if begun:
                await asyncio.wait(begun, timeout=LEAVING_SECS)
        finally:
            for task in begun:
                task.cancel()
            self.daemon.leave(self)
        await asyncio.gather(*begun, return_exceptions=True)


class Reply(Struct, frozen=True):
    """What a client is told, and what happens when it was."""

    content: bytes | None
    afterwards: Callable[[], None] | None = None
    hang_up: bool = False


Work = Callable[[Request, Method], Coroutine[Any, Any, Reply]]


def _refusal(request: Request, error: RpcError) -> Reply:
    return Reply(None if request.id is UNSET else encode_error(request.id, error), hang_up=error.hang_up)


def _explain(method: str, error: Exception) -> RpcError:
    if not isinstance(error, TrueupError | RecursionError | UnicodeEncodeError | ClientGoneError):
        _log.error("%s failed", method, exc_info=error)
    return as_rpc_error(error)
