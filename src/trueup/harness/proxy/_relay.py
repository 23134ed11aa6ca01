"""Passing requests on and answers back, byte by byte as they come."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from trueup.core.errors import TrueupError

from ._cassette import Answer, Cassette, Question
from ._hosts import Allowed, addresses_of
from ._redact import Redactor
from ._refusal import Refusal
from ._scribe import Job
from ._turn import Turn
from ._upstream import Upstream, end_to_end
from ._veil import Veil

CONNECT_SECS = 30.0
# A cassette compares whole requests, so they have to fit.
MOST_OF_A_QUESTION = 64 << 20
MOST_OF_A_HEADER = 64 << 10


Body = AsyncIterator[bytes] | io.BytesIO | None


class _Copy:
    """An answer as it went by."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.is_whole = False

    def answer(self) -> Answer:
        return Answer.of(self.status, self.headers, b"".join(self.chunks))


class Relay:
    """Speaks to the vendors, and to allowed hosts by plain HTTP."""

    def __init__(
        self,
        redactor: Redactor,
        cassette: Cassette | None,
        write_down: Callable[[Job], None],
        *,
        idle_secs: float,
        trust_env: bool,
    ) -> None:
        self._redactor = redactor
        self._cassette = cassette
        self._write_down = write_down
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECS, sock_read=idle_secs),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
            trust_env=trust_env,
            max_line_size=MOST_OF_A_HEADER,
            max_field_size=MOST_OF_A_HEADER,
        )

    async def close(self) -> None:
        await self._session.close()

    async def call(self, request: web.BaseRequest, upstream: Upstream, path: str, turn: Turn) -> web.StreamResponse:
        """A call of a vendor, read by `turn` on its way."""
        if self._cassette is None:
            return await self._live(request, upstream, path, turn, _body(request, turn))
        question = Question.of(request.method, f"/{upstream.name}{path}", await _whole_body(request, turn))
        if self._cassette.is_replay:
            return await self._replayed(request, self._cassette, question, turn)
        return await self._recorded(request, upstream, path, turn, self._cassette, question)

    async def visit(self, request: web.BaseRequest, allowed: Sequence[Allowed]) -> web.StreamResponse:
        """A plain HTTP request to an allowed host, at an address that was checked."""
        url = URL(request.raw_path, encoded=True)
        host, port = url.host or "", url.port or 80
        address = (await addresses_of(host, port, allowed))[0]
        headers = end_to_end(request.headers)
        headers["Host"] = url.raw_authority.rpartition("@")[2]
        target = URL.build(scheme="http", host=address, port=port, path=url.raw_path or "/", encoded=True)
        target = URL(f"{target}{'?' if url.raw_query_string else ''}{url.raw_query_string}", encoded=True)
        turn = Turn(host, None, self._redactor, None)
        response = web.StreamResponse()
        try:
            async with self._ask(request.method, target, headers, _body(request, turn)) as answer:
                _copy_head(response, answer.status, answer.reason, end_to_end(answer.headers))
                await _pour(request, answer, response, turn, Veil(None))
        except (aiohttp.ClientError, TimeoutError) as error:
            return self._broken(request, response, turn, f"{host}:{port}", error)
        return response

    async def _live(
        self,
        request: web.BaseRequest,
        upstream: Upstream,
        path: str,
        turn: Turn,
        body: Body,
        copy: _Copy | None = None,
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        headers = upstream.request_headers(request.headers)
        try:
            async with self._ask(request.method, upstream.target(path), headers, body) as answer:
                turn.answered(answer.status, answer.headers)
                _copy_head(response, answer.status, answer.reason, upstream.response_headers(answer.headers))
                if copy is not None:
                    copy.status, copy.headers = answer.status, answer.headers
                await _pour(request, answer, response, turn, Veil(upstream.key), copy)
        except (aiohttp.ClientError, TimeoutError) as error:
            if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
                turn.never_arrived()
            return self._broken(request, response, turn, upstream.name, error)
        return response

    def _ask(
        self, method: str, url: URL, headers: CIMultiDict[str], body: Body
    ) -> aiohttp.client._RequestContextManager:
        return self._session.request(method, url, headers=headers, data=body, allow_redirects=False)

    def _broken(
        self, request: web.BaseRequest, response: web.StreamResponse, turn: Turn, where: str, error: Exception
    ) -> web.StreamResponse:
        """Nothing was answered: say so. A part was: cut it, so that nobody takes it for the whole."""
        what = self._redactor.text(str(error)) or type(error).__name__
        turn.fail(f"{where}: {what}")
        if not response.prepared:
            silent = isinstance(error, TimeoutError)
            raise Refusal(
                504 if silent else 502, "upstream_failed", f"{where} gave no answer: {what}", final=False
            ) from None
        if request.transport is not None:
            request.transport.close()
        return response

    async def _recorded(
        self,
        request: web.BaseRequest,
        upstream: Upstream,
        path: str,
        turn: Turn,
        cassette: Cassette,
        question: Question,
    ) -> web.StreamResponse:
        copy = _Copy()
        try:
            return await self._live(request, upstream, path, turn, _file(question.body), copy)
        finally:
            # An agent may hang up once it has heard the last word, before the vendor does.
            if copy.is_whole or turn.came_to_its_end:
                self._write_down(partial(cassette.keep, question, copy.answer()))

    async def _replayed(
        self, request: web.BaseRequest, cassette: Cassette, question: Question, turn: Turn
    ) -> web.StreamResponse:
        try:
            answer = await cassette.find(question)
        except TrueupError as miss:
            turn.fail(str(miss))
            turn.never_arrived()
            raise Refusal(409, "cassette_miss", str(miss)) from None
        turn.answered(answer.status, answer.headers)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_length = len(answer.body)
        await response.prepare(request)
        await response.write(answer.body)
        turn.hear(answer.body)
        await response.write_eof()
        return response


async def _pour(
    request: web.BaseRequest,
    answer: aiohttp.ClientResponse,
    response: web.StreamResponse,
    turn: Turn,
    veil: Veil,
    copy: _Copy | None = None,
) -> None:
    """Let an answer flow, as fast as it comes and as fast as it is taken."""
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        # First on its way, then looked at.
        if seen := veil.cover(chunk):
            await response.write(seen)
        turn.hear(chunk)
        if copy is not None:
            copy.chunks.append(chunk)
    if copy is not None:
        copy.is_whole = True
    await response.write_eof(veil.rest())


def _copy_head(response: web.StreamResponse, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
    response.set_status(status, reason)
    response.headers.clear()
    response.headers.extend(headers)


def _file(body: bytes) -> io.BytesIO | None:
    # Sent in pieces: a large body in one would hold up everybody else.
    return io.BytesIO(body) if body else None


def _body(request: web.BaseRequest, turn: Turn) -> AsyncIterator[bytes] | None:
    if not request.body_exists:
        turn.sent()
        return None
    return _pieces(request, turn)


async def _pieces(request: web.BaseRequest, turn: Turn) -> AsyncIterator[bytes]:
    """The request's body while it comes."""
    await _invite(request)
    async for chunk in request.content.iter_any():
        turn.ask(chunk)
        yield chunk
    turn.sent()


async def _whole_body(request: web.BaseRequest, turn: Turn) -> bytes:
    await _invite(request)
    whole = bytearray()
    async for chunk in request.content.iter_any():
        turn.ask(chunk)
        whole += chunk
        if len(whole) > MOST_OF_A_QUESTION:
            raise Refusal(413, "too_large", f"a request of over {MOST_OF_A_QUESTION >> 20} MiB fits no cassette")
    turn.sent()
    return bytes(whole)


async def _invite(request: web.BaseRequest) -> None:
    """Some clients send a large body only once they are asked to."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        with suppress(ConnectionError):
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
