from __future__ import annotations

import asyncio

from trueup.daemon._retention import remove_old_runs
from trueup.runs import Ended, Started


async def test_runs_that_ended_long_ago_are_removed_and_open_ones_never(store):
    old, kept, still_open = [await store.start(Started(intent)) for intent in ("old", "kept", "open")]
    await store.end(old.run_id, Ended("completed"))
    tidying = asyncio.create_task(remove_old_runs(store, -1, print, look_secs=0.01))
    try:
        async with asyncio.timeout(20):
            while await store.get(old.run_id) is not None:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    finally:
        tidying.cancel()
    await store.end(kept.run_id, Ended("completed"))
    tidying = asyncio.create_task(remove_old_runs(store, 30, print, look_secs=0.01))
    await asyncio.sleep(0.1)
    tidying.cancel()
    assert [run.run_id for run in await store.list()] == [still_open.run_id, kept.run_id]
