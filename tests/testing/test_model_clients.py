"""The official SDKs, and Gemini's clients, take a scripted model for a real one."""

from __future__ import annotations

import json

import aiohttp
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from trueup.testing import Answer, ScriptedModel, Text, Thinking, Tokens, Tool

USAGE = Tokens(input=70, output=9, cache_read=20, cache_write=10, reasoning=4)
ANSWER = Answer(
    [
        Thinking("Let me think about this for a while."),
        Text("I will run two commands for you now."),
        Tool("Bash", {"command": "make"}),
        Tool("Write", {"file_path": "/a", "content": "ä\n"}, "an-id"),
    ],
    USAGE,
)
CALLS = [("Bash", {"command": "make"}), ("Write", {"file_path": "/a", "content": "ä\n"})]


@pytest.fixture
async def model():
    async with ScriptedModel([ANSWER]) as made:
        yield made


@pytest.fixture
async def anthropic(model):
    async with AsyncAnthropic(base_url=model.url, api_key="sk-test", max_retries=0) as client:
        yield client


@pytest.fixture
async def openai(model):
    async with AsyncOpenAI(base_url=f"{model.url}/v1", api_key="sk-test", max_retries=0) as client:
        yield client


def anthropic_request():
    return {"model": "claude-x", "max_tokens": 500, "messages": [{"role": "user", "content": "hello"}]}


def assert_message(message):
    thought, text, first, second = message.content
    assert thought.thinking == "Let me think about this for a while."
    assert text.text == "I will run two commands for you now."
    assert [(call.name, call.input) for call in (first, second)] == CALLS
    assert second.id == "an-id"
    assert message.stop_reason == "tool_use"
    assert message.model == "claude-x"
    used = message.usage
    assert (used.input_tokens, used.output_tokens) == (70, 9)
    assert (used.cache_read_input_tokens, used.cache_creation_input_tokens) == (20, 10)


async def test_anthropic_whole(anthropic):
    assert_message(await anthropic.messages.create(**anthropic_request()))


async def test_anthropic_streamed(anthropic):
    async with anthropic.messages.stream(**anthropic_request()) as stream:
        texts = [text async for text in stream.text_stream]
        assert_message(await stream.get_final_message())
    assert len(texts) > 1


async def test_anthropic_beta_and_counting(anthropic, model):
    counted = await anthropic.messages.count_tokens(model="x", messages=[{"role": "user", "content": "hello"}])
    message = await anthropic.beta.messages.create(**anthropic_request(), extra_query={"beta": "true"})
    assert counted.input_tokens > 0
    assert message.content[1].text.startswith("I will")
    assert [(request.path, request.query, request.aside) for request in model.requests] == [
        ("/v1/messages/count_tokens", {}, True),
        ("/v1/messages", {"beta": "true"}, False),
    ]


def assert_openai_usage(used, prompt, completion):
    assert (getattr(used, prompt), getattr(used, completion), used.total_tokens) == (100, 9, 109)
    assert getattr(used, f"{prompt}_details").cached_tokens == 20
    assert getattr(used, f"{completion}_details").reasoning_tokens == 4


async def test_chat_whole(openai):
    done = await openai.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hello"}])
    choice = done.choices[0]
    assert choice.message.content == "I will run two commands for you now."
    assert [(c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls] == CALLS
    assert choice.finish_reason == "tool_calls"
    assert_openai_usage(done.usage, "prompt_tokens", "completion_tokens")


async def test_chat_streamed(openai):
    asked = {"model": "gpt-x", "messages": [{"role": "user", "content": "hello"}]}
    async with openai.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        kinds = [event.type async for event in stream]
        done = await stream.get_final_completion()
    assert kinds.count("content.delta") > 1
    message = done.choices[0].message
    assert message.content == "I will run two commands for you now."
    assert [(c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls] == CALLS
    assert_openai_usage(done.usage, "prompt_tokens", "completion_tokens")


def assert_response(response):
    reasoning, message, first, second = response.output
    assert reasoning.summary[0].text == "Let me think about this for a while."
    assert message.content[0].text == response.output_text == "I will run two commands for you now."
    assert [(call.name, json.loads(call.arguments)) for call in (first, second)] == CALLS
    assert second.call_id == "an-id"
    assert response.status == "completed"
    assert_openai_usage(response.usage, "input_tokens", "output_tokens")


async def test_responses_whole(openai):
    assert_response(await openai.responses.create(model="gpt-x", input="hello"))


async def test_responses_streamed(openai):
    async with openai.responses.stream(model="gpt-x", input="hello") as stream:
        kinds = [event.type async for event in stream]
        assert_response(await stream.get_final_response())
    assert kinds.count("response.output_text.delta") > 1
    assert kinds.count("response.function_call_arguments.done") == 2


async def test_models_are_listed(openai):
    assert "scripted-model" in [listed.id async for listed in openai.models.list()]


GEMINI = {
    "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    "systemInstruction": {"parts": [{"text": "be kind"}]},
}


def assert_gemini(parts, last):
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    assert text == "I will run two commands for you now."
    assert "".join(part["text"] for part in parts if part.get("thought")) == "Let me think about this for a while."
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [(call["name"], call["args"]) for call in calls] == CALLS
    assert last["candidates"][0]["finishReason"] == "STOP"
    used = last["usageMetadata"]
    assert (used["promptTokenCount"], used["candidatesTokenCount"], used["thoughtsTokenCount"]) == (100, 5, 4)
    assert (used["cachedContentTokenCount"], used["totalTokenCount"]) == (20, 109)


async def test_gemini_whole(model):
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{model.url}/v1beta/models/gemini-2.5-pro:generateContent", json=GEMINI) as answer:
            body = await answer.json()
    assert_gemini(body["candidates"][0]["content"]["parts"], body)
    request = model.requests[0]
    assert (request.api, request.model, request.prompt, request.system) == (
        "gemini",
        "gemini-2.5-pro",
        "hello",
        "be kind",
    )


async def test_gemini_streamed(model):
    url = f"{model.url}/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    async with aiohttp.ClientSession() as http:
        async with http.post(url, json=GEMINI) as answer:
            assert answer.content_type == "text/event-stream"
            lines = (await answer.text()).splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line]
    assert len(events) > 3
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    assert_gemini(parts, events[-1])
