"""What model calls used, where an unknown amount stays unknown instead of becoming zero."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, ClassVar

from msgspec import Struct


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens and dollars of one or more model calls. A field that nobody reported is absent.

    `cost_usd` is what a vendor reported; `estimated_cost_usd` comes from a price table and is never mixed with it.
    `incomplete` says that a part of some field was unknown, so that the sum is a lower bound and a budget can fail
    closed. `estimated_tokens` are those of calls that were cut off before anybody reported them, by their size; they
    are in no other field.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated_cost_usd: float | None = None
    incomplete: bool = False
    estimated_tokens: int = 0

    AMOUNTS: ClassVar[tuple[str, ...]] = (
        "input_tokens",
        "output_tokens",
        "cost_usd",
        "cache_read_tokens",
        "cache_write_tokens",
        "estimated_cost_usd",
    )

    def __add__(self, other: Usage) -> Usage:
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in self.AMOUNTS}
        half_known = any((mine is None) != (theirs is None) for mine, theirs in pairs.values())
        sums: dict[str, Any] = {name: _add_known(*pair) for name, pair in pairs.items()}
        incomplete = self.incomplete or other.incomplete or half_known
        estimated = self.estimated_tokens + other.estimated_tokens
        return Usage(**sums, incomplete=incomplete, estimated_tokens=estimated)

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """Add up calls. No calls at all is a known zero, and not an unknown amount."""
        calls = list(parts)
        if not calls:
            zeros: dict[str, Any] = dict.fromkeys(cls.AMOUNTS, 0)
            return cls(**zeros)
        return reduce(cls.__add__, calls)


def _add_known(mine: float | None, theirs: float | None) -> float | None:
    if mine is None:
        return theirs
    return mine if theirs is None else mine + theirs


def told_total(parts: Iterable[Usage | None]) -> Usage | None:
    """Add up what was told; None where nobody told anything, else what somebody did not tell makes it a lower bound."""
    every = list(parts)
    if all(part is None for part in every):
        return None
    return Usage.total(Usage() if part is None else part for part in every)


def tokens_of(usage: Usage) -> int | None:
    """What a limit on tokens counts: those sent and those generated, be it by an estimate."""
    amounts = (usage.input_tokens, usage.output_tokens, usage.estimated_tokens or None)
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def dollars_of(usage: Usage) -> float | None:
    """What a limit on dollars counts: the vendor's price or an estimate, whichever is more.

    A sum can hold calls of both kinds, and a zero for a kind of which there were none.
    """
    known = [amount for amount in (usage.cost_usd, usage.estimated_cost_usd) if amount is not None]
    return max(known) if known else None


def known_dollars(usage: Usage) -> float | None:
    """What was paid, or about; None where a part of it is unknown, since that part is not zero."""
    return None if usage.incomplete else dollars_of(usage)
