"""Asking both vendors, and reading what they answer."""

from __future__ import annotations

import subprocess
import sys

import pytest
from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.core.errors import GenerationError, InputError, Kind
from trueup.core.protocols import Prompt
from trueup.model import (
    Access,
    ChatModel,
    CommandModel,
    Message,
    ModelError,
    Provider,
    Request,
    Role,
    chat,
    default_model_for,
    generate_for,
    resolve_model,
)


async def test_anthropic_is_asked_in_its_own_words(vendor):
    vendor.says(anthropic(text("hi")))
    request = Request(model=f"anthropic:{CLAUDE}@{vendor.url}", system="be brief", messages=HELLO, max_tokens=99)
    await chat(request)
    assert vendor.paths == ["/v1/messages"]
    assert vendor.asked == [
        {
            "model": CLAUDE,
            "max_tokens": 99,
            "system": "be brief",
            "messages": [{"role": "user", "content": "hello"}],
        }
    ]


async def test_of_anthropics_blocks_only_the_texts_are_joined(vendor):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "EqQB"}
    vendor.says(anthropic(thinking, text("one "), {"type": "news", "text": {"no": 1}, "input": 3}, text("two")))
    answer = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert (answer.text, answer.stop_reason, answer.model) == ("one two", "end_turn", CLAUDE)


async def test_openai_is_asked_in_its_own_words(vendor):
    vendor.says(openai("hi"))
    await chat(Request(model=f"gpt-6.1-terra@{vendor.url}/v1", system="be brief", messages=HELLO, max_tokens=99))
    assert vendor.paths == ["/v1/chat/completions"]
    assert vendor.asked == [
        {
            "model": "gpt-6.1-terra",
            "max_completion_tokens": 99,
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        }
    ]


async def test_of_openais_choices_the_first_counts(vendor):
    body = openai("first")
    body["choices"].append({"index": 1, "message": {"role": "assistant", "content": "second"}, "finish_reason": "stop"})
    vendor.says(body)
    answer = await chat(Request(model=f"openai:gpt-5@{vendor.url}/v1", messages=HELLO))
    assert (answer.text, answer.stop_reason) == ("first", "end_turn")


async def test_a_compatible_server_gets_the_old_name_of_the_limit_and_no_key_of_openais(vendor):
    vendor.says(openai("hi", model="qwen3"))
    await chat(Request(model=f"openai-compatible:qwen3:8b@{vendor.url}/v1", messages=HELLO, max_tokens=7))
    assert vendor.asked[0]["model"] == "qwen3:8b"
    assert vendor.asked[0]["max_tokens"] == 7
    assert "sk-test" not in str(vendor.headers)


async def test_a_compatible_server_gets_the_key_of_the_variable_that_was_named(vendor, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", "other-secret")
    vendor.says(openai("hi"))
    request = Request(model=f"openai-compatible:qwen3@{vendor.url}/v1", messages=HELLO)
    await chat(request, Access(key_variable="OTHER_KEY"))
    assert vendor.headers[0]["authorization"] == "Bearer other-secret"


async def test_a_compatible_server_may_answer_in_parts(vendor):
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]
    vendor.says(openai(parts, model="magistral"))
    answer = await chat(Request(model=f"openai-compatible:magistral@{vendor.url}/v1", messages=HELLO))
    assert answer.text == "hi"


async def test_a_conversation_keeps_its_turns(vendor):
    vendor.says(openai("fine"))
    turns = [Message(text="hello"), Message(role=Role.ASSISTANT, text="hi"), Message(text="how are you?")]
    await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=turns))
    assert [turn["role"] for turn in vendor.asked[0]["messages"]] == ["user", "assistant", "user"]


async def test_a_temperature_is_sent_to_anthropic_by_the_version_of_the_api_that_has_one(vendor):
    vendor.says(anthropic(text("hi")))
    await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO, temperature=0))
    assert vendor.asked[0]["temperature"] == 0
    assert vendor.headers[0]["anthropic-version"] == "2023-06-01"


async def test_without_a_temperature_the_library_chooses_the_version(vendor):
    vendor.says(anthropic(text("hi")))
    await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert "temperature" not in vendor.asked[0]
    assert vendor.headers[0]["anthropic-version"] > "2023-06-01"


@pytest.mark.parametrize(
    ("model", "endpoint", "path"),
    [
        (CLAUDE, "/v1/messages", "/v1/messages"),
        (CLAUDE, "/v1/", "/v1/messages"),
        (CLAUDE, "/gate", "/gate/v1/messages"),
        ("gpt-5", "/v1/chat/completions", "/v1/chat/completions"),
        ("gpt-5", "/v1/", "/v1/chat/completions"),
    ],
)
async def test_a_base_url_may_be_the_whole_endpoint(vendor, model, endpoint, path):
    vendor.says(anthropic(text("hi")) if model == CLAUDE else openai("hi"))
    await chat(Request(model=model, messages=HELLO), Access(base_url=vendor.url + endpoint))
    assert vendor.paths == [path]


@pytest.mark.parametrize("stop", ["max_tokens", "end_turn"])
async def test_a_blank_reply_is_an_error_that_names_the_stop_reason(vendor, stop):
    vendor.says(anthropic(text(" \n"), stop=stop))
    with pytest.raises(ModelError, match=f"blank answer.*{stop}") as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.kind is Kind.PROTOCOL


async def test_an_answer_cut_at_the_limit_says_so(vendor):
    vendor.says(openai("half of", finish="length"))
    answer = await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))
    assert answer.stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("spec", "provider", "model"),
    [
        ("claude-sonnet-5-5", Provider.ANTHROPIC, "claude-sonnet-5-5"),
        ("anthropic:next", Provider.ANTHROPIC, "next"),
        ("gpt-6.1-sol", Provider.OPENAI, "gpt-6.1-sol"),
        ("o3", Provider.OPENAI, "o3"),
        ("openai:ft:gpt-4o:me", Provider.OPENAI, "ft:gpt-4o:me"),
        ("openai-compatible:llama@http://localhost:1/v1", Provider.OPENAI_COMPATIBLE, "llama"),
    ],
)
def test_the_name_of_a_model_tells_who_serves_it(spec, provider, model):
    target = resolve_model(spec)
    assert (target.provider, target.model) == (provider, model)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("llama-4", "openai-compatible:llama-4@http://HOST/v1"),
        ("openai-compatible:llama-4", "OPENAI_COMPATIBLE_BASE_URL"),
        ("anthropic:", "anthropic:MODEL"),
    ],
)
def test_a_name_that_does_not_tell_is_refused_with_what_to_write(spec, wanted):
    with pytest.raises(InputError) as raised:
        resolve_model(spec)
    assert wanted in str(raised.value)


def test_a_base_url_without_a_host_is_refused():
    with pytest.raises(InputError, match="http://"):
        resolve_model("gpt-5", base_url="localhost:8000")


async def test_a_chat_model_is_a_generate(vendor):
    vendor.says(anthropic(text("a contract")))
    reply = await ChatModel(f"{CLAUDE}@{vendor.url}")(Prompt("derive", system="you derive"))
    assert reply.text == "a contract"
    assert reply.usage.output_tokens == 100
    assert vendor.asked[0]["system"] == "you derive"


async def test_a_reply_that_was_cut_is_none(vendor):
    vendor.says(anthropic(text('{"half": '), stop="max_tokens"))
    with pytest.raises(ModelError, match="was not done after 50 tokens") as raised:
        await ChatModel(f"{CLAUDE}@{vendor.url}", max_tokens=50)(Prompt("derive"))
    assert raised.value.usage.output_tokens == 100


async def test_generate_for_asks_a_command_by_its_prefix():
    generate = generate_for("command:tr a-z A-Z")
    assert isinstance(generate, CommandModel)
    assert (await generate(Prompt("hello"))).text == "HELLO"


async def test_a_command_that_says_more_than_anybody_keeps_has_not_answered():
    with pytest.raises(GenerationError, match="printed more than") as raised:
        await generate_for("command:echo '{}'; head -c 2000000 /dev/zero")(Prompt("derive"))
    assert raised.value.kind is Kind.PROTOCOL


def test_generate_for_refuses_a_name_that_nobody_serves_before_it_is_asked():
    with pytest.raises(InputError, match="who serves"):
        generate_for("whatever")


@pytest.mark.parametrize(
    ("engine", "environ", "model"),
    [
        ("claude-code", {}, "anthropic:claude-sonnet-5-5"),
        ("codex", {"ANTHROPIC_API_KEY": "x"}, "openai:gpt-6.1-sol"),
        ("native", {"OPENAI_API_KEY": "x"}, "openai:gpt-6.1-sol"),
        ("command:aider", {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}, "anthropic:claude-sonnet-5-5"),
        (None, {}, None),
    ],
)
def test_the_usual_model_is_of_the_engines_maker_or_of_whoever_a_key_is_there_for(engine, environ, model):
    assert default_model_for(engine, environ) == model


def test_the_vendors_libraries_are_imported_only_when_a_model_is_asked():
    program = (
        "import sys, trueup.cli, trueup.model; trueup.model.generate_for('claude-opus-5-5'); "
        "print([name for name in ('anthropic', 'openai', 'httpx2', 'pydantic') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
