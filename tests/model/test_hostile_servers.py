"""Servers that do what no vendor documents: it is a sentence, and neither a crash nor a leak."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import traceback

import pytest
from vendor_bodies import CLAUDE, HELLO, KEY, anthropic, openai, text

from trueup.core.errors import InputError, Kind, TrueupError
from trueup.model import Access, ModelError, Request, Secret, Tool, chat

LOCAL = "openai-compatible:qwen3"
ONCE = Access(retry_delays_secs=(), timeout_secs=30)
LOOK = Tool("look", "looks", {"type": "object"})


async def failure(model: str, access: Access = ONCE) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=model, messages=HELLO), access)
    return raised.value


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("model", [CLAUDE, LOCAL])
async def test_an_answer_that_is_nested_too_deeply_cannot_be_read(vendor, model, status):
    vendor.says('{"error":' * 100_000, status=status)
    error = await failure(f"{model}@{vendor.url}")
    assert '{"error":{"error":' in str(error)


async def test_arguments_that_are_nested_too_deeply_are_told_to_the_model(vendor):
    call = {"id": "c1", "function": {"name": "look", "arguments": '{"a":' * 50_000}}
    vendor.says(openai(None, tool_calls=[call]))
    answer = await chat(Request(model=f"{LOCAL}@{vendor.url}", messages=HELLO, tools=[LOOK]))
    assert answer.tool_calls[0].input == {}
    assert "nested too deeply" in answer.tool_calls[0].error


async def test_nulls_where_others_send_nothing_do_no_harm(vendor):
    calls = [
        {"id": None, "function": {"name": "look", "arguments": None}},
        {"id": None, "function": {"name": "look", "arguments": '{"a": 1}'}},
    ]
    vendor.says(openai([{"type": "text", "text": None}, {"type": "text", "text": "I look."}], tool_calls=calls))
    answer = await chat(Request(model=f"{LOCAL}@{vendor.url}", messages=HELLO, tools=[LOOK]))
    assert (answer.text, [call.input for call in answer.tool_calls]) == ("I look.", [{}, {"a": 1}])
    assert len({call.id for call in answer.tool_calls}) == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_told_and_not_followed(vendor, status):
    vendor.says("", status=status, location=f"{vendor.url}/elsewhere/v1/messages")
    vendor.says(anthropic(text("hi")))
    error = await failure(f"{CLAUDE}@{vendor.url}")
    assert (error.kind, len(vendor.asked)) == (Kind.PROTOCOL, 1)
    assert f"is elsewhere ({status}: {vendor.url}/elsewhere/v1/messages)" in str(error)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("model", [CLAUDE, LOCAL])
async def test_an_answer_without_an_end_is_given_up(vendor, model, status):
    vendor.never_stops(status)
    error = await failure(f"{model}@{vendor.url}")
    assert error.kind is Kind.PROTOCOL
    assert "more than 32 MiB" in str(error)
    await asyncio.wait_for(vendor.lost.wait(), 5)


async def test_a_compressed_answer_that_nobody_asked_for_is_read_while_it_is_small(vendor):
    vendor.says(gzip.compress(json.dumps(anthropic(text("hi"))).encode()), content_encoding="gzip")
    assert (await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))).text == "hi"
    assert vendor.headers[0]["accept-encoding"] == "identity"


async def test_a_compressed_answer_cannot_unfold_to_gigabytes(vendor):
    vendor.says(gzip.compress(bytes(1 << 28)), content_encoding="gzip")
    error = await failure(f"{CLAUDE}@{vendor.url}")
    assert (error.kind, "compressed" in str(error)) == (Kind.PROTOCOL, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999",
        "http://127.0.0.1:x/v1",
        "http://[::1/v1",
        "http://a b/v1",
        "http://a\nb",
        "http://☃.eu",
    ],
)
async def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(TrueupError, match="base URL") as raised:
        await chat(Request(model=CLAUDE, messages=HELLO), Access(base_url=url))
    assert raised.value.kind is Kind.INPUT


async def test_a_model_without_a_name_is_asked_for():
    with pytest.raises(InputError, match="name a model"):
        await chat(Request(model=" ", messages=HELLO))


async def test_how_long_a_server_asks_to_wait_is_told(vendor):
    vendor.says({"error": {"message": "slower"}}, status=429, retry_after="3600")
    assert "it asks to wait for 3600 s" in str(await failure(f"{CLAUDE}@{vendor.url}", Access()))


async def test_a_request_id_is_told_as_far_as_it_helps(vendor):
    vendor.says("no", status=400, request_id="r" * 5000)
    assert len(str(await failure(f"{CLAUDE}@{vendor.url}"))) < 500


@pytest.mark.parametrize("status", [200, 400])
async def test_no_part_of_a_key_is_left_where_a_quote_ends(vendor, status):
    key = "opaque0123456789abcdefghijklmnop"
    for before in (470, 485, 499):
        vendor.says("." * before + key, status=status)
        error = await failure(f"{LOCAL}@{vendor.url}", Access(key=Secret(key), retry_delays_secs=()))
        assert "opaque" not in str(error)


@pytest.mark.parametrize("key", ["opaque-secret\nX-Evil: 1", "opaque-sécret", "two opaque-secrets"])
async def test_a_key_that_was_handed_over_and_cannot_be_one_is_refused_without_being_shown(vendor, key):
    error = await failure(f"{CLAUDE}@{vendor.url}", Access(key=Secret(key)))
    assert (error.kind, error.__cause__, vendor.asked) == (Kind.AUTH, None, [])
    assert "opaque" not in with_locals(error)


@pytest.mark.parametrize("value", ["", f"{KEY} and more"])
async def test_no_variable_is_shown_where_a_key_cannot_be_used(monkeypatch, value):
    monkeypatch.setenv("OPENAI_API_KEY", value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert KEY not in with_locals(await failure("gpt-5"))


@pytest.mark.parametrize("model", ["nobodys", "openai-compatible:qwen3", "claude-x@http://me:opaque@host"])
async def test_no_variable_is_shown_where_a_model_cannot_be_found(monkeypatch, model):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(InputError) as raised:
        await chat(Request(model=model, messages=HELLO))
    assert KEY not in with_locals(raised.value)
    assert "opaque" not in str(raised.value)


def with_locals(error: BaseException) -> str:
    """What a program would show that prints every variable of every frame below the test's own."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join("".join(frame.locals.values()) for frame in shown.stack if "/tests/" not in frame.filename)


@pytest.mark.parametrize("proxy", ["socks5://me:opaque@127.0.0.1:9", "socks4://me:opaque@127.0.0.1:9", "://x"])
async def test_a_proxy_that_cannot_be_used_is_told_by_its_variable(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(InputError, match="ALL_PROXY") as raised:
        await chat(Request(model=f"{CLAUDE}@http://127.0.0.1:9", messages=HELLO))
    assert "opaque" not in str(raised.value)
    assert raised.value.__context__ is None


CERTIFICATES = """
import asyncio
from trueup.core.errors import InputError
from trueup.model import Message, Request, chat
try:
    asyncio.run(chat(Request(model="claude-x@http://127.0.0.1:9", messages=[Message(text="hello")])))
except InputError as error:
    print(error)
"""


def test_certificates_that_are_not_there_are_told_by_their_variable():
    environ = {"SSL_CERT_FILE": "/nowhere.pem", "ANTHROPIC_API_KEY": KEY}
    finished = subprocess.run(
        [sys.executable, "-c", CERTIFICATES], env=environ, capture_output=True, text=True, check=True
    )
    assert "SSL_CERT_FILE" in finished.stdout
