"""Many follow one run, and it is read once."""

from __future__ import annotations

import asyncio
import sys

import pytest
from sqlalchemy import event

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Command, run
from trueup.runs import Ended, EventRecord, RunStore, Started, Turn

SOMEBODY_ELSE = """
import asyncio, sys
from trueup.runs import Ended, RunStore, Turn

async def main(url, run_id, count):
    async with await RunStore.open(url) as store:
        for _ in range(int(count)):
            await store.append(run_id, [Turn(prompt="other")])

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def statements(store) -> list[str]:
    """Everything that the store asks its database."""
    asked: list[str] = []

    def note(_connection, _cursor, statement, *_):
        asked.append(statement)

    event.listen(store._database._engine, "before_cursor_execute", note)
    return asked


async def follow(store, run_id, after=-1) -> list:
    return [each async for each in store.follow(run_id, after=after)]


async def test_what_is_handed_on_is_what_would_be_read(store):
    run_ = await store.start(Started("x"))
    following = asyncio.create_task(follow(store, run_.run_id))
    await asyncio.sleep(0.05)
    odd = {"nan": float("nan"), "text": "\udcff\0", "large": "x" * 50_000}
    await store.append(run_.run_id, [Turn(index=9, output=odd), EventRecord("said", odd)])
    await store.end(run_.run_id, Ended("completed"))
    async with asyncio.timeout(10):
        seen = await following
    assert seen == await store.trace(run_.run_id)
    assert [each.seq for each in seen] == [0, 1, 2, 3]


async def test_two_hundred_followers_are_one_reader(store, statements):
    run_ = await store.start(Started("x"))
    seen: list[list[int]] = [[] for _ in range(200)]

    async def watch(mine: list[int]) -> None:
        async for each in store.follow(run_.run_id):
            mine.append(each.seq)

    following = [asyncio.create_task(watch(mine)) for mine in seen]
    async with asyncio.timeout(20):
        while not all(seen):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        statements.clear()
        for number in range(50):
            await store.append(run_.run_id, [Turn(prompt=str(number))])
        await asyncio.sleep(0.5)
        reads = [each for each in statements if each.startswith("SELECT") and "FROM records" in each]
        polls = [each for each in statements if each.startswith("SELECT runs.run_id, runs.record_count")]
        await store.end(run_.run_id, Ended("completed"))
        await asyncio.gather(*following)
    assert reads == []
    assert 0 < len(polls) < 20
    assert seen == [list(range(52))] * 200


async def test_what_another_process_writes_in_between_is_in_its_place(store, url):
    run_ = await store.start(Started("x"))
    following = [asyncio.create_task(follow(store, run_.run_id)) for _ in range(3)]
    command = Command(argv=(sys.executable, "-c", SOMEBODY_ELSE, url, run_.run_id, "30"), timeout_secs=60)
    other = asyncio.create_task(run(command))
    while not other.done():
        await store.append(run_.run_id, [Turn(prompt="ours")])
        await asyncio.sleep(0.005)
    await store.end(run_.run_id, Ended("completed"))
    async with asyncio.timeout(10):
        seen = await asyncio.gather(*following)
    whole = await store.trace(run_.run_id)
    assert (await other).exit_code == 0
    assert sum(1 for each in whole if getattr(each.record, "prompt", None) == "other") == 30
    assert seen == [whole] * 3


async def test_a_slow_follower_misses_nothing_and_holds_nothing_up(store):
    run_ = await store.start(Started("x"))
    slow = store.follow(run_.run_id)
    assert (await anext(slow)).seq == 0
    for _ in range(30):
        await store.append(run_.run_id, [Turn()] * 100)
    await store.end(run_.run_id, Ended("completed"))
    async with asyncio.timeout(10):
        assert [each.seq async for each in slow] == list(range(1, 3002))


async def test_a_snapshot_and_what_follows_it_have_no_gap(store):
    run_ = await store.start(Started("x"))
    writing = asyncio.create_task(write_until_the_end(store, run_.run_id, 300))
    subscriptions = []
    for _ in range(10):
        await asyncio.sleep(0.01)
        known, rest = await store.subscribe(run_.run_id)
        subscriptions.append((known.record_count, asyncio.create_task(collect(rest))))
    async with asyncio.timeout(20):
        await writing
        for count, rest in subscriptions:
            assert [each.seq for each in await rest] == list(range(count, 302))


async def write_until_the_end(store, run_id, turns):
    for _ in range(turns):
        await store.append(run_id, [Turn()])
    await store.end(run_id, Ended("completed"))


async def collect(records) -> list:
    return [each async for each in records]


async def test_a_run_that_has_ended_is_followed_to_its_end_at_once(store):
    run_ = await store.start(Started("x"))
    await store.end(run_.run_id, Ended("completed"))
    async with asyncio.timeout(5):
        assert [each.seq for each in await follow(store, run_.run_id)] == [0, 1]
        assert await follow(store, run_.run_id, after=1) == []
        with pytest.raises(InputError, match="there is no run nowhere"):
            await store.subscribe("nowhere")


async def test_nobody_who_left_is_remembered(store):
    run_ = await store.start(Started("x"))
    following = [asyncio.create_task(follow(store, run_.run_id)) for _ in range(5)]
    await asyncio.sleep(0.1)
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    assert store._hub._feeds == {}
    assert store._hub._poller is None


async def test_closing_ends_those_who_follow(url):
    store = await RunStore.open(url)
    run_ = await store.start(Started("x"))
    following = asyncio.create_task(follow(store, run_.run_id))
    await asyncio.sleep(0.1)
    await store.aclose()
    with pytest.raises(InfrastructureError, match="closed while somebody followed"):
        async with asyncio.timeout(5):
            await following


async def test_a_database_that_is_gone_is_told_to_those_who_follow(store, sql):
    run_ = await store.start(Started("x"))
    following = asyncio.create_task(follow(store, run_.run_id))
    await asyncio.sleep(0.1)
    for table in ("records", "runs"):
        sql(f"DROP TABLE {table}")
    with pytest.raises(InfrastructureError, match="the database failed"):
        async with asyncio.timeout(5):
            await following


async def test_a_tap_has_everything_that_is_written_and_counts_what_does_not_fit(store):
    async with store.tapped(4) as tap:
        first, second = [await store.start(Started("x")) for _ in range(2)]
        await store.append(first.run_id, [Turn(), Turn(), Turn()])
        assert await tap.ready()
        assert [(each.run_id, each.stored.seq) for each in tap.take(10)] == [
            (first.run_id, 0),
            (second.run_id, 0),
            (first.run_id, 1),
            (first.run_id, 2),
        ]
        assert tap.dropped == 1
