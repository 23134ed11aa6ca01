"""What calls used, and what that probably cost."""

from __future__ import annotations

from datetime import date

import pytest
from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.core.usage import Usage
from trueup.model import ModelError, Request, chat, estimated_cost, price_list


async def test_anthropics_tokens_and_their_estimated_price(vendor):
    vendor.says(anthropic(text("hi")))
    usage = (await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))).usage
    assert (usage.input_tokens, usage.output_tokens) == (1000, 100)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (500, 200)
    assert usage.estimated_cost_usd == pytest.approx((1000 * 4 + 100 * 20 + 500 * 0.2 + 200 * 5) / 1e6)


async def test_openais_tokens_and_their_estimated_price_count_cached_ones_once(vendor):
    vendor.says(openai("hi"))
    usage = (await chat(Request(model=f"gpt-6.1-terra@{vendor.url}/v1", messages=HELLO))).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (1000, 100, 400)
    assert usage.cache_write_tokens is None
    assert usage.estimated_cost_usd == pytest.approx((600 * 1 + 400 * 0.05 + 100 * 5) / 1e6)


async def test_an_estimate_is_never_given_as_a_reported_cost(vendor):
    vendor.says(anthropic(text("hi")))
    usage = (await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))).usage
    assert usage.cost_usd is None


async def test_a_model_that_nobody_priced_costs_something_unknown(vendor):
    vendor.says(anthropic(text("hi"), model="claude-next"))
    usage = (await chat(Request(model=f"anthropic:claude-next@{vendor.url}", messages=HELLO))).usage
    assert usage.input_tokens == 1000
    assert usage.estimated_cost_usd is None


async def test_a_model_of_a_known_name_at_another_server_costs_something_unknown(vendor):
    vendor.says(openai("hi", model="gpt-5"))
    usage = (await chat(Request(model=f"openai-compatible:gpt-5@{vendor.url}/v1", messages=HELLO))).usage
    assert usage.estimated_cost_usd is None


async def test_what_a_server_does_not_report_stays_unknown(vendor):
    body = openai("hi")
    del body["usage"]
    vendor.says(body)
    usage = (await chat(Request(model=f"gpt-5@{vendor.url}/v1", messages=HELLO))).usage
    assert usage == Usage()


def test_a_long_prompt_has_its_own_price():
    short = estimated_cost("claude-haiku-5-5", Usage(input_tokens=100_000, output_tokens=0))
    long = estimated_cost("claude-haiku-5-5", Usage(input_tokens=90_000, cache_read_tokens=10_001, output_tokens=0))
    assert short == pytest.approx(0.01)
    assert long == pytest.approx((90_000 * 0.5 + 10_001 * 0.05) / 1e6)


def test_a_rate_that_is_missing_makes_the_cost_unknown_only_where_it_is_needed():
    assert estimated_cost("gpt-4.1", Usage(input_tokens=1_000_000, output_tokens=0)) == pytest.approx(2)
    assert estimated_cost("gpt-4.1", Usage(input_tokens=9, cache_write_tokens=1, output_tokens=0)) is None


async def test_a_cost_that_a_server_reports_is_kept_apart_from_estimates(vendor):
    body = openai("hi", model="qwen3")
    body["usage"]["cost"] = 0.0125
    vendor.says(body)
    usage = (await chat(Request(model=f"openai-compatible:qwen3@{vendor.url}/v1", messages=HELLO))).usage
    assert (usage.cost_usd, usage.estimated_cost_usd) == (0.0125, None)


async def test_an_answer_that_cannot_be_used_was_paid_all_the_same(vendor):
    vendor.says(anthropic(text(" ")))
    with pytest.raises(ModelError) as raised:
        await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO))
    assert raised.value.usage.output_tokens == 100
    assert raised.value.usage.estimated_cost_usd > 0


def test_a_dated_name_has_the_price_of_its_model():
    used = Usage(input_tokens=1000, output_tokens=1000)
    assert estimated_cost("claude-sonnet-4-5-20250929", used) == estimated_cost("claude-sonnet-4-5", used)
    assert estimated_cost("gpt-5-mini-2025-08-07", used) == estimated_cost("gpt-5-mini", used)


def test_the_price_list_says_of_which_day_it_is_and_has_no_free_models():
    prices = price_list()
    assert date.fromisoformat(prices.as_of) > date(2026, 1, 1)
    for vendor in prices.vendors.values():
        assert all(price.input and price.output for price in vendor.models.values())
