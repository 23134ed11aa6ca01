"""An agent that wants more than it was given: other calls, other hosts, more than its budget, the real key."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging

import pytest
from aiohttp import web

from proxied import REAL_KEY, ask, client, event, message, proxied, raw_vendor, streamed, turns, usages, vendor
from trueup.core.errors import InputError, TrueupError
from trueup.harness import UsageReported
from trueup.harness.proxy import Allowed, Cassette, Proxy, Upstream
from trueup.harness.proxy._veil import Veil
from trueup.testing import EventLog

DEEP = "[" * 600 + "]" * 600


async def status_of(proxy, request: str) -> int:
    """How bytes are answered that no decent client would send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(request.replace("KEY", proxy.key).encode("latin-1"))
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    writer.close()
    return int(head.split()[1])


def post(path: str, headers: str = "x-api-key: KEY\r\n") -> str:
    return f"POST {path} HTTP/1.1\r\nHost: h\r\n{headers}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"


@pytest.fixture
async def scene():
    """A proxy for two vendors, and the paths that came through to them."""
    came = []

    async def note(request):
        came.append(request.raw_path)
        return web.json_response({})

    async with vendor(note) as url:
        upstreams = [Upstream.anthropic(REAL_KEY, url), Upstream.openai(REAL_KEY, f"{url}/v1")]
        async with Proxy(upstreams, EventLog(), port=0, allowed=[Allowed("*.localhost")]) as proxy:
            yield proxy, came


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/anthropic/v1/messages/batches#/v1/messages", 400),
        ("/anthropic/v1/messages/batches%23/v1/messages", 403),
        ("/anthropic/v1/messages/batches%3F/v1/messages", 403),
        ("/anthropic/v1/messages/batches;/v1/messages", 403),
        ("/anthropic/v1/messages/batches%2f..%2fx/messages", 403),
        ("/openai/v1/threads/t/messages", 403),
        ("/openai/v2/responses", 403),
        ("/openai/v1/models/x%2Fy:batch%3F:generateContent", 403),
    ],
)
async def test_a_path_that_only_ends_like_a_call_opens_nothing(scene, path, status):
    proxy, came = scene
    assert await status_of(proxy, post(path)) == status
    assert came == []


@pytest.mark.parametrize(
    "request_",
    [
        post("/anthropic/v1/messages", "x-api-key: KEY\r\nTransfer-Encoding: chunked\r\n"),
        post("/anthropic/v1/messages", "x-api-key: KEY\r\nContent-Length: 30\r\n"),
        post("/anthropic/v1/messages", "x-api-key: \xff\xfe\r\n"),
        "CONNECT \x00.localhost:443 HTTP/1.1\r\n\r\n",
        f"CONNECT {'a' * 300}.localhost:443 HTTP/1.1\r\n\r\n",
        "GET http://x:99999/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://[::1/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://a.localhost@169.254.169.254/ HTTP/1.1\r\nHost: a.localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "CONNECT a.localhost:443 HTTP/1.1\r\n\r\n",
    ],
    ids=["cl-te", "two-lengths", "key", "nul", "long-name", "port", "bracket", "userinfo", "http2", "loopback"],
)
async def test_what_is_no_decent_request_is_refused_and_nobody_has_to_read_about_it(scene, request_, caplog):
    proxy, came = scene
    logging.getLogger("aiohttp.server").addHandler(caplog.handler)
    assert await status_of(proxy, request_) in {400, 401, 403, 502}
    assert came == []
    assert [each for each in caplog.records if each.name != "trueup.harness.proxy._proxy"] == []


async def test_a_login_of_its_own_opens_nothing_that_cannot_be_metered_either():
    async def never(request):
        raise AssertionError("it came through")

    async with vendor(never) as url, Proxy([Upstream.anthropic(None, url)], EventLog(), port=0) as proxy:
        own = "Authorization: Bearer of-the-person\r\n"
        assert await status_of(proxy, post("/anthropic/v1/complete", own)) == 403


async def test_a_key_that_a_vendor_repeats_does_not_reach_the_agent():
    async def tattle(request):
        response = web.StreamResponse(
            status=401, headers={"x-echo": REAL_KEY, "Content-Length": str(len(REAL_KEY) + 4)}
        )
        await response.prepare(request)
        for piece in (f"no: {REAL_KEY[:9]}", REAL_KEY[9:]):
            await response.write(piece.encode())
            await asyncio.sleep(0.02)
        return response

    async with vendor(tattle) as url, proxied(url) as (proxy, _), client() as session:
        async with ask(proxy, session) as answer:
            assert await answer.text() == "no: " + "*" * len(REAL_KEY)
            assert answer.headers["x-echo"] == "*" * len(REAL_KEY)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_veil_changes_nothing_but_the_secret_however_it_is_cut(size):
    text = b"aab aaab aaaab ab aa"
    veil = Veil("aaab")
    seen = b"".join(veil.cover(text[at : at + size]) for at in range(0, len(text), size)) + veil.rest()
    assert seen == b"aab **** a**** ab aa"


class Budget(EventLog):
    """A recorder that objects once more tokens were used than it grants."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.left = tokens

    async def record(self, event):
        await super().record(event)
        if isinstance(event, UsageReported):
            self.left -= (event.usage.input_tokens or 0) + (event.usage.output_tokens or 0)
            if self.left < 0:
                raise TrueupError("all was used")


async def test_an_agent_that_hangs_up_before_the_count_comes_pays_for_what_it_heard():
    async def endless(request):
        pieces = message(*["four" * 10] * 50)[:-3]
        await streamed(request, [*pieces, b": and no count\n\n"])
        await asyncio.sleep(60)

    options = {"price": lambda model, usage: usage.output_tokens / 100}
    async with vendor(endless) as url, proxied(url, **options) as (proxy, log), client() as session:
        answer = await ask(proxy, session)
        while b"no count" not in await answer.content.readany():
            pass
        answer.close()
        async with asyncio.timeout(5):
            while not usages(log):
                await asyncio.sleep(0.01)
    usage = usages(log)[0].usage
    # The vendor said 11 and 1, and nobody the rest.
    assert (usage.input_tokens, usage.output_tokens, usage.estimated_tokens) == (11, 1, 50 * 10 - 1)
    assert (usage.estimated_cost_usd, usage.incomplete) == (5.0, True)


async def test_an_answer_that_never_says_what_it_used_is_counted_by_its_size():
    pieces = [{"model": "m", "choices": [{"delta": {"content": "x" * 400}}]}, {"choices": [{"finish_reason": "stop"}]}]

    async def uncounted(request):
        return await streamed(request, [f"data: {json.dumps(piece)}\n\n".encode() for piece in pieces])

    async with vendor(uncounted) as url:
        log = EventLog()
        async with Proxy([Upstream.openai(REAL_KEY, url)], log, port=0) as proxy, client() as session:
            body = {"model": "m", "messages": [{"role": "user", "content": "y" * 4000}]}
            await (
                await session.post(f"{proxy.url('openai')}/chat/completions", json=body, headers=bearer(proxy))
            ).read()
    usage = usages(log)[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.incomplete) == (None, None, True)
    assert 1100 < usage.estimated_tokens < 1200


def bearer(proxy):
    return {"Authorization": f"Bearer {proxy.key}"}


async def test_of_many_calls_at_once_only_a_few_are_let_through_before_the_first_is_accounted_for():
    flowing = 0

    async def count(request):
        nonlocal flowing
        flowing += 1
        await asyncio.sleep(0.05)
        return await streamed(request, message("x"))

    async with vendor(count) as url, proxied(url, Budget(5), at_once=3) as (proxy, _), client() as session:
        got = await asyncio.gather(*(ask(proxy, session) for _ in range(20)))
        assert sorted(answer.status for answer in got)[3:] == [403] * 17
    assert flowing == 3


@pytest.mark.parametrize("tokens", [-1000, 10**30, True, "9", 1.5])
async def test_a_count_that_can_be_none_is_unknown(tokens):
    async def lie(request):
        return web.json_response({"content": [], "usage": {"input_tokens": tokens, "output_tokens": 1}})

    async with vendor(lie) as url, proxied(url) as (proxy, log), client() as session:
        await (await ask(proxy, session)).read()
    usage = usages(log)[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.incomplete) == (None, 1, True)
    assert 0 <= usage.estimated_tokens < 100


@pytest.mark.parametrize("streams", [True, False])
async def test_arguments_nested_too_deeply_are_told_as_text_and_the_call_is_metered(streams):
    use = {"type": "tool_use", "id": "t", "name": "n", "input": json.loads(DEEP)}
    pieces = [
        *message("x")[:2],
        event("content_block_start", index=1, content_block={**use, "input": {}}),
        event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": DEEP * 500}),
        event("content_block_start", index=2, content_block=use),
        *message("x")[-2:],
    ]

    async def answer(request):
        if streams:
            return await streamed(request, pieces)
        return web.json_response({"content": [use], "usage": {"input_tokens": 11, "output_tokens": 7}})

    async with vendor(answer) as url, proxied(url) as (proxy, log), client() as session:
        await (await ask(proxy, session)).read()
    assert usages(log)[0].usage.output_tokens == 7
    assert isinstance(turns(log)[0].requested_tool_calls[-1]["arguments"], str)


async def test_an_answer_packed_to_become_all_of_the_memory_is_passed_on_unread():
    bomb = gzip.compress(b"\x00" * (48 << 20))

    async def explode(request):
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    async with vendor(explode) as url, proxied(url) as (proxy, log), client() as session:
        async with session.post(
            f"{proxy.url('anthropic')}/v1/messages", data=b"{}", headers={"x-api-key": proxy.key}
        ) as answer:
            assert answer.content_length == len(bomb)
    assert usages(log)[0].usage.incomplete


async def test_more_connections_than_the_process_can_bear_are_turned_away():
    call = post("/anthropic/v1/messages")
    async with (
        vendor(lambda request: streamed(request, message("x"))) as url,
        proxied(url, connections=20) as (proxy, _),
    ):
        opened = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(20)]
        opened[0][1].write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await opened[0][0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 403")
        assert await status_of(proxy, call) == 503
        opened[1][1].close()
        await asyncio.sleep(0.05)
        assert await status_of(proxy, call) == 200
        for _, writer in opened:
            writer.close()


async def test_a_folder_that_an_agent_puts_in_the_place_of_the_socket_hurts_nobody(tmp_path):
    path = tmp_path / "s"
    async with Proxy([], EventLog(), socket=path):
        path.unlink()
        path.mkdir()
    assert path.is_dir()


@pytest.mark.parametrize("base_url", ["http://[", "http://h:99999", "https://me:hunter22@", "no"])
def test_a_base_url_that_is_none_is_refused_without_its_password(base_url):
    with pytest.raises(InputError, match="no http") as told:
        Upstream.anthropic("k", base_url)
    assert "hunter22" not in str(told.value)
    assert "hunter22" not in repr(Upstream.anthropic("k", "https://me:hunter22@host"))


async def test_what_cannot_be_read_is_never_on_a_cassette(tmp_path):
    secret = b"\xff ghp_0123456789abcdefghijABCDEFGHIJ456789"
    tape = tmp_path / "tape"
    cassette = Cassette.record(tape)

    async def binary(request):
        return web.Response(body=secret if await request.read() == b"{}" else b"{}")

    async with vendor(binary) as url, proxied(url, cassette=cassette) as (proxy, _), client() as session:
        for body in (b"{}", secret):
            async with ask(proxy, session, data=body) as answer:
                await answer.read()
    assert cassette.withheld == 2
    assert len(tape.read_bytes().splitlines()) == 1


async def test_a_packed_answer_is_kept_as_what_it_says(tmp_path):
    async def packed(request):
        response = web.json_response({"content": [{"type": "text", "text": f"see {REAL_KEY}"}]})
        response.enable_compression(web.ContentCoding.gzip)
        return response

    tape = tmp_path / "tape"
    async with client() as session, raw_vendor(b"") as nowhere:
        async with vendor(packed) as url, proxied(url, cassette=Cassette.record(tape)) as (proxy, _):
            await (await ask(proxy, session)).read()
        async with proxied(nowhere, cassette=Cassette.replay(tape)) as (proxy, _), ask(proxy, session) as answer:
            assert (await answer.json())["content"][0]["text"] == "see [redacted]"


@pytest.mark.parametrize(
    "answered",
    [
        {"status": 99999, "headers": {}, "json": 1},
        {"status": 101, "headers": {}, "json": 1},
        {"status": 200, "headers": {"Content-Type": "a\r\nSet-Cookie: b"}, "json": 1},
    ],
)
async def test_a_cassette_with_an_answer_that_none_can_be_is_refused_when_it_is_opened(tmp_path, answered):
    tape = tmp_path / "tape"
    asked = {"method": "POST", "target": "/anthropic/v1/messages", "body": {}}
    tape.write_text('{"trueup_cassette": 1}\n' + json.dumps({"asked": asked, "answered": answered}))
    with pytest.raises(InputError, match="tape:2: .*record it again"):
        async with proxied("http://127.0.0.1:9", cassette=Cassette.replay(tape)):
            pass


async def test_a_question_nested_too_deeply_is_recorded_and_found_again(tmp_path):
    tape = tmp_path / "tape"
    body = f'{{"messages": {DEEP}}}'.encode()
    async with vendor(lambda request: streamed(request, message("x"))) as url, client() as session:
        for cassette in (Cassette.record(tape), Cassette.replay(tape)):
            async with proxied(url, cassette=cassette) as (proxy, _), ask(proxy, session, data=body) as answer:
                assert answer.status == 200
                await answer.read()
