"""What calls probably cost, by a dated price list. A model that is not on it has no price, and not a price of zero."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

_PER = 1_000_000
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class Rates(Struct, frozen=True):
    """Dollars per million tokens; a rate that is not known is absent."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


class LongRates(Rates, frozen=True, kw_only=True):
    """Rates of the whole call where its prompt has more than so many tokens."""

    tokens: int


class Price(Rates, frozen=True):
    """The rates of a model, with those for long prompts where they differ."""

    over: LongRates | None = None


class Vendor(Struct, frozen=True):
    """A vendor's models. `input_includes_cache`: its count of input tokens holds those read from a cache too."""

    input_includes_cache: bool
    models: dict[str, Price]


class PriceList(Struct, frozen=True):
    """All prices, and the day on which they were looked up."""

    as_of: str
    vendors: dict[str, Vendor]


@cache
def price_list() -> PriceList:
    """The list that came with this version of trueup."""
    return msgspec.json.decode((resources.files(__package__) / "prices.json").read_bytes(), type=PriceList)


def estimated_cost(model: str, usage: Usage) -> float | None:
    """What a call of a vendor's own model costs by the list, in dollars; None where anything needed is unknown."""
    found = _find(model)
    if found is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    vendor, price = found
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    fresh = usage.input_tokens - (read + written if vendor.input_includes_cache else 0)
    prompt = fresh + read + written
    rates = price.over if price.over is not None and prompt > price.over.tokens else price
    parts = [
        (max(0, fresh), rates.input),
        (read, rates.cache_read),
        (written, rates.cache_write),
        (usage.output_tokens, rates.output),
    ]
    if any(tokens and rate is None for tokens, rate in parts):
        return None
    return sum(tokens * (rate or 0) for tokens, rate in parts) / _PER


def _find(model: str) -> tuple[Vendor, Price] | None:
    for name in (model, _DATED.sub("", model)):
        for vendor in price_list().vendors.values():
            if name in vendor.models:
                return vendor, vendor.models[name]
    return None
