"""What Claude Code used, call by call while it runs, and in the end as its own total says.

Each call's tokens are told by the stream of its answer. A subagent's answers are not streamed, and what its messages
say of the output is what was known when they began: a lower bound. Only the results know it all, and the cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from trueup.core.usage import Usage

from ._claude_records import Assistant, Delta, Result, TokenCounts
from ._events import UsageReported

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Tally:
    """Adds up the calls of a run, and says at each result what the calls so far did not."""

    def __init__(self, *, resumed: bool) -> None:
        self._resumed = resumed
        self._reported: dict[str, int] = dict.fromkeys(TOKENS, 0)
        self._told_ids: set[str] = set()
        self._streaming: TokenCounts | None = None
        self._last: Usage | None = None
        self._totals: list[Usage] = []
        self._calls_since_result = 0

    @property
    def total(self) -> Usage:
        """What the run used: by its results, else what is known of its calls."""
        if self._calls_since_result or not self._totals:
            known = structs.replace(Usage(incomplete=True), **self._reported)
            return known if self._calls_since_result else Usage()
        return Usage.total(self._totals)

    def hear(self, event: Delta) -> list[UsageReported]:
        """Take an event of a stream; the end of an answer says what its call used."""
        if event.type == "message_start" and event.message is not None:
            self._told_ids.add(event.message.id)
            self._streaming = event.message.usage or TokenCounts()
        elif event.type == "message_delta" and self._streaming is not None:
            used = _usage(self._streaming, event.usage or TokenCounts())
            self._streaming = None
            if (event.delta or {}).get("stop_reason") == "tool_use":
                return self._report(used)
            # The last call of a turn waits for the result, which knows the rest of it.
            self._last = used
        return []

    def see(self, record: Assistant) -> list[UsageReported]:
        """Take a message; one whose answer was not streamed tells at least what went in."""
        message = record.message
        if message.usage is None or not message.id or message.id in self._told_ids:
            return []
        self._told_ids.add(message.id)
        return self._report(_usage(message.usage, TokenCounts(), incomplete=True))

    def conclude(self, result: Result) -> list[UsageReported]:
        """Take a result, and report what is missing from the calls to its total."""
        reports = self._missing(result)
        self._calls_since_result = 0
        return reports

    def _missing(self, result: Result) -> list[UsageReported]:
        self._totals.append(self._of(result))
        total, last = Usage.total(self._totals), self._last
        self._last = None
        missing = {name: max(0, (getattr(total, name) or 0) - self._reported[name]) for name in TOKENS}
        if last is None and not any(missing.values()) and not self._totals[-1].cost_usd:
            return []
        if last is not None:
            missing = {name: max(amount, getattr(last, name) or 0) for name, amount in missing.items()}
        return self._report(structs.replace(Usage(cost_usd=self._totals[-1].cost_usd), **missing))

    def _of(self, result: Result) -> Usage:
        """What a turn used. The session's totals would count what was used before it was resumed once more."""
        models = result.model_usage_since_last_result
        if models is None:
            cost = None if self._resumed or self._totals else result.total_cost_usd
            return _usage(result.usage or TokenCounts(), TokenCounts(), cost_usd=cost)
        used = list(models.values())
        return Usage(
            input_tokens=sum(each.input_tokens for each in used),
            output_tokens=sum(each.output_tokens for each in used),
            cache_read_tokens=sum(each.cache_read_input_tokens for each in used),
            cache_write_tokens=sum(each.cache_creation_input_tokens for each in used),
            cost_usd=_sum_known(each.cost_usd for each in used),
        )

    def _report(self, used: Usage) -> list[UsageReported]:
        self._calls_since_result += 1
        for name in TOKENS:
            self._reported[name] += getattr(used, name) or 0
        return [UsageReported(used)]


def _sum_known(costs: Iterable[float | None]) -> float | None:
    """A sum of which every part is known; no part at all is a known zero."""
    parts = list(costs)
    return None if None in parts else sum(cost for cost in parts if cost is not None)


def _usage(begun: TokenCounts, ended: TokenCounts, **more: Any) -> Usage:
    """Tokens as told when an answer began, where its end does not tell them anew."""

    def latest(name: str) -> int | None:
        told: int | None = getattr(ended, name)
        known: int | None = getattr(begun, name)
        return known if told is None else told

    return Usage(
        input_tokens=latest("input_tokens"),
        output_tokens=latest("output_tokens"),
        cache_read_tokens=latest("cache_read_input_tokens"),
        cache_write_tokens=latest("cache_creation_input_tokens"),
        **more,
    )
