"""`trueup contract derive` with a model that answers well, badly, or not at all."""

from __future__ import annotations

import json

import pytest

from trueup.testing import Fault, ScriptedModel, Tokens

CONTRACT = json.dumps({"description": "it adds", "checks": [{"name": "adds", "command": "make test"}]})
UNUSABLE = json.dumps({"description": "it adds", "checks": [{"name": "unique_snake_case_label", "command": ""}]})
KEY = {"ANTHROPIC_API_KEY": "sk-ant-a-secret-0123456789"}


async def derive(trueup, script, *more: str, model: str = "claude-opus-5-5", path: str = "", **env: str):
    async with ScriptedModel(script, usage=Tokens(input=1000, output=234, cache_read=0)) as scripted:
        words = ("contract", "derive", "make it add", "--model", f"{model}@{scripted.url}{path}", *more)
        return await trueup(*words, **KEY, **env), scripted.asked


async def test_what_it_used_is_told(trueup):
    finished, _ = await derive(trueup, [UNUSABLE, CONTRACT], "--json")
    told = json.loads(finished.stdout.text)
    assert (told["attempts"], told["usage"]["output_tokens"]) == (2, 468)
    assert told["usage"]["estimated_cost_usd"] > 0


async def test_a_price_that_nobody_knows_is_no_price_of_zero(trueup):
    finished, _ = await derive(trueup, [CONTRACT], "--json", model="openai-compatible:mine", path="/v1")
    used = json.loads(finished.stdout.text)["usage"]
    assert used["input_tokens"] == 1000
    assert not any("cost" in name for name in used)


async def test_a_busy_server_is_told_of_while_it_is_waited_for(trueup):
    fenced = f'As {{"you": "asked"}}:\n```json\n{CONTRACT}\n```\nbye'
    finished, asked = await derive(trueup, [Fault(529, retry_after=0), fenced])
    assert (finished.exit_code, len(asked)) == (0, 2)
    assert "tried again in 0 s" in finished.stderr.text
    assert "1,234 tokens, about $" in finished.stderr.text
    assert "tokens" not in finished.stdout.text


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (Fault(429, retry_after=3600), "it asks to wait for 3600 s"),
        (Fault("max_tokens"), "was not done after 16384 tokens"),
        (UNUSABLE, "placeholder name"),
    ],
)
async def test_a_model_that_gives_no_contract_is_an_error_that_says_why(trueup, script, told):
    finished, _ = await derive(trueup, lambda _: script, "--max-attempts", "1")
    assert finished.exit_code == 1
    assert "after 1 attempts" in finished.stderr.text
    assert told in finished.stderr.text


async def test_a_refused_key_is_asked_with_once_and_not_shown(trueup):
    finished, asked = await derive(trueup, [Fault(401, message=f"no: {KEY['ANTHROPIC_API_KEY']}")])
    assert (finished.exit_code, len(asked)) == (1, 1)
    assert "check that ANTHROPIC_API_KEY is current" in finished.stderr.text
    assert "a-secret" not in finished.stderr.text


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("claude-x@http://127.0.0.1:99999", "base URL of 'claude-x' must"),
        ("claude-x@http://☃.eu", "base URL of 'claude-x' is none"),
        ("", "name a model"),
    ],
)
async def test_a_model_that_cannot_be_found_is_bad_input(trueup, model, told):
    finished = await trueup("contract", "derive", "make it add", "--model", model, **KEY)
    assert finished.exit_code == 2
    assert told in finished.stderr.text
