"""Every fault on every wire, for who asks for a stream and for who does not."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping

import aiohttp
import pytest

from trueup.testing import Fault, ScriptedModel

WIRES = {
    "anthropic": ("/v1/messages", "/v1/messages"),
    "chat": ("/v1/chat/completions", "/v1/chat/completions"),
    "responses": ("/v1/responses", "/v1/responses"),
    "gemini": ("/v1beta/models/g:generateContent", "/v1beta/models/g:streamGenerateContent?alt=sse"),
}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "input": "hi", "contents": []}

# How each vendor says that an answer ended for this reason.
ENDS = {
    "refusal": {"anthropic": '"refusal"', "chat": '"content_filter"', "responses": '"refusal"', "gemini": '"SAFETY"'},
    "max_tokens": {
        "anthropic": '"max_tokens"',
        "chat": '"length"',
        "responses": '"max_output_tokens"',
        "gemini": '"MAX_TOKENS"',
    },
    "empty": {"anthropic": '"end_turn"', "chat": '"stop"', "responses": '"completed"', "gemini": '"STOP"'},
}

on_every_wire = pytest.mark.parametrize(("wire", "stream"), list(itertools.product(WIRES, [False, True])))


async def heard(fault: Fault, wire: str, *, stream: bool) -> tuple[int, str, Mapping[str, str]]:
    """The status, the body as far as it came, and the headers."""
    body = ""
    async with ScriptedModel([fault]) as model, aiohttp.ClientSession() as http:
        async with http.post(model.url + WIRES[wire][stream], json={**ASKED, "stream": stream}) as response:
            try:
                async with asyncio.timeout(0.2):
                    async for piece in response.content.iter_any():
                        body += piece.decode()
            except (aiohttp.ClientError, TimeoutError) as error:
                body += f"<{type(error).__name__}>"
        return response.status, body, response.headers


@on_every_wire
@pytest.mark.parametrize("status", [401, 403, 429, 500, 529])
async def test_a_status(wire, stream, status):
    answered, body, headers = await heard(Fault(status, retry_after=7, message="so it is"), wire, stream=stream)
    assert (answered, headers["retry-after"]) == (status, "7")
    assert '"so it is"' in body


@on_every_wire
@pytest.mark.parametrize("what", ENDS)
async def test_an_end(wire, stream, what):
    status, body, _ = await heard(Fault(what), wire, stream=stream)
    assert status == 200
    assert ENDS[what][wire] in body


@on_every_wire
async def test_garbage(wire, stream):
    status, body, headers = await heard(Fault("garbage"), wire, stream=stream)
    assert (status, body[:6]) == (200, "<html>")
    assert headers["Content-Type"].startswith("text/html")


@on_every_wire
@pytest.mark.parametrize(("what", "end"), [("cut", "<ClientPayloadError>"), ("stall", "<TimeoutError>")])
async def test_an_answer_that_begins_and_does_not_end(wire, stream, what, end):
    status, body, _ = await heard(Fault(what), wire, stream=stream)
    assert status == 200
    assert len(body) > 40
    assert body.endswith(end)


@on_every_wire
async def test_an_error_in_the_middle(wire, stream):
    status, body, _ = await heard(Fault("stream_error", message="so it is"), wire, stream=stream)
    assert status == (200 if stream else 500)
    assert '"so it is"' in body


@on_every_wire
async def test_not_a_byte(wire, stream):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await heard(Fault("hang"), wire, stream=stream)


@on_every_wire
async def test_some_failures_then_success(wire, stream):
    async with ScriptedModel([Fault(500, times=2), "Hello."]) as model, aiohttp.ClientSession() as http:
        answered = []
        for _ in range(3):
            async with http.post(model.url + WIRES[wire][stream], json={**ASKED, "stream": stream}) as response:
                answered.append((response.status, "Hello." in await response.text()))
    assert answered == [(500, False), (500, False), (200, True)]
