"""A scripted model goes wrong in every way in which real ones do."""

from __future__ import annotations

import asyncio
import json
import time

import aiohttp
import anthropic
import openai
import pytest

from trueup.core.errors import InputError
from trueup.testing import Answer, Fault, ScriptedModel, Text

PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
}
STREAMED = {"stream": True, "messages": [{"role": "user", "content": "hi"}], "input": "hi", "contents": []}


@pytest.fixture
async def serve():
    async with aiohttp.ClientSession() as http:
        models = []

        async def start(*script, **options):
            models.append(await ScriptedModel(script, **options).__aenter__())
            return models[-1]

        start.http = http
        yield start
        for model in models:
            await model.__aexit__(None, None, None)


def claude(model, retries=0):
    return anthropic.AsyncAnthropic(base_url=model.url, api_key="k", max_retries=retries)


def gpt(model, retries=0):
    return openai.AsyncOpenAI(base_url=f"{model.url}/v1", api_key="k", max_retries=retries)


async def ask_claude(model, retries=0, **more):
    async with claude(model, retries) as client:
        return await client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], **more
        )


async def ask_gpt(model, retries=0, **more):
    async with gpt(model, retries) as client:
        return await client.responses.create(model="m", input="hi", **more)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, "AuthenticationError", "authentication_error"),
        (403, "PermissionDeniedError", "permission_error"),
        (404, "NotFoundError", "not_found_error"),
        (429, "RateLimitError", "rate_limit_error"),
        (500, "InternalServerError", "api_error"),
        (529, "InternalServerError", "overloaded_error"),
    ],
)
async def test_an_http_status_is_the_error_that_the_sdks_have_for_it(serve, status, error, kind):
    model = await serve(Fault(status, message="no way"))
    with pytest.raises(getattr(anthropic, error, anthropic.APIStatusError)) as by_anthropic:
        await ask_claude(model)
    with pytest.raises(getattr(openai, error)) as by_openai:
        await ask_gpt(model)
    assert by_anthropic.value.body["error"] == {"type": kind, "message": "no way"}
    assert (by_anthropic.value.status_code, by_openai.value.status_code) == (status, status)
    assert by_openai.value.body["message"] == "no way"


async def test_the_vendors_own_type_and_code_can_be_given(serve):
    model = await serve(Fault(429, code="insufficient_quota", type="insufficient_quota", headers={"x-why": "money"}))
    with pytest.raises(openai.RateLimitError) as caught:
        await ask_gpt(model)
    assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")
    assert caught.value.response.headers["x-why"] == "money"


async def test_retry_after_is_told_and_heeded(serve):
    model = await serve(Fault(429, retry_after=0.7), Text("now"))
    began = time.monotonic()
    message = await ask_claude(model, retries=1)
    assert message.content[0].text == "now"
    assert time.monotonic() - began >= 0.7


async def test_some_failures_and_then_success(serve):
    model = await serve(Fault(500, times=2, retry_after=0.01), Text("third time"))
    response = await ask_gpt(model, retries=2)
    assert response.output_text == "third time"
    assert [getattr(request.answered_by, "what", "said") for request in model.requests] == [500, 500, "said"]


async def test_a_fault_at_the_end_of_a_script_stays(serve):
    model = await serve(Text("one"), Fault(401))
    await ask_gpt(model)
    for _ in range(3):
        with pytest.raises(openai.AuthenticationError):
            await ask_gpt(model)


async def test_hanging_ends_with_the_model():
    async with ScriptedModel([Fault("hang")]) as model:
        asking = asyncio.create_task(ask_gpt(model))
        await model.wait_for(1)
        done, _ = await asyncio.wait([asking], timeout=0.3)
        assert not done
    with pytest.raises(openai.APIConnectionError):
        await asking


async def test_a_client_that_gives_up_on_a_hanging_model_can_ask_again(serve):
    model = await serve(Fault("hang"), Text("awake"))
    async with gpt(model).with_options(timeout=0.3) as client:
        with pytest.raises(openai.APITimeoutError):
            await client.responses.create(model="m", input="hi")
        assert (await client.responses.create(model="m", input="hi")).output_text == "awake"


@pytest.mark.parametrize("api", PATHS)
async def test_a_cut_stream_begins_and_breaks(serve, api):
    model = await serve(Fault("cut"))
    received = b""
    with pytest.raises(aiohttp.ClientPayloadError):
        async with serve.http.post(model.url + PATHS[api], json=STREAMED) as answer:
            assert answer.status == 200
            async for chunk in answer.content.iter_any():
                received += chunk
    assert b"This answer was" in received


async def test_an_answer_that_is_no_stream_is_cut_too(serve):
    model = await serve(Fault("cut"))
    with pytest.raises(aiohttp.ClientPayloadError):
        async with serve.http.post(model.url + PATHS["chat"], json={**STREAMED, "stream": False}) as answer:
            await answer.read()


@pytest.mark.parametrize("api", PATHS)
async def test_a_stalled_stream_begins_and_falls_silent(serve, api):
    model = await serve(Fault("stall"))
    received = b""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5), serve.http.post(model.url + PATHS[api], json=STREAMED) as answer:
            async for chunk in answer.content.iter_any():
                received += chunk
    assert received


@pytest.mark.parametrize("api", PATHS)
async def test_garbage_is_status_200_and_no_json(serve, api):
    model = await serve(Fault("garbage"))
    async with serve.http.post(model.url + PATHS[api], json=STREAMED) as answer:
        text = await answer.text()
    assert answer.status == 200
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(text)


async def test_an_error_within_a_stream_is_what_the_sdk_makes_of_it(serve):
    model = await serve(Fault("stream_error", message="too much to do"))
    with pytest.raises(anthropic.APIStatusError, match="too much to do"):
        async with claude(model) as client:
            stream = await client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True
            )
            async for _ in stream:
                pass
    async with gpt(model) as client:
        events = [event async for event in await client.responses.create(model="m", input="hi", stream=True)]
    assert events[-1].response.error.message == "too much to do"


async def test_an_empty_answer_has_no_content(serve):
    model = await serve(Fault("empty"))
    message = await ask_claude(model)
    assert (message.content, message.stop_reason) == ([], "end_turn")
    assert (await ask_gpt(model)).output == []


async def test_a_refusal_is_marked_as_each_vendor_marks_it(serve):
    model = await serve(Fault("refusal", message="never"))
    async with gpt(model) as client:
        chat = await client.chat.completions.create(model="m", messages=[])
    assert (await ask_claude(model)).stop_reason == "refusal"
    assert (await ask_gpt(model)).output[0].content[0].refusal == "never"
    assert (chat.choices[0].message.refusal, chat.choices[0].finish_reason) == ("never", "content_filter")


async def test_an_answer_cut_by_max_tokens_says_so(serve):
    model = await serve(Fault("max_tokens"))
    async with gpt(model) as client:
        chat = await client.chat.completions.create(model="m", messages=[])
    assert (await ask_claude(model)).stop_reason == "max_tokens"
    assert (await ask_gpt(model)).incomplete_details.reason == "max_output_tokens"
    assert chat.choices[0].finish_reason == "length"


async def test_an_answer_can_be_slow(serve):
    model = await serve(Answer([Text("x" * 100)], delay_secs=0.2, pause_secs=0.02))
    began = time.monotonic()
    async with claude(model) as client:
        request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        async with client.messages.stream(**request) as stream:
            await stream.get_final_message()
    # Eight pauses at least: five pieces of text, and what is around them.
    assert time.monotonic() - began >= 0.2 + 8 * 0.02


@pytest.mark.parametrize("wrong", [lambda: Fault("nonsense"), lambda: Fault(200), lambda: Fault(500, times=0)])
def test_a_fault_that_is_none_is_refused_when_it_is_written(wrong):
    with pytest.raises(InputError):
        wrong()
