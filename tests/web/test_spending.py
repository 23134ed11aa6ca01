"""What runs cost, as far as it was added up."""

from __future__ import annotations

import asyncio

from trueup.core.usage import Usage
from trueup.runs import ModelTurn, RunStore, Started
from trueup.web._spending import WAITING_SECS, Spending


class SlowStore:
    """A store on a slow disk."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.asked = 0

    async def usage(self, run_id, *, after, until):
        self.asked += 1
        await asyncio.sleep(2 * WAITING_SECS)
        return await self._store.usage(run_id, after=after, until=until)


async def test_what_takes_longer_than_a_page_waits_is_known_when_it_is_asked_again(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [ModelTurn("hello", token_usage=Usage(input_tokens=7, cost_usd=0.5))])
    slow = SlowStore(store)
    spending = Spending(slow)
    assert await spending.until(run.run_id, 1) is None
    await asyncio.sleep(3 * WAITING_SECS)
    known = await spending.until(run.run_id, 1)
    assert known.usage.cost_usd == 0.5
    assert slow.asked == 1
