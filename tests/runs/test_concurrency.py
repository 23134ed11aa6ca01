"""Many write at once, in one process and in several, and some are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Command, Process, run
from trueup.runs import Ended, EventRecord, RunStore, Started, Turn

WRITER = """
import asyncio, sys
from trueup.runs import RunStore, Started, Turn

async def main(url, run_id, name):
    async with await RunStore.open(url) as store:
        for number in range(int(sys.argv[4])):
            appended = await store.append(run_id, [Turn(prompt=f"{name} {number} {part}") for part in range(3)])
            print(appended.first_seq, f"{name} {number}", flush=True)

asyncio.run(main(*sys.argv[1:4]))
"""


def writer(url: str, run_id: str, name: str, batches: int) -> Command:
    return Command(argv=(sys.executable, "-c", WRITER, url, run_id, name, str(batches)), timeout_secs=60)


async def test_batches_with_colliding_indices_are_each_adjacent(store, sql):
    run = await store.start(Started("x"))
    batches = [[Turn(index=number, prompt=name) for number in range(25)] for name in ("a", "b")]
    first, second = await asyncio.gather(*(store.append(run.run_id, batch) for batch in batches))
    assert sorted([first.base_index, second.base_index]) == [0, 25]
    turns = [each.record for each in await store.trace(run.run_id, types={"turn"})]
    assert [turn.index for turn in turns] == list(range(50))
    assert [turn.prompt for turn in turns[first.base_index :][:25]] == ["a"] * 25
    assert [turn.prompt for turn in turns[second.base_index :][:25]] == ["b"] * 25
    assert sql("SELECT turn_index FROM records WHERE kind = 'turn' ORDER BY seq") == [(each,) for each in range(50)]
    assert (await store.verify(run.run_id)).ok


async def test_writers_that_wait_together_share_commits(store, file):
    run = await store.start(Started("x"))
    with closing(sqlite3.connect(file)) as watcher:
        before = commits(watcher)
        await asyncio.gather(*(store.append(run.run_id, [Turn()]) for _ in range(500)))
        shared = commits(watcher) - before
    assert shared < 50
    assert (await store.get(run.run_id)).turn_count == 500


def commits(connection: sqlite3.Connection) -> int:
    """How many frames that end a transaction the write-ahead log holds."""
    log = connection.execute("PRAGMA database_list").fetchone()[2] + "-wal"
    with open(log, "rb") as file:
        content = file.read()
    page = int.from_bytes(content[8:12], "big")
    frames = range(32, len(content), 24 + page)
    return sum(1 for start in frames if int.from_bytes(content[start + 4 : start + 8], "big"))


async def test_a_bad_batch_fails_alone(store):
    run = await store.start(Started("x"))
    good = [store.append(run.run_id, [Turn(prompt=str(number))]) for number in range(20)]
    bad = [
        store.append(run.run_id, [Turn(), EventRecord("x", {"it": object()})]),
        store.start(Started("x"), run_id="no good"),
        store.end("nowhere", Ended("completed")),
        store.append("nowhere", [Turn()]),
    ]
    *kept, unfit, misnamed, unknown, dropped = await asyncio.gather(*good, *bad, return_exceptions=True)
    assert [each.count for each in kept] == [1] * 20
    assert [type(each) for each in (unfit, misnamed, unknown)] == [InputError] * 3
    assert dropped.dropped == "run_not_found"
    assert (await store.get(run.run_id)).turn_count == 20
    assert (await store.verify(run.run_id)).ok


async def test_within_one_commit_order_is_kept(store):
    run = await store.start(Started("x"))
    before, end, after = await asyncio.gather(
        store.append(run.run_id, [Turn()]),
        store.end(run.run_id, Ended("completed")),
        store.append(run.run_id, [Turn()]),
    )
    assert (before.dropped, end, after.dropped) == (None, None, "run_terminal")


async def test_a_cancelled_writer_leaves_a_whole_batch_or_nothing(store):
    run = await store.start(Started("x"))
    writing = [asyncio.create_task(store.append(run.run_id, [Turn()] * 10)) for _ in range(100)]
    for number, task in enumerate(writing):
        await asyncio.sleep(0.0005)
        if number % 2:
            task.cancel()
    results = await asyncio.gather(*writing, return_exceptions=True)
    acknowledged = sum(1 for each in results if not isinstance(each, BaseException))
    known = await store.get(run.run_id)
    assert known.turn_count % 10 == 0
    assert known.turn_count >= 10 * acknowledged >= 500
    assert (await store.verify(run.run_id)).ok


async def test_a_write_that_was_cancelled_before_its_turn_is_not_written(store, held):
    run_ = await store.start(Started("x"))
    with held():
        first = asyncio.create_task(store.append(run_.run_id, [Turn(prompt="first")]))
        await asyncio.sleep(0.2)
        second = asyncio.create_task(store.append(run_.run_id, [Turn(prompt="second")]))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0)
    await first
    await store.append(run_.run_id, [Turn(prompt="third")])
    turns = await store.trace(run_.run_id, types={"turn"})
    assert [each.record.prompt for each in turns] == ["first", "third"]


async def test_the_loop_goes_on_while_another_process_holds_the_database(store, held):
    run = await store.start(Started("x"))
    with held():
        writing = asyncio.create_task(store.append(run.run_id, [Turn()]))
        done, _ = await asyncio.wait({writing}, timeout=0.3)
        assert not done
        assert (await store.get(run.run_id)).turn_count == 0
    assert (await writing).count == 1


async def test_two_processes_write_to_one_run(store, url):
    run_ = await store.start(Started("x"))
    finished = await asyncio.gather(*(run(writer(url, run_.run_id, name, 40)) for name in ("a", "b")))
    assert [each.exit_code for each in finished] == [0, 0], finished[0].stderr.text + finished[1].stderr.text
    turns = [each.record for each in await store.trace(run_.run_id, types={"turn"})]
    assert [turn.index for turn in turns] == list(range(240))
    for start in range(0, 240, 3):
        name, number, _ = turns[start].prompt.split()
        assert [turn.prompt for turn in turns[start : start + 3]] == [f"{name} {number} {part}" for part in range(3)]
    assert (await store.verify(run_.run_id)).ok


async def test_a_second_store_does_not_take_away_the_locks_of_the_first(store, url):
    """Opening and closing a database's file drops a process's locks on it; SQLite then loses what others write."""
    run_ = await store.start(Started("x"))
    async with await RunStore.open(url) as second:
        assert (await run(writer(url, run_.run_id, "w", 2))).exit_code == 0
        for each in (store, second):
            await each.append(run_.run_id, [Turn()])
        assert (await run(writer(url, run_.run_id, "w", 2))).exit_code == 0
    await store.append(run_.run_id, [Turn()])
    verified = await store.verify(run_.run_id)
    assert (verified.ok, verified.records) == (True, 16)


async def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(store, url):
    run_ = await store.start(Started("x"))
    acknowledged = []
    async with Process(writer(url, run_.run_id, "w", 1_000_000)) as process:
        async for line in process.lines():
            acknowledged.append(line)
            if len(acknowledged) == 40:
                os.kill(process.pid, signal.SIGKILL)
                break
    assert len(acknowledged) == 40
    known = {each.seq: each.record.prompt for each in await store.trace(run_.run_id, types={"turn"})}
    for line in acknowledged:
        seq, batch = line.split(maxsplit=1)
        assert [known[int(seq) + part] for part in range(3)] == [f"{batch} {part}" for part in range(3)]
    assert len(known) % 3 == 0
    assert (await store.verify(run_.run_id)).ok
    assert (await store.get(run_.run_id)).status == "in_progress"
    assert (await store.append(run_.run_id, [Turn()])).base_index == len(known)


async def test_a_follower_sees_what_another_process_writes(store, url):
    run_ = await store.start(Started("x"))
    seen: list[int] = []

    async def follow():
        async for each in store.follow(run_.run_id):
            seen.append(each.seq)

    following = asyncio.create_task(follow())
    assert (await run(writer(url, run_.run_id, "w", 5))).exit_code == 0
    async with asyncio.timeout(10):
        while len(seen) < 16:
            await asyncio.sleep(0.02)
        await store.end(run_.run_id, Ended("completed"))
        await following
    assert seen == list(range(17))


async def test_a_store_lost_under_a_writer_is_an_error_and_not_a_silence(store, sql):
    run_ = await store.start(Started("x"))
    sql("DROP TABLE records")
    with pytest.raises(InfrastructureError, match="nothing of this was kept"):
        await store.append(run_.run_id, [Turn()])
    sql("DROP TABLE runs")
    results = await asyncio.gather(*(store.start(Started("x")) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in results] == [InfrastructureError] * 3


async def test_no_thread_is_left_after_closing(url):
    async with await RunStore.open(url) as store:
        await store.start(Started("x"))
        await store.list()
        assert runs_threads()
    assert not runs_threads()


def runs_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("trueup-runs")]
