"""What happens to calls on a bad day: vendors that fail, agents that leave, budgets that end."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import time

import aiohttp
import pytest
from aiohttp import web

from proxied import ask, client, event, message, proxied, raw_vendor, streamed, turns, usages, vendor
from trueup.core.errors import InputError, TrueupError
from trueup.harness import UsageReported
from trueup.harness.proxy import Proxy, Upstream
from trueup.testing import EventLog

BEGUN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Budget(EventLog):
    """A recorder that objects once more tokens were generated than it grants."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.left = tokens

    async def record(self, event):
        await super().record(event)
        if isinstance(event, UsageReported):
            self.left -= event.usage.output_tokens or 0
            if self.left < 0:
                raise TrueupError("5 tokens were granted")


async def test_a_vendor_that_refuses_the_connection_is_a_502_that_says_so():
    async with raw_vendor(b"") as url:
        pass
    async with proxied(url) as (proxy, log), client() as session, ask(proxy, session) as answer:
        assert answer.status == 502
        assert "anthropic gave no answer" in (await answer.json())["error"]["message"]
    assert turns(log)[0].status is None
    assert usages(log) == []


@pytest.mark.parametrize("noise", [b"", b"\x00\x01 this is not HTTP\r\n\r\n", b"HTTP/1.1 banana\r\n\r\n"])
async def test_a_vendor_that_speaks_no_http_is_a_502(noise):
    async with raw_vendor(noise) as url, proxied(url) as (proxy, log), client() as session:
        async with ask(proxy, session) as answer:
            assert answer.status == 502
    assert turns(log)[0].error


async def test_an_answer_that_is_no_json_is_passed_on_and_its_usage_is_unknown():
    async def garbage(request):
        return web.Response(body=b"<html>\xff", content_type="application/json")

    async with vendor(garbage) as url, proxied(url) as (proxy, log), client() as session:
        async with ask(proxy, session) as answer:
            assert await answer.read() == b"<html>\xff"
    assert usages(log)[0].usage.incomplete
    assert turns(log)[0].error


async def test_a_vendor_that_says_nothing_is_a_504():
    async with raw_vendor(b"", stays=True) as url, proxied(url, idle_secs=0.3) as (proxy, log), client() as session:
        async with ask(proxy, session) as answer:
            assert answer.status == 504
    assert usages(log)[0].usage.incomplete


async def test_a_stream_that_is_cut_is_cut_for_the_agent_too_and_counts_as_far_as_it_came():
    start, begin, delta, *_ = message("half of ")
    async with raw_vendor(BEGUN + chunk(start) + chunk(begin) + chunk(delta)) as url:
        async with proxied(url) as (proxy, log), client() as session:
            async with ask(proxy, session) as answer:
                assert answer.status == 200
                with pytest.raises(aiohttp.ClientError):
                    await answer.read()
    (turn,) = turns(log)
    assert turn.assistant_text == "half of "
    assert turn.error
    assert turn.usage.input_tokens == 11
    assert turn.usage.incomplete


async def test_a_stream_that_falls_silent_is_cut():
    async with raw_vendor(BEGUN + chunk(message("x")[0]), stays=True) as url:
        async with proxied(url, idle_secs=0.3) as (proxy, log), client() as session:
            async with ask(proxy, session) as answer:
                with pytest.raises(aiohttp.ClientError):
                    await answer.read()
    assert usages(log)[0].usage.incomplete


async def test_an_error_inside_of_a_stream_is_told():
    pieces = [*message("x")[:2], event("error", error={"type": "overloaded_error", "message": "Overloaded"})]
    async with vendor(lambda request: streamed(request, pieces)) as url, proxied(url) as (proxy, log):
        async with client() as session:
            await (await ask(proxy, session)).read()
    assert turns(log)[0].error == "Overloaded"


async def test_an_agent_that_hangs_up_ends_the_call_at_the_vendor_too():
    gone = asyncio.Event()

    async def endless(request):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for piece in message("x" * 20)[:3]:
                await response.write(piece)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            gone.set()
            raise

    async with vendor(endless) as url, proxied(url) as (proxy, log), client() as session:
        answer = await ask(proxy, session)
        await answer.content.readany()
        answer.close()
        async with asyncio.timeout(5):
            await gone.wait()
            while not turns(log):
                await asyncio.sleep(0.01)
    assert turns(log)[0].error == "the agent hung up"
    assert usages(log)[0].usage.incomplete


async def test_a_slow_agent_slows_the_vendor_down():
    sent = 0

    async def flood(request):
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b": " + b"x" * 65534)
            sent += 65536
        return response

    async with vendor(flood) as url, proxied(url) as (proxy, _), client() as session:
        answer = await ask(proxy, session)
        await answer.content.readany()
        await asyncio.sleep(0.5)
        assert sent < 32 << 20
        answer.close()


async def test_a_huge_request_and_a_huge_answer_go_through_whole():
    body = os.urandom(1 << 20) * 40

    async def digest(request):
        assert request.content_length == len(body)
        seen = hashlib.sha256()
        async for piece in request.content.iter_any():
            seen.update(piece)
        return web.Response(body=seen.digest() + body)

    async with vendor(digest) as url, proxied(url) as (proxy, _), client() as session:
        async with ask(proxy, session, data=io.BytesIO(body)) as answer:
            told = await answer.read()
    assert told == hashlib.sha256(body).digest() + body


async def test_a_body_whose_length_nobody_says_goes_through():
    async def echo(request):
        return web.Response(body=await request.read())

    async def pieces():
        for _ in range(3):
            yield b"abc"

    async with vendor(echo) as url, proxied(url) as (proxy, _), client() as session:
        async with ask(proxy, session, data=pieces()) as answer:
            assert await answer.read() == b"abcabcabc"


async def test_a_client_that_wants_to_be_asked_for_its_body_is_asked():
    async def echo(request):
        assert "Expect" not in request.headers
        return web.Response(body=await request.read())

    async with vendor(echo) as url, proxied(url) as (proxy, _), client() as session:
        async with ask(proxy, session, data=b"abc", expect100=True) as answer:
            assert await answer.read() == b"abc"


async def test_200_streams_at_once_are_all_whole_and_all_told():
    pieces = message(*(f"word {number} " for number in range(20)))
    async with (
        vendor(lambda request: streamed(request, pieces, 0.01)) as url,
        proxied(url, at_once=200) as (proxy, log),
    ):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one():
                async with ask(proxy, session) as answer:
                    return await answer.read()

            got = await asyncio.gather(*(one() for _ in range(200)))
    assert set(got) == {b"".join(pieces)}
    assert len(turns(log)) == 200
    assert {turn.error for turn in turns(log)} == {""}


async def test_the_end_of_the_budget_is_told_to_the_agent_and_signalled():
    log = Budget(tokens=5)
    async with vendor(lambda request: streamed(request, message("x"))) as url, proxied(url, log) as (proxy, _):
        async with client() as session:
            async with ask(proxy, session) as answer:
                assert answer.status == 200
                assert (await answer.read()).endswith(message("x")[-1])
            async with ask(proxy, session) as answer:
                assert answer.status == 403
                assert answer.headers["x-should-retry"] == "false"
                assert "the budget is used up" in (await answer.json())["error"]["message"]
        assert proxy.exhausted.is_set()
        assert "5 tokens" in str(proxy.objection)
    assert len(turns(log)) == 1


async def test_the_end_of_the_budget_cuts_what_still_flows():
    log = Budget(tokens=5)

    async def by_length(request):
        slow = (await request.json())["max_tokens"] == 1
        return await streamed(request, message(*["x"] * 100) if slow else message("x"), 0.05 if slow else 0)

    async with vendor(by_length) as url, proxied(url, log) as (proxy, _), client() as session:
        slow = await ask(proxy, session, json={"max_tokens": 1})
        async with ask(proxy, session, json={"max_tokens": 2}) as quick:
            await quick.read()
        with pytest.raises(aiohttp.ClientError):
            await slow.read()
        await proxy.settled()
    assert [turn.error for turn in turns(log)] == ["", "the budget is used up"]


async def test_a_recorder_that_breaks_ends_the_service_and_is_not_hushed_up():
    class Broken:
        async def record(self, event):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with vendor(lambda request: streamed(request, message("x"))) as url, proxied(url, Broken()) as (proxy, _):
            async with client() as session:
                await (await ask(proxy, session)).read()
                async with ask(proxy, session) as answer:
                    assert answer.status == 403


async def test_the_next_question_waits_until_the_last_answer_is_accounted_for():
    class Slow(Budget):
        async def record(self, event):
            await asyncio.sleep(0.2)
            await super().record(event)

    async with vendor(lambda request: streamed(request, message("x"))) as url, proxied(url, Slow(5)) as (proxy, _):
        async with client() as session:
            await (await ask(proxy, session)).read()
            async with ask(proxy, session) as answer:
                assert answer.status == 403


async def test_leaving_ends_calls_connections_and_the_socket_at_once(tmp_path):
    path = tmp_path / "proxy.sock"
    async with raw_vendor(b"", stays=True) as url, client() as session:
        before = asyncio.all_tasks()
        async with Proxy([Upstream.anthropic("k" * 20, url)], EventLog(), socket=path, port=0) as proxy:
            calls = [asyncio.ensure_future(ask(proxy, session).__aenter__()) for _ in range(5)]
            _, idle = await asyncio.open_connection("127.0.0.1", proxy.port)
            _, silent = await asyncio.open_unix_connection(path)
            idle.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.2)
            started = time.monotonic()
        assert time.monotonic() - started < 0.8
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(each, aiohttp.ClientError) for each in ended)
        idle.close()
        silent.close()
        assert not path.exists()
        await asyncio.sleep(0.05)
        left = {task for task in asyncio.all_tasks() - before if "proxied" not in repr(task.get_coro())}
        assert left <= set(calls), left
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", proxy.port)


async def test_cancelling_the_block_leaves_nothing(tmp_path):
    path = tmp_path / "proxy.sock"
    opened = asyncio.Event()

    async def hold(url):
        async with proxied(url, socket=path) as (proxy, _), client() as session:
            opened.set()
            await ask(proxy, session)

    async with raw_vendor(b"", stays=True) as url:
        task = asyncio.create_task(hold(url))
        await opened.wait()
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not path.exists()


async def test_a_socket_is_for_this_user_only_and_serves_like_the_port(tmp_path):
    path = tmp_path / "proxy.sock"
    async with vendor(lambda request: streamed(request, message("x"))) as url:
        async with Proxy([Upstream.anthropic("k" * 20, url)], EventLog(), socket=path) as proxy:
            assert path.stat().st_mode & 0o777 == 0o600
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
                inside = "http://any/anthropic/v1/messages"
                async with session.post(inside, json={}, headers={"x-api-key": proxy.key}) as answer:
                    assert await answer.read() == b"".join(message("x"))


async def test_a_path_too_long_for_a_socket_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(InputError, match="too long for a socket"):
        async with Proxy([], EventLog(), socket=tmp_path / ("x" * 120)):
            pass
