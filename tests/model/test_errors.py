"""Every way in which a model can fail to answer, with the bodies that the vendors really send."""

from __future__ import annotations

import pytest
from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.core.errors import Kind
from trueup.model import Access, ModelError, Request, chat

AT_ONCE = Access(retry_delays_secs=())


def anthropic_error(type_: str, message: str, **more: object) -> dict:
    error = {"type": type_, "message": message, **more}
    return {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def openai_error(message: str, type_: str | None, code: str | None = None) -> dict:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


ANTHROPIC = [
    (401, anthropic_error("authentication_error", "invalid x-api-key"), Kind.AUTH),
    (403, anthropic_error("permission_error", "Your API key does not have permission to use this model"), Kind.AUTH),
    (404, anthropic_error("not_found_error", "model: claude-opus-9"), Kind.MODEL_NOT_FOUND),
    (
        400,
        anthropic_error("invalid_request_error", "prompt is too long: 1003021 tokens > 1000000 maximum"),
        Kind.CONTEXT_LENGTH,
    ),
    (
        400,
        anthropic_error(
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
        ),
        Kind.QUOTA,
    ),
    (
        400,
        anthropic_error(
            "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
        ),
        Kind.QUOTA,
    ),
    (402, anthropic_error("billing_error", "There is an issue with your billing."), Kind.QUOTA),
    (
        429,
        anthropic_error(
            "rate_limit_error",
            "Monthly usage threshold reached.",
            details={"error_code": "enforced_spend_limit_reached"},
        ),
        Kind.QUOTA,
    ),
    (
        429,
        anthropic_error("rate_limit_error", "This request would exceed your organization's rate limit"),
        Kind.RATE_LIMIT,
    ),
    (413, anthropic_error("request_too_large", "Request exceeds the maximum size"), Kind.INPUT_TOO_LARGE),
    (413, "<html><center><h1>413 Request Entity Too Large</h1></center></html>", Kind.INPUT_TOO_LARGE),
    (500, anthropic_error("api_error", "Internal server error"), Kind.OVERLOADED),
    (529, anthropic_error("overloaded_error", "Overloaded"), Kind.OVERLOADED),
    (504, anthropic_error("timeout_error", "Request timed out"), Kind.TIMEOUT),
    (400, anthropic_error("invalid_request_error", "messages.0: all messages must have content"), Kind.OTHER),
    (500, anthropic_error("sunspot_error", "a type of tomorrow"), Kind.OTHER),
    (502, "<html>bad gateway</html>", Kind.OVERLOADED),
]

OPENAI = [
    (
        401,
        openai_error("Incorrect API key provided: sk-test-******cret.", "invalid_request_error", "invalid_api_key"),
        Kind.AUTH,
    ),
    (
        403,
        openai_error("Country, region, or territory not supported", "request_forbidden", None),
        Kind.AUTH,
    ),
    (
        404,
        openai_error(
            "The model `gpt-9` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
        Kind.MODEL_NOT_FOUND,
    ),
    (
        403,
        openai_error(
            "Project `proj_x` does not have access to model `gpt-6.1-sol`", "invalid_request_error", "model_not_found"
        ),
        Kind.MODEL_NOT_FOUND,
    ),
    (
        400,
        openai_error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 411525 tokens.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        Kind.CONTEXT_LENGTH,
    ),
    (
        400,
        openai_error(
            "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760.",
            "invalid_request_error",
            "string_above_max_length",
        ),
        Kind.INPUT_TOO_LARGE,
    ),
    (
        429,
        openai_error(
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        Kind.QUOTA,
    ),
    (
        429,
        openai_error("Rate limit reached for gpt-5 on tokens per min (TPM)", "tokens", "rate_limit_exceeded"),
        Kind.RATE_LIMIT,
    ),
    (
        400,
        openai_error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            "invalid_request_error",
            "invalid_prompt",
        ),
        Kind.REFUSED,
    ),
    (
        500,
        openai_error("The server had an error while processing your request. Sorry about that!", "server_error"),
        Kind.OVERLOADED,
    ),
    (
        503,
        openai_error("The engine is currently overloaded, please try again later", "service_unavailable"),
        Kind.OVERLOADED,
    ),
    (400, openai_error("Unknown parameter: 'frobs'.", "invalid_request_error", "unknown_parameter"), Kind.OTHER),
    (418, openai_error("something new", "something_else"), Kind.OTHER),
    # How other servers say it.
    (404, openai_error('model "qwen9" not found, try pulling it first', "api_error"), Kind.MODEL_NOT_FOUND),
    (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens",
            "type": "BadRequestError",
            "code": 400,
        },
        Kind.CONTEXT_LENGTH,
    ),
    (401, {"error": "no auth"}, Kind.AUTH),
    (422, {"detail": [{"msg": "field required"}]}, Kind.OTHER),
    (404, {"detail": "Not Found"}, Kind.PROTOCOL),
    (200, {"error": {"code": 429, "message": "Provider returned error"}}, Kind.RATE_LIMIT),
    (200, {"error": {"code": 502, "message": "Provider is down"}}, Kind.OVERLOADED),
]


@pytest.mark.parametrize(("status", "body", "kind"), ANTHROPIC)
async def test_an_error_of_anthropics_is_told_by_its_fields_then_its_words(vendor, status, body, kind):
    vendor.says(body, status=status)
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), AT_ONCE)
    assert raised.value.kind is kind


@pytest.mark.parametrize(("status", "body", "kind"), OPENAI)
async def test_an_error_of_openais_is_told_by_its_fields_then_its_words(vendor, status, body, kind):
    vendor.says(body, status=status)
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"openai:gpt-5@{vendor.url}/v1", messages=HELLO), AT_ONCE)
    assert raised.value.kind is kind


async def test_an_error_says_who_and_what_and_what_to_do(vendor):
    body = anthropic_error("authentication_error", "invalid x-api-key")
    vendor.says(body, status=401, request_id=body["request_id"])
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert str(raised.value) == (
        f"{CLAUDE} at {vendor.url.removeprefix('http://')} answered with an error "
        "(401: invalid x-api-key, request req_011CSHoEeqs5C35K2UUqR7Fy); "
        "check that ANTHROPIC_API_KEY is current and may use this model"
    )


async def test_a_server_that_is_not_there_is_a_matter_of_the_network():
    with pytest.raises(ModelError, match=r"gpt-5 at 127.0.0.1:9 could not be reached") as raised:
        await chat(Request(model="gpt-5@http://127.0.0.1:9/v1", messages=HELLO))
    assert raised.value.kind is Kind.NETWORK


async def test_an_answer_that_breaks_off_is_a_matter_of_the_network(vendor):
    vendor.cuts()
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.kind is Kind.NETWORK


async def test_a_server_that_is_silent_is_given_up_by_the_clock(vendor):
    vendor.hangs()
    with pytest.raises(ModelError, match=r"did not answer within 1 s; try again, or allow more") as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO), Access(timeout_secs=1))
    assert raised.value.kind is Kind.TIMEOUT
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("url", ["", "/v1"])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_garbage_is_an_error_of_protocol_that_quotes_it(vendor, url, kind):
    vendor.says("<html>log in " + "x" * 1000, content_type=kind)
    model = f"gpt-5@{vendor.url}/v1" if url else f"{CLAUDE}@{vendor.url}"
    with pytest.raises(ModelError, match="cannot be read.*<html>log in") as raised:
        await chat(Request(model=model, messages=HELLO))
    assert raised.value.kind is Kind.PROTOCOL
    assert "x" * 400 in str(raised.value)
    assert "x" * 500 not in str(raised.value)


async def test_an_error_dressed_as_a_success_is_told_by_its_fields(vendor):
    vendor.says(openai_error("Provider returned error", "rate_limit_error"))
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO), AT_ONCE)
    assert raised.value.kind is Kind.RATE_LIMIT


async def test_an_answer_without_choices_is_an_error_of_protocol(vendor):
    vendor.says({**openai("x"), "choices": []})
    with pytest.raises(ModelError, match="no choices") as raised:
        await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))
    assert raised.value.kind is Kind.PROTOCOL


async def test_a_refusal_of_anthropics_is_an_error_that_explains_it(vendor):
    details = {"type": "refusal", "category": "cyber", "explanation": "This could enable cyber harm."}
    vendor.says(anthropic(stop="refusal", stop_details=details))
    with pytest.raises(ModelError, match="would not answer .This could enable cyber harm") as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.kind is Kind.REFUSED


@pytest.mark.parametrize(
    "body", [openai(None, refusal="I'm sorry, I can't assist."), openai("part of it", finish="content_filter")]
)
async def test_a_refusal_of_openais_is_an_error(vendor, body):
    vendor.says(body)
    with pytest.raises(ModelError, match="I'm sorry, I can't assist|part of it") as raised:
        await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))
    assert raised.value.kind is Kind.REFUSED


async def test_an_answer_that_filled_the_window_before_a_word_is_a_matter_of_context(vendor):
    vendor.says(anthropic(stop="model_context_window_exceeded"))
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.kind is Kind.CONTEXT_LENGTH


async def test_what_a_server_says_cannot_act_on_a_terminal(vendor):
    vendor.says(anthropic_error("invalid_request_error", "\x1b[2Jgone"), status=400)
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert "\x1b" not in str(raised.value)


async def test_a_good_answer_after_all_is_no_error(vendor):
    vendor.says(anthropic_error("overloaded_error", "Overloaded"), status=529, retry_after="0")
    vendor.says(anthropic(text("hi")))
    assert (await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))).text == "hi"
