"""The WebSocket front: who may knock, how much fits, and what one client can do to the others."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, suppress

import aiohttp
import pytest

from daemon_clients import over_a_socket
from trueup.core.errors import InputError
from trueup.daemon import Daemon, Tokens, listen
from trueup.daemon._front import MOST_CONNECTIONS, MOST_STRANGERS


async def status_of(url: str, **headers: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url.replace("ws:", "http:"), headers=headers) as answer:
        return answer.status


async def test_health_says_how_it_is(front, sockets):
    await sockets()
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{front.port}/health") as answer:
        health = await answer.json()
    assert (answer.status, health["status"], health["connections"], health["open_runs"]) == (200, "ok", 1, 0)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "http://localhost:1"])
async def test_a_page_of_another_origin_cannot_come_in(front, origin):
    with pytest.raises(aiohttp.WSServerHandshakeError) as raised:
        async with over_a_socket(front.url, Origin=origin):
            pass
    assert raised.value.status == 403
    assert await status_of(f"{front.url}health", Origin=origin) == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_a_page_that_was_served_here_can(front, sockets, name):
    client = await sockets(Origin=f"http://{name}:{front.port}", Host=f"{name}:{front.port}")
    assert await client.call("state.keys") == []


async def test_a_name_that_leads_here_from_elsewhere_does_not_make_a_page_ours(front):
    assert await status_of(front.url, Host=f"evil.example:{front.port}") == 403


async def test_a_frame_that_is_too_large_ends_its_connection_and_no_other(sockets):
    large, other = await sockets(), await sockets()
    with pytest.raises(ConnectionError):
        # Whatever of it was sent: the daemon does not wait for the rest.
        for _ in range(100):
            await large.send(b" " * 100_000_000)
    refused = await large.next_unclaimed()
    assert refused["error"] == {"code": -32014, "message": "frame too large: send at most 64 MiB at once"}
    await large.ended.wait()
    assert await other.call("state.keys") == []


async def test_a_frame_that_just_fits_is_taken(sockets):
    client = await sockets()
    text = "x" * (8 << 20)
    assert await client.call("state.set", {"key": "k", "value": text}) == text
    assert await client.call("state.exists", {"key": "k"}) is True


async def test_invalid_utf_8_is_an_answer_and_no_end(sockets):
    client = await sockets()
    await client.socket._writer.send_frame(b"\xff\xfe", aiohttp.WSMsgType.TEXT)
    assert (await client.next_unclaimed())["error"]["code"] == -32700
    assert await client.call("state.keys") == []


async def test_who_shows_no_token_does_not_stay(store):
    tokens = Tokens("T" * 43, "H" * 43)
    async with Daemon(store, tokens=tokens, token_within_secs=0.2) as daemon, listen(daemon) as front:
        async with over_a_socket(front.url) as idle, asyncio.timeout(5):
            await idle.ended.wait()
        async with over_a_socket(front.url) as known:
            await known.call("session.auth", {"token": "T" * 43})
            await asyncio.sleep(0.4)
            await known.call("server.handshake", {"protocol_version": 3})


async def test_who_asks_for_nothing_does_not_stay_either(store):
    async with Daemon(store, token_within_secs=0.2) as daemon, listen(daemon) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_a_crowd_of_strangers_keeps_nobody_out(store):
    """The one who has waited longest goes, and a client that has shown its token stays."""
    tokens = Tokens("T" * 43, "H" * 43)
    async with Daemon(store, tokens=tokens, token_within_secs=60) as daemon, listen(daemon) as front:
        async with over_a_socket(front.url) as known:
            await known.call("session.auth", {"token": tokens.token})
            crowd = [await asyncio.open_connection("127.0.0.1", front.port) for _ in range(MOST_STRANGERS + 20)]
            async with asyncio.timeout(5):
                with suppress(ConnectionError):
                    assert await crowd[0][0].read() == b""
            async with over_a_socket(front.url) as owner:
                assert (await owner.call("session.auth", {"host_token": tokens.human_token}))["ok"]
            await known.call("server.handshake", {"protocol_version": 3})
            for _, writer in crowd:
                writer.close()


async def test_one_client_too_many_is_told_so(front):
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        for _ in range(MOST_CONNECTIONS):
            await stack.enter_async_context(session.ws_connect(front.url, autoclose=False))
        with pytest.raises(aiohttp.WSServerHandshakeError) as raised:
            await session.ws_connect(front.url)
        assert raised.value.status == 503
        assert await status_of(f"{front.url}health") == 200


async def test_a_client_that_does_not_read_holds_up_no_end(daemon):
    began = 0.0
    async with AsyncExitStack() as stack:
        async with listen(daemon) as front:
            client = await stack.enter_async_context(over_a_socket(front.url))
            await client.call("state.set", {"key": "k", "value": "x" * 10_000_000})
            client._reader.cancel()
            client.socket._response.connection.transport.pause_reading()
            for _ in range(3):
                await client.send('{"jsonrpc":"2.0","id":1,"method":"state.get","params":{"key":"k"}}')
            await asyncio.sleep(0.1)
            began = time.monotonic()
        assert time.monotonic() - began < 10


RESERVED, CONTINUED, PIECE, BINARY = 0xC1, 0x00, 0x01, 0x82


async def test_what_is_no_frame_ends_its_own_connection_only(sockets):
    """Compression was not agreed to, so that nothing can be sent that grows when it is read."""
    bomb, other = await sockets(), await sockets()
    bomb.socket._response.connection.transport.write(bytes([RESERVED, 0x81, 0, 0, 0, 0, 0]))
    await asyncio.wait_for(bomb.ended.wait(), 5)
    assert await other.call("state.keys") == []


@pytest.mark.parametrize(
    "sent", [b"GET * HTTP/1.1\r\n\r\n", b"PRI / HTTP/2\r\n\r\n", b"GET /" + b"a" * 20_000, b"\x16\x03\x01"]
)
async def test_what_is_no_http_is_answered_and_not_told_to_whoever_runs_the_daemon(front, caplog, sent):
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
    writer.write(sent)
    assert (await asyncio.wait_for(reader.readline(), 5)).startswith(b"HTTP/1.0 400 ")
    writer.close()
    assert caplog.records == []


async def test_a_message_may_come_in_pieces_and_as_bytes(sockets):
    client = await sockets()
    message = b'{"jsonrpc":"2.0","id":7,"method":"state.keys"}'
    write = client.socket._response.connection.transport.write
    write(bytes([PIECE, 0x80 | 5, 0, 0, 0, 0]) + message[:5])
    for byte in message[5:-1]:
        write(bytes([CONTINUED, 0x81, 0, 0, 0, 0, byte]))
    write(bytes([0x80, 0x81, 0, 0, 0, 0]) + message[-1:])
    assert await client.next_unclaimed() == {"jsonrpc": "2.0", "id": 7, "result": []}
    write(bytes([BINARY, 0x80 | len(message), 0, 0, 0, 0]) + message)
    assert (await client.next_unclaimed())["id"] == 7


@pytest.mark.parametrize("path", ["//", "/health/", "/health%00", "/index.html"])
async def test_there_is_nothing_else_to_be_had(front, path):
    assert await status_of(f"ws://127.0.0.1:{front.port}{path}") == 404


@pytest.mark.parametrize("host", ["", "127.0.0.1.evil.example", "[::1]evil", "0.0.0.0", "127.0.0.1:1:2", "localhost."])
async def test_a_host_that_only_looks_like_this_machine_is_refused(front, host):
    assert await status_of(f"{front.url}health", Host=host) == 403


async def test_a_client_that_vanishes_without_a_word_ends_only_its_own(daemon, sockets):
    gone, other = await sockets(), await sockets()
    run_id = (await other.call("runs.start", {"intent": "goes on"}))["run_id"]
    cut = (await gone.call("runs.start", {"intent": "is cut off"}))["run_id"]
    gone.socket._response.connection.transport.abort()
    async with asyncio.timeout(10):
        while (await daemon.store.get(cut)).status != "incomplete":
            await asyncio.sleep(0.02)
    assert (await other.call("runs.record_turns", {"run_id": run_id, "turns": [{}]}))["ok"]


async def test_a_taken_port_is_told(daemon, front):
    with pytest.raises(InputError, match=rf"port {front.port} is taken; is a daemon running already\?"):
        async with listen(daemon, front.port):
            pass


async def test_a_client_that_does_not_read_its_answers_is_not_read_from(sockets):
    """Its answers fill the buffers between, and then it waits; the others do not."""
    greedy, other = await sockets(), await sockets()
    await greedy.call("state.set", {"key": "k", "value": "x" * 1_000_000})
    greedy._reader.cancel()
    request = '{"jsonrpc":"2.0","id":1,"method":"state.get","params":{"key":"k"}}'
    for _ in range(100):
        await greedy.send(request)
    for _ in range(5):
        assert await other.call("state.keys") == []
