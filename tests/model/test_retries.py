"""When a model is asked again, how long that waits, and what cancelling leaves behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.core.errors import Kind
from trueup.core.protocols import Prompt
from trueup.model import Access, ModelError, Request, chat, generate_for

BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
LIMITED = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}


async def test_a_busy_server_is_asked_again_after_one_and_two_seconds(vendor):
    vendor.says(BUSY, status=529)
    vendor.says(BUSY, status=529)
    vendor.says(anthropic(text("hi")))
    began = time.monotonic()
    answer = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert answer.text == "hi"
    assert 3 <= time.monotonic() - began < 30


async def test_each_try_is_told_before_it_is_waited_for(vendor):
    vendor.says(BUSY, status=529, retry_after="0.25")
    vendor.says(BUSY, status=529)
    vendor.says(anthropic(text("hi")))
    told = []

    async def hear(retry):
        told.append((retry.attempt, retry.wait_secs, retry.error.kind, len(vendor.asked)))

    request = Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO)
    await chat(request, Access(retry_delays_secs=(1, 0.1)), hear)
    assert told == [(1, 0.25, Kind.OVERLOADED, 1), (2, 0.1, Kind.OVERLOADED, 2)]


async def test_another_clock_may_do_the_waiting(vendor):
    vendor.says(BUSY, status=529)
    vendor.says(BUSY, status=529, retry_after="40")
    vendor.says(anthropic(text("hi")))
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    answer = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), sleep=sleep)
    assert answer.text == "hi"
    assert waits == [1, 40]


async def test_what_is_not_tried_again_is_not_told_as_if_it_were(vendor):
    vendor.says(LIMITED, status=429, retry_after="3600")
    told = []
    with pytest.raises(ModelError):
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), Access(), told.append)
    assert told == []


async def test_a_model_asked_for_one_reply_tells_of_its_tries_too(vendor):
    vendor.says(BUSY, status=529, retry_after="0")
    vendor.says(anthropic(text("hi")))
    told = []

    async def hear(retry):
        told.append(str(retry))

    reply = await generate_for(f"{CLAUDE}@{vendor.url}", hear)(Prompt("hello"))
    assert reply.text == "hi"
    assert told[0].endswith("tried again in 0 s")


async def test_three_tries_are_all(vendor):
    vendor.says(BUSY, status=529, retry_after="0")
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.kind is Kind.OVERLOADED
    assert len(vendor.asked) == 3


@pytest.mark.parametrize(
    ("status", "code"), [(401, "invalid_api_key"), (429, "insufficient_quota"), (404, "model_not_found"), (418, "new")]
)
async def test_what_waiting_does_not_mend_is_not_tried_again(vendor, status, code):
    vendor.says({"error": {"message": "no", "type": "invalid_request_error", "code": code}}, status=status)
    with pytest.raises(ModelError):
        await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))
    assert len(vendor.asked) == 1


def in_two_seconds() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry_after": "0"}, 0),
        ({"retry_after": "0.4"}, 0.4),
        ({"retry_after": "50", "retry_after_ms": "200"}, 0.2),
        ({"retry_after": in_two_seconds}, 0.5),
    ],
)
async def test_how_long_a_server_asks_to_wait_comes_before_our_own_patience(vendor, headers, least):
    headers = {name: value() if callable(value) else value for name, value in headers.items()}
    vendor.says(LIMITED, status=429, **headers)
    vendor.says(openai("hi"))
    began = time.monotonic()
    await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO), Access(retry_delays_secs=(50,)))
    assert least <= time.monotonic() - began < 30


async def test_a_wait_that_cannot_be_read_leaves_our_own_patience(vendor):
    vendor.says(LIMITED, status=429, retry_after="soon")
    vendor.says(openai("hi"))
    began = time.monotonic()
    await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO), Access(retry_delays_secs=(0.5,)))
    assert 0.5 <= time.monotonic() - began < 30


async def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(vendor):
    vendor.says(LIMITED, status=429, retry_after="3600")
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))
    assert raised.value.retry_after_secs == 3600
    assert len(vendor.asked) == 1


async def test_the_clock_is_for_each_try(vendor):
    vendor.says(LIMITED, status=429, retry_after="1.6")
    vendor.says(openai("hi"))
    request = Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO)
    assert (await chat(request, Access(timeout_secs=1.5))).text == "hi"


@pytest.mark.parametrize("model", [CLAUDE, "gpt-5"])
async def test_cancelling_closes_the_connection(vendor, model):
    vendor.hangs()
    asking = asyncio.create_task(chat(Request(model=f"{model}@{vendor.url}", messages=HELLO)))
    await vendor.heard()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(vendor.lost.wait(), 5)


async def test_the_clock_closes_the_connection_too(vendor):
    vendor.hangs()
    with pytest.raises(ModelError):
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), Access(timeout_secs=1))
    await asyncio.wait_for(vendor.lost.wait(), 5)


async def test_many_are_asked_at_once(vendor):
    vendor.says(anthropic(text("hi")))
    request = Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO)
    answers = await asyncio.gather(*(chat(request) for _ in range(40)))
    assert [answer.text for answer in answers] == ["hi"] * 40


FIRST_CALL = """
import asyncio, time
from trueup.model import Message, ModelError, Request, chat

async def longest_pause(pauses):
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.005)
        pauses.append(time.monotonic() - began)

async def main():
    pauses = []
    watching = asyncio.create_task(longest_pause(pauses))
    began = time.monotonic()
    try:
        await chat(Request(model="claude-opus-5-5@http://127.0.0.1:9", messages=[Message(text="hello")]))
    except ModelError as error:
        print(error.kind, max(pauses), time.monotonic() - began)

asyncio.run(main())
"""


def test_importing_a_vendors_library_does_not_stop_the_loop():
    finished = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True)
    kind, pause, whole = finished.stdout.split()
    assert kind == "network"
    assert float(pause) < float(whole) / 2
