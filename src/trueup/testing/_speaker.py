"""How an answer or a fault is put on the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

from aiohttp import web

from ._request import ModelRequest
from ._steps import Answer, Fault, Part, Text, Tokens, Tool
from ._tools import resolve
from ._wires import ANSWER_IDS, CALL_IDS, Spoken, Wire, new_id

GARBAGE = "<html><body>It works, but this is no JSON.</body></html>"
HALF_SAID = "This answer was going to be longer, but something happened while it was on its way."
# After so much of a stream without a pause, others get their turn; at once after the first event.
BREATH_BYTES = 8192


class Speaker:
    """Answers one call, in the vendor's format, whole or as a stream as the call asked for it."""

    def __init__(
        self, http: web.Request, request: ModelRequest, wire: Wire, piece: int, closing: asyncio.Event
    ) -> None:
        self._http = http
        self._request = request
        self._wire = wire
        self._piece = piece
        self._closing = closing

    async def give(self, reply: Answer | Fault, usage: Tokens) -> web.StreamResponse:
        if isinstance(reply, Answer):
            return await self._say(reply, usage)
        answer = reply.spoken()
        return await self._fail(reply) if answer is None else await self._say(answer, usage)

    async def _say(self, answer: Answer, usage: Tokens) -> web.StreamResponse:
        await asyncio.sleep(answer.delay_secs)
        spoken = self._spoken(answer, usage)
        if self._request.stream:
            return await self._stream(self._wire.stream(spoken, self._piece), answer.pause_secs)
        return web.json_response(self._wire.whole(spoken), headers=self._headers())

    def _spoken(self, answer: Answer, usage: Tokens) -> Spoken:
        return Spoken(
            id=new_id(ANSWER_IDS[self._request.api]),
            model=self._request.model,
            parts=[self._ready(part) for part in answer.parts],
            usage=answer.usage or usage,
            stop=answer.stop,
            free=frozenset(tool.name for tool in self._request.tools if tool.is_free),
        )

    def _ready(self, part: Part) -> Part:
        if not isinstance(part, Tool):
            return part
        real = resolve(part, self._request)
        return real if real.id else Tool(real.name, real.arguments, new_id(CALL_IDS[self._request.api]))

    def _headers(self) -> dict[str, str]:
        id_ = new_id("req")
        return {"request-id": id_, "x-request-id": id_}

    async def _stream(self, events: Iterator[bytes], pause_secs: float = 0) -> web.StreamResponse:
        response = await self._begin_stream()
        in_a_row = BREATH_BYTES
        for number, data in enumerate(events):
            if number and (pause_secs or in_a_row >= BREATH_BYTES):
                await asyncio.sleep(pause_secs)
                in_a_row = 0
            await response.write(data)
            in_a_row += len(data)
        await response.write_eof()
        return response

    async def _begin_stream(self) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", **self._headers()}
        )
        await response.prepare(self._http)
        return response

    async def _fail(self, fault: Fault) -> web.StreamResponse:
        match fault.what:
            case int() as status:
                return self._status(fault, status)
            case "hang":
                await self._closing.wait()
                return self._dropped()
            case "garbage":
                return web.Response(text=fault.message or GARBAGE, content_type="text/html", headers=fault.headers)
            case _ if not self._request.stream:
                return await self._break_whole(fault)
        return await self._break_stream(fault)

    def _status(self, fault: Fault, status: int) -> web.Response:
        headers = {**self._headers(), **fault.headers}
        if fault.retry_after is not None:
            headers["retry-after"] = f"{fault.retry_after:g}"
        return web.json_response(self._wire.error(fault, status), status=status, headers=headers)

    async def _break_stream(self, fault: Fault) -> web.StreamResponse:
        response = await self._begin_stream()
        events = list(self._wire.stream(self._half(fault), self._piece))
        for data in events[: len(events) // 2]:
            await response.write(data)
        if fault.what == "stream_error":
            await response.write(self._wire.broken(fault))
            await response.write_eof()
            return response
        if fault.what == "stall":
            await self._closing.wait()
        return self._dropped(response)

    async def _break_whole(self, fault: Fault) -> web.StreamResponse:
        """The same for who did not ask for a stream: half of the JSON, or the error for which there is no middle."""
        if fault.what == "stream_error":
            return self._status(fault, 500)
        data = json.dumps(self._wire.whole(self._half(fault))).encode()
        response = web.StreamResponse(headers={"content-type": "application/json", "content-length": str(len(data))})
        await response.prepare(self._http)
        await response.write(data[: len(data) // 2])
        if fault.what == "stall":
            await self._closing.wait()
        return self._dropped(response)

    def _half(self, fault: Fault) -> Spoken:
        return self._spoken(Answer([Text(fault.message or HALF_SAID)]), Tokens())

    def _dropped(self, response: web.StreamResponse | None = None) -> web.StreamResponse:
        if self._http.transport is not None:
            self._http.transport.abort()
        return response or web.Response()
