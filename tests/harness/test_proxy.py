"""Calls of models through the proxy, by the vendors' own libraries."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest
from aiohttp import web

from proxied import REAL_KEY, ask, client, message, proxied, streamed, turns, usages, vendor
from trueup.core.usage import Usage
from trueup.harness.proxy import Proxy, Upstream
from trueup.testing import Answer, EventLog, Fault, ScriptedModel, Text, Tokens, Tool

TOOL = {
    "name": "look",
    "description": "d",
    "input_schema": {"type": "object", "properties": {"where": {"type": "string"}}},
}
FUNCTION = {"name": "look", "parameters": TOOL["input_schema"]}
STEP = Answer(
    [Text("I will look."), Tool("look", {"where": "there"}, id="call_1")],
    usage=Tokens(input=100, output=20, cache_read=30),
)


@pytest.fixture
async def model():
    async with ScriptedModel([STEP, STEP]) as scripted:
        yield scripted


@pytest.fixture
async def scene(model):
    """A proxy before a scripted model for every vendor, and what it told."""
    log = EventLog()
    upstreams = [
        Upstream.anthropic(REAL_KEY, model.url),
        Upstream.openai("sk-proj-real-openai-key-000000000000", f"{model.url}/v1"),
        Upstream.gemini("AIzaReal-google-key-00000000000000000000", model.url),
    ]
    async with Proxy(upstreams, log, port=0) as proxy:
        yield proxy, log


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
async def test_the_anthropic_library_works_and_its_turn_is_told(scene, model, streams):
    proxy, log = scene
    async with anthropic.AsyncAnthropic(base_url=proxy.url("anthropic"), api_key=proxy.key, max_retries=0) as library:
        wanted = {
            "model": "claude-x",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": "go"}],
            "tools": [TOOL],
        }
        if streams:
            async with library.messages.stream(**wanted) as stream:
                answer = await stream.get_final_message()
        else:
            answer = await library.messages.create(**wanted)
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    assert model.requests[0].headers["x-api-key"] == REAL_KEY
    await proxy.settled()
    _must_be_the_step(log)
    assert turns(log)[0].usage == Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30, cache_write_tokens=0)


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
async def test_the_openai_library_works_with_chat_and_its_turn_is_told(scene, model, streams):
    proxy, log = scene
    async with openai.AsyncOpenAI(base_url=proxy.url("openai"), api_key=proxy.key, max_retries=0) as library:
        wanted = {
            "model": "gpt-5",
            "messages": [{"role": "user", "content": "go"}],
            "tools": [{"type": "function", "function": FUNCTION}],
        }
        if streams:
            stream = await library.chat.completions.create(
                **wanted, stream=True, stream_options={"include_usage": True}
            )
            async for _ in stream:
                pass
        else:
            await library.chat.completions.create(**wanted)
    assert model.requests[0].headers["authorization"] == "Bearer sk-proj-real-openai-key-000000000000"
    await proxy.settled()
    _must_be_the_step(log)
    assert turns(log)[0].usage.input_tokens == 130


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
async def test_the_openai_library_works_with_responses_and_its_turn_is_told(scene, streams):
    proxy, log = scene
    async with openai.AsyncOpenAI(base_url=proxy.url("openai"), api_key=proxy.key, max_retries=0) as library:
        wanted = {"model": "gpt-5", "input": "go", "tools": [{"type": "function", **FUNCTION, "strict": False}]}
        if streams:
            async for _ in await library.responses.create(**wanted, stream=True):
                pass
        else:
            await library.responses.create(**wanted)
    await proxy.settled()
    _must_be_the_step(log)
    assert turns(log)[0].usage.output_tokens == 20


@pytest.mark.parametrize("call", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
async def test_gemini_works_by_header_and_by_query_and_its_turn_is_told(scene, model, call):
    proxy, log = scene
    mark = "&" if "?" in call else "?"
    url = f"{proxy.url('gemini')}/v1beta/models/gemini-2.5-pro:{call}{mark}key={proxy.key}"
    body = {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "tools": [{"functionDeclarations": [FUNCTION]}],
    }
    async with client() as session, session.post(url, json=body) as answer:
        assert answer.status == 200
        await answer.read()
    assert "key" not in model.requests[0].query
    assert model.requests[0].headers["x-goog-api-key"].startswith("AIzaReal")
    await proxy.settled()
    _must_be_the_step(log)


def _must_be_the_step(log):
    (turn,) = turns(log)
    assert (turn.status, turn.error, turn.assistant_text) == (200, "", "I will look.")
    assert [(call["name"], call["arguments"]) for call in turn.requested_tool_calls] == [("look", {"where": "there"})]
    assert turn.model in {"claude-x", "gpt-5", "gemini-2.5-pro"}
    assert turn.duration_secs > 0
    assert [each.usage for each in usages(log)] == [turn.usage]
    assert not turn.usage.incomplete


async def test_events_arrive_when_they_are_sent_and_not_one_byte_is_changed():
    pieces = message("one", "two", "thrée")
    async with (
        vendor(lambda request: streamed(request, pieces, 0.05)) as url,
        proxied(url) as (proxy, _),
        client() as session,
    ):
        async with ask(proxy, session) as answer:
            assert answer.headers["Content-Type"] == "text/event-stream"
            assert [await answer.content.readany() for _ in pieces] == pieces
            assert await answer.read() == b""


async def test_the_head_of_a_stream_arrives_before_its_first_event():
    async def slow(request):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "request-id": "r1"})
        await response.prepare(request)
        await asyncio.sleep(60)
        return response

    import asyncio

    async with vendor(slow) as url, proxied(url) as (proxy, _), client() as session:
        async with asyncio.timeout(5):
            answer = await ask(proxy, session)
        assert answer.headers["request-id"] == "r1"
        answer.close()


async def test_another_key_than_the_one_made_for_the_run_opens_nothing():
    async def never(request):
        raise AssertionError("it came through")

    async with vendor(never) as url, proxied(url) as (proxy, log), client() as session:
        async with ask(proxy, session, key="trueup-guessed") as answer:
            assert answer.status == 401
            assert "not the key" in (await answer.json())["error"]["message"]
        async with session.post(f"{proxy.url('anthropic')}/v1/messages", json={}) as answer:
            assert answer.status == 401
    assert log.events == []


async def test_two_proxies_never_make_the_same_key(model):
    keys = {Proxy([], EventLog(), port=0).key for _ in range(10)}
    assert len(keys) == 10


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/anthropic/v1/messages/batches", 403),
        ("GET", "/anthropic/v1/organizations/users", 403),
        ("POST", "/anthropic/v1/../v1/messages", 400),
        ("POST", "/anthropic/v1/%2e%2e/v1/messages", 400),
        ("POST", "/nobody/v1/messages", 403),
        ("GET", "/", 403),
    ],
)
async def test_the_real_key_opens_only_what_can_be_metered(method, path, status):
    async def never(request):
        raise AssertionError("it came through")

    from yarl import URL

    async with vendor(never) as url, proxied(url) as (proxy, _), client() as session:
        target = URL(f"http://127.0.0.1:{proxy.port}{path}", encoded=True)
        async with session.request(method, target, headers={"x-api-key": proxy.key}) as answer:
            assert answer.status == status
            assert (await answer.json())["error"]["message"].startswith("trueup: ")


async def test_free_calls_go_through_and_are_no_turns(scene, model):
    proxy, log = scene
    async with client() as session:
        async with session.get(f"{proxy.url('anthropic')}/v1/models", headers={"x-api-key": proxy.key}) as answer:
            assert answer.status == 200
        async with ask(proxy, session, path="/v1/messages/count_tokens") as answer:
            assert answer.status == 200
    await proxy.settled()
    assert log.events == []


async def test_an_agents_own_login_passes_through_untouched_and_is_metered():
    seen = {}

    async def note(request):
        seen.update(request.headers)
        return await streamed(request, message("my token is oauth-token-of-the-person"))

    log = EventLog()
    async with vendor(note) as url, Proxy([Upstream.anthropic(None, url)], log, port=0) as proxy, client() as session:
        own = {"Authorization": "Bearer oauth-token-of-the-person", "Cookie": "a=b"}
        async with session.post(f"{proxy.url('anthropic')}/v1/messages?beta=true", headers=own, json={}) as answer:
            await answer.read()
        async with session.get(f"{proxy.url('anthropic')}/api/oauth/profile", headers=own) as answer:
            assert answer.status == 200
        assert "ANTHROPIC_API_KEY" not in proxy.environment()
    assert (seen["Authorization"], seen["Cookie"]) == ("Bearer oauth-token-of-the-person", "a=b")
    (turn,) = turns(log)
    assert turn.usage.output_tokens == 7
    assert "oauth-token" not in turn.assistant_text


async def test_headers_for_the_next_hop_stay_there():
    seen = {}

    async def note(request):
        seen.update(request.headers)
        return web.json_response(
            {}, headers={"Alt-Svc": "h3", "Connection": "close", "x-kept": "1", "Set-Cookie": "a=b"}
        )

    async with vendor(note) as url, proxied(url) as (proxy, _), client() as session:
        headers = {
            "Connection": "keep-alive, x-private",
            "x-private": "1",
            "anthropic-version": "v",
            "Accept-Encoding": "br",
        }
        async with ask(proxy, session, headers=headers) as answer:
            assert "Alt-Svc" not in answer.headers
            assert "Set-Cookie" not in answer.headers
            assert answer.headers["x-kept"] == "1"
    assert "x-private" not in seen
    assert seen["anthropic-version"] == "v"
    assert seen["Accept-Encoding"] == "identity"
    assert seen["Host"].startswith("127.0.0.1")


async def test_a_vendor_that_packs_its_answer_all_the_same_is_read():
    async def packed(request):
        response = web.json_response(
            {"content": [{"type": "text", "text": "packed"}], "usage": {"input_tokens": 1, "output_tokens": 2}}
        )
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with vendor(packed) as url, proxied(url) as (proxy, log), client() as session:
        async with ask(proxy, session) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert (await answer.json())["content"][0]["text"] == "packed"
    assert turns(log)[0].assistant_text == "packed"


async def test_a_price_makes_an_estimate_and_none_leaves_it_unknown():
    async with vendor(lambda request: streamed(request, message("x"))) as url, client() as session:
        async with proxied(url, price=lambda model, usage: {"m-1": 0.5}.get(model)) as (proxy, log):
            await (await ask(proxy, session)).read()
        assert usages(log)[0].usage.estimated_cost_usd == 0.5
        async with proxied(url, price=lambda model, usage: None) as (proxy, log):
            await (await ask(proxy, session)).read()
        assert usages(log)[0].usage.estimated_cost_usd is None


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_a_vendors_no_is_passed_on_and_costs_nothing(status):
    async with ScriptedModel([Fault(status, retry_after=3)]) as model, client() as session:
        async with proxied(model.url) as (proxy, log):
            async with ask(proxy, session) as answer:
                assert answer.status == status
                told = await answer.json()
    (turn,) = turns(log)
    assert turn.status == status
    assert turn.model == "m-1"
    assert told["error"]["message"] in turn.error
    assert usages(log) == []


async def test_the_variables_lead_the_libraries_here(scene, monkeypatch):
    proxy, log = scene
    for name, value in proxy.environment().items():
        monkeypatch.setenv(name, value)
    async with anthropic.AsyncAnthropic() as library:
        await library.messages.create(model="claude-x", max_tokens=9, messages=[{"role": "user", "content": "go"}])
    async with openai.AsyncOpenAI() as library:
        await library.responses.create(model="gpt-5", input="go")
    await proxy.settled()
    assert [turn.status for turn in turns(log)] == [200, 200]


async def test_nothing_that_is_told_or_shown_holds_a_key():
    async def tattle(request):
        return web.json_response({"type": "error", "error": {"message": f"bad key {REAL_KEY}"}}, status=401)

    async with vendor(tattle) as url, proxied(url) as (proxy, log), client() as session:
        await (await ask(proxy, session)).read()
    assert len(turns(log)) == 1
    assert REAL_KEY not in repr(log.events)
    assert REAL_KEY not in repr(Upstream.anthropic(REAL_KEY))
    assert "sk-ant" not in json.dumps([event.error for event in turns(log)])
