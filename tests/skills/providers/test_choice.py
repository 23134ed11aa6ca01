"""Which provider a configuration means, and what a split of responder and judge gives to whom."""

from __future__ import annotations

import os

import pytest

from trueup.core.errors import InputError, Kind
from trueup.skills._case import ApiJudge, CommandProviderConfig, Config, OneharnessProviderConfig
from trueup.skills._model import Message, Needs, ProviderError, Query, QueryKind, Role
from trueup.skills._providers import (
    ApiJudgeProvider,
    CommandProvider,
    OneharnessProvider,
    SplitProvider,
    provider_for,
)
from trueup.testing import ScriptedModel, Text

KEY = "sk-ant-secret-0123456789"
TALK = (Message(Role.USER, "Hi"),)
YES_NO = Query(kind=QueryKind.BOOLEAN, criterion="polite")
JUDGE = ApiJudge(vendor="anthropic")


def test_each_kind_of_configuration_has_its_provider(tmp_path):
    command = CommandProviderConfig(command=["x"])
    assert isinstance(provider_for(Config(provider=command), {}, tmp_path), CommandProvider)
    assert isinstance(provider_for(Config(provider=OneharnessProviderConfig()), {}, tmp_path), OneharnessProvider)
    judged = Config(provider=command, judge=JUDGE, judge_model="claude-x")
    assert isinstance(provider_for(judged, {}, tmp_path), SplitProvider)


def test_the_usual_provider_is_trueups_own_harness_layer(tmp_path):
    from trueup.skills._harness_provider import HarnessProvider

    assert isinstance(provider_for(Config(), {}, tmp_path), HarnessProvider)


def test_an_empty_command_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="provider.command"):
        provider_for(Config(provider=CommandProviderConfig(command=[])), {}, tmp_path)


def test_an_api_judge_wants_the_name_of_a_model(tmp_path):
    command = CommandProviderConfig(command=["x"])
    with pytest.raises(InputError, match="judge_model"):
        provider_for(Config(provider=command, judge=JUDGE), {}, tmp_path)
    for named in ({"models": ("claude-x",)}, {"judges": ("claude-x",)}, {"judge_model": "claude-x"}):
        provider_for(Config(provider=command, judge=JUDGE, **named), {}, tmp_path)


async def test_a_split_gives_the_skill_to_one_and_the_verdicts_to_the_other(program, request_to):
    replies = [Text('{"value": false, "reason": "rude"}'), Text("Well?")]
    argv = program.answers({"message": "stub reply", "value": True})
    responder = CommandProvider(CommandProviderConfig(command=argv), {"PATH": os.environ["PATH"]}, program.folder)
    async with ScriptedModel(replies, is_aside=lambda request: False) as model:
        config = ApiJudge(vendor="anthropic", base_url=model.url)
        split = SplitProvider(responder, ApiJudgeProvider(config, {"ANTHROPIC_API_KEY": KEY}))
        assert (await split.respond(request_to())).message == "stub reply"
        assert (await split.judge("claude-x", YES_NO, TALK)).value is False
        assert (await split.simulate_user("claude-x", "p", TALK)).message == "Well?"
        assert split.supports_resume("codex") is responder.supports_resume("codex")
        versions = await split.prepare(["codex"], Needs(judge=True, mocks=True))
    assert versions == await responder.prepare(["codex"], Needs())
    assert [call["asked"]["op"] for call in program.calls] == ["respond"]
    assert len(model.requests) == 2


async def test_a_split_without_a_key_is_refused_where_anything_is_judged(program):
    argv = program.answers({"message": "a"})
    responder = CommandProvider(CommandProviderConfig(command=argv), {"PATH": os.environ["PATH"]}, program.folder)
    split = SplitProvider(responder, ApiJudgeProvider(JUDGE, {}))
    await split.prepare(["codex"], Needs())
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY") as raised:
        await split.prepare(["codex"], Needs(judge=True))
    assert raised.value.kind is Kind.AUTH
