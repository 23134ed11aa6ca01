"""The judge over a vendor's API, against a scripted model on loopback."""

from __future__ import annotations

import json
import traceback

import pytest

from trueup.core.errors import Kind
from trueup.skills._case import ApiJudge
from trueup.skills._model import Message, Needs, ProviderError, Query, QueryKind, Role
from trueup.skills._providers import ApiJudgeProvider, verdict_schema
from trueup.testing import Answer, Fault, ScriptedModel, Text, Tokens

KEY = "sk-ant-secret-0123456789"
TALK = (Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"))
YES_NO = Query(kind=QueryKind.BOOLEAN, criterion="polite")
SCORE = Query(kind=QueryKind.NUMERIC, criterion="polite", min=0, max=10)
VENDORS = ("anthropic", "openai")
ENDPOINTS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
MODELS = {"anthropic": "claude-x", "openai": "gpt-x"}

pytestmark = pytest.mark.parametrize("vendor", VENDORS)


class Clock:
    """Waits for nothing, and remembers for how long it would have."""

    def __init__(self) -> None:
        self.waits = []

    async def sleep(self, seconds):
        self.waits.append(seconds)


def scripted(*steps, **options):
    return ScriptedModel(list(steps), is_aside=lambda request: False, **options)


def judge_at(model, vendor, clock=None, environ=None, **settings):
    base_url = settings.pop("base_url", f"{model.url}{ENDPOINTS[vendor]}")
    config = ApiJudge(vendor=vendor, base_url=base_url, **settings)
    environ = {VARIABLES[vendor]: KEY} if environ is None else environ
    return ApiJudgeProvider(config, environ, sleep=(clock or Clock()).sleep)


async def refusal(call):
    with pytest.raises(ProviderError) as raised:
        await call
    error = raised.value
    assert error.context == "api-judge"
    assert KEY not in "".join(traceback.format_exception(error))
    return error


async def test_a_verdict_is_asked_for_with_a_schema(vendor):
    async with scripted(
        Text('{"value": true, "reason": "ok"}'), usage=Tokens(input=12, output=3, cache_read=0)
    ) as model:
        verdict = await judge_at(model, vendor).judge(MODELS[vendor], YES_NO, TALK)
    assert (verdict.value, verdict.reason) == (True, "ok")
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens) == (12, 3)
    (asked,) = model.requests
    assert asked.path == ENDPOINTS[vendor]
    assert asked.model == MODELS[vendor]
    assert asked.body["max_tokens"] == 1024
    assert [said.role for said in asked.conversation] == ["system", "user"]
    assert "polite" in asked.prompt
    schema = verdict_schema(QueryKind.BOOLEAN)
    if vendor == "anthropic":
        assert isinstance(asked.body["system"], str)
        assert asked.body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
        assert any(KEY in value for value in asked.headers.values())
    else:
        wanted = {"name": "verdict", "strict": True, "schema": schema}
        assert asked.body["response_format"] == {"type": "json_schema", "json_schema": wanted}
        assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_the_schema_has_a_value_and_a_reason_and_nothing_else(vendor):
    del vendor
    for kind, value in ((QueryKind.BOOLEAN, "boolean"), (QueryKind.NUMERIC, "number")):
        assert verdict_schema(kind) == {
            "type": "object",
            "properties": {"value": {"type": value}, "reason": {"type": "string"}},
            "required": ["value", "reason"],
            "additionalProperties": False,
        }


async def test_without_strict_json_no_schema_is_sent(vendor):
    async with scripted(Text('Well: {"value": 8}')) as model:
        verdict = await judge_at(model, vendor, strict_json=False).judge("m", SCORE, TALK)
    assert verdict.value == 8
    assert not {"output_config", "response_format"} & set(model.requests[0].body)


async def test_a_user_is_played_without_a_schema(vendor):
    async with scripted(Text("  One more thing.\n")) as model:
        turn = await judge_at(model, vendor).simulate_user("m", "curious", TALK)
    assert (turn.message, turn.stop) == ("One more thing.", False)
    assert turn.usage is not None
    assert not {"output_config", "response_format"} & set(model.requests[0].body)


async def test_a_missing_reason_is_forgiven_although_the_schema_wants_one(vendor):
    async with scripted(Text('{"value": false}')) as model:
        verdict = await judge_at(model, vendor).judge("m", YES_NO, TALK)
    assert (verdict.value, verdict.reason) == (False, "")


@pytest.mark.parametrize("status", [429, 529, 500, 503])
async def test_a_busy_vendor_is_asked_twice_more_after_one_and_two_seconds(vendor, status):
    clock = Clock()
    async with scripted(Fault(status, times=2), Text('{"value": true, "reason": ""}')) as model:
        verdict = await judge_at(model, vendor, clock).judge("m", YES_NO, TALK)
    assert verdict.value is True
    assert clock.waits == [1, 2]
    assert len(model.requests) == 3


async def test_a_vendor_that_stays_busy_is_an_error_that_may_pass(vendor):
    clock = Clock()
    async with scripted(Fault(529)) as model:
        error = await refusal(judge_at(model, vendor, clock).judge("m", YES_NO, TALK))
    assert error.kind is Kind.OVERLOADED
    assert error.transient
    assert len(model.requests) == 3


async def test_a_vendor_that_says_when_is_asked_then(vendor):
    clock = Clock()
    async with scripted(Fault(429, retry_after=7)) as model:
        error = await refusal(judge_at(model, vendor, clock).judge("m", YES_NO, TALK))
    assert clock.waits == [7, 7]
    assert error.kind is Kind.RATE_LIMIT
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(401, type="authentication_error", code="invalid_api_key"), Kind.AUTH),
        (Fault(403, type="permission_error"), Kind.AUTH),
        (Fault(429, type="insufficient_quota", code="insufficient_quota"), Kind.QUOTA),
        (Fault(400, type="billing_error", code="billing_error"), Kind.QUOTA),
        (Fault(404, type="not_found_error", code="model_not_found"), Kind.MODEL_NOT_FOUND),
        (Fault(418, type="something_else", code="something_else"), Kind.OTHER),
    ],
)
async def test_what_waiting_does_not_mend_fails_at_once(vendor, fault, kind):
    clock = Clock()
    async with scripted(fault) as model:
        error = await refusal(judge_at(model, vendor, clock).judge("m", YES_NO, TALK))
    assert error.kind is kind
    assert clock.waits == []
    assert len(model.requests) == 1


async def test_each_try_has_its_own_time(vendor):
    clock = Clock()
    async with scripted(Fault("hang")) as model:
        error = await refusal(judge_at(model, vendor, clock, timeout_secs=0.3).judge("m", YES_NO, TALK))
    assert error.kind is Kind.TIMEOUT
    assert "0.3 s" in str(error)
    assert clock.waits == []


async def test_a_blank_reply_says_why_it_stopped(vendor):
    async with scripted(Fault("empty"), Answer([Text("  ")], stop="max_tokens")) as model:
        judge = judge_at(model, vendor)
        assert "end_turn" in str(await refusal(judge.judge("m", YES_NO, TALK)))
        error = await refusal(judge.simulate_user("m", "p", TALK))
    assert "max_tokens" in str(error)
    assert error.kind is Kind.PROTOCOL
    assert error.usage.input_tokens is not None


async def test_a_reply_that_is_no_verdict_is_quoted(vendor):
    async with scripted(Answer([Text("I would rather " + "x" * 2000)], stop="max_tokens")) as model:
        error = await refusal(judge_at(model, vendor).judge("m", YES_NO, TALK))
    assert error.kind is Kind.PROTOCOL
    assert "I would rather " + "x" * 485 in str(error)
    assert "x" * 486 not in str(error)
    assert "stopped with max_tokens" in str(error)
    assert error.usage is not None


async def test_a_body_that_is_no_answer_is_an_error(vendor):
    async with scripted(Fault("garbage")) as model:
        error = await refusal(judge_at(model, vendor).judge("m", YES_NO, TALK))
    assert error.kind is Kind.PROTOCOL


async def test_a_refusal_to_judge_is_one(vendor):
    async with scripted(Fault("refusal")) as model:
        assert (await refusal(judge_at(model, vendor).judge("m", YES_NO, TALK))).kind is Kind.REFUSED


@pytest.mark.parametrize(("query", "value"), [(YES_NO, "3"), (SCORE, "true"), (SCORE, '"8"')])
async def test_a_verdict_of_the_wrong_type_is_refused(vendor, query, value):
    async with scripted(Text(f'{{"value": {value}, "reason": "x"}}')) as model:
        error = await refusal(judge_at(model, vendor).judge("m", query, TALK))
    assert error.kind is Kind.PROTOCOL
    assert "was asked for" in str(error)


async def test_a_score_off_the_scale_is_the_judges_error(vendor):
    async with scripted(Text('{"value": 999, "reason": "x"}')) as model:
        with pytest.raises(ProviderError) as raised:
            await judge_at(model, vendor).judge("m", SCORE, TALK)
    assert (raised.value.context, raised.value.kind) == ("judge", Kind.PROTOCOL)
    assert raised.value.usage is not None


async def test_a_key_that_is_not_set_is_named_before_anything_is_asked(vendor):
    async with scripted(Text("x")) as model:
        for environ in ({}, {VARIABLES[vendor]: "  "}):
            judge = judge_at(model, vendor, environ=environ)
            for call in (judge.judge("m", YES_NO, TALK), judge.prepare(["claude-code"], Needs(judge=True))):
                error = await refusal(call)
                assert error.kind is Kind.AUTH
                assert VARIABLES[vendor] in str(error)
        error = await refusal(judge_at(model, vendor, environ={}, api_key_env="MY_KEY").judge("m", YES_NO, TALK))
        assert "MY_KEY" in str(error)
        await judge_at(model, vendor, environ={}).prepare(["claude-code"], Needs())
    assert model.requests == []


async def test_another_variable_may_hold_the_key(vendor):
    async with scripted(Text('{"value": true}')) as model:
        await judge_at(model, vendor, environ={"MY_KEY": KEY}, api_key_env="MY_KEY").judge("m", YES_NO, TALK)
    assert KEY in json.dumps(dict(model.requests[0].headers))


async def test_the_environment_of_trueup_itself_is_not_asked_for_a_key(vendor, monkeypatch):
    monkeypatch.setenv(VARIABLES[vendor], KEY)
    async with scripted(Text("x")) as model:
        assert (await refusal(judge_at(model, vendor, environ={}).judge("m", YES_NO, TALK))).kind is Kind.AUTH


async def test_a_server_that_repeats_the_key_does_not_get_it_into_a_report(vendor):
    async with scripted(Text(f'{{"value": true, "reason": "{KEY}"}}'), Text(f"no: {KEY}")) as model:
        judge = judge_at(model, vendor)
        assert KEY not in (await judge.judge("m", YES_NO, TALK)).reason
        await refusal(judge.judge("m", YES_NO, TALK))


async def test_the_base_url_may_be_the_server_alone(vendor):
    async with scripted(Text('{"value": true}')) as model:
        base_url = model.url if vendor == "anthropic" else f"{model.url}/v1/"
        await judge_at(model, vendor, base_url=base_url).judge("m", YES_NO, TALK)
    assert model.requests[0].path == ENDPOINTS[vendor]


async def test_the_base_url_may_stand_in_the_environment(vendor):
    async with scripted(Text('{"value": true}')) as model:
        name = VARIABLES[vendor].replace("API_KEY", "BASE_URL")
        environ = {VARIABLES[vendor]: KEY, name: f"{model.url}/v1"}
        await judge_at(model, vendor, base_url=None, environ=environ).judge("m", YES_NO, TALK)
    assert model.requests[0].path == ENDPOINTS[vendor]


async def test_a_base_url_that_is_none_is_told(vendor):
    config = ApiJudge(vendor=vendor, base_url="ftp://x")
    error = await refusal(ApiJudgeProvider(config, {VARIABLES[vendor]: KEY}).judge("m", YES_NO, TALK))
    assert error.kind is Kind.INPUT
    assert "base URL" in str(error)


async def test_a_judge_needs_a_model(vendor):
    async with scripted(Text("x")) as model:
        error = await refusal(judge_at(model, vendor).judge("", YES_NO, TALK))
    assert error.kind is Kind.INPUT
    assert "judge_model" in str(error)


async def test_an_api_judge_runs_no_skills(vendor, request_to):
    async with scripted(Text("x")) as model:
        judge = judge_at(model, vendor)
        assert "does not run skills" in str(await refusal(judge.respond(request_to())))
        assert not judge.supports_resume("claude-code")
        assert await judge.prepare(["claude-code"], Needs()) == {"claude-code": None}
        assert KEY not in repr(judge)
    assert model.requests == []
