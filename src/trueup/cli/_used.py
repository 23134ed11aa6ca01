"""What models used, as people read it."""

from __future__ import annotations

from trueup.core.usage import Usage


def used_text(usage: Usage | None) -> str:
    """Tokens and dollars as far as they are known; what was not reported is a question mark."""
    if usage is None:
        return "nothing used yet"
    known = [amount for amount in (usage.input_tokens, usage.output_tokens) if amount is not None]
    tokens = f"{sum(known):,} tokens" if known else "? tokens"
    if usage.estimated_tokens:
        tokens += f" and about {usage.estimated_tokens:,} of calls that were cut off"
    return f"{'at least ' if usage.incomplete else ''}{tokens}, {_dollars(usage)}"


def _dollars(usage: Usage) -> str:
    if usage.cost_usd is not None:
        return f"${usage.cost_usd:.4g}"
    return "$?" if usage.estimated_cost_usd is None else f"about ${usage.estimated_cost_usd:.4g}"
