"""A run is written by its owner only, and one whose owner died is told to be incomplete."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing

import psycopg
import pytest

from postgres_server import schema
from trueup.core.errors import InputError
from trueup.core.process import Command, Process
from trueup.runs import Ended, RunStore, Started, Turn
from trueup.runs._database import Database
from trueup.runs._ownership import is_alive, take

DAEMON = """
import asyncio, sys
from trueup.runs import RunStore, Started, Turn

async def main(url):
    async with await RunStore.open(url) as store, store.owning() as owner:
        run = await store.start(Started("work"), owner=owner)
        print(run.run_id, flush=True)
        while True:
            appended = await store.append(run.run_id, [Turn(prompt="a"), Turn(prompt="b")], owner=owner)
            print(appended.base_index, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_only_the_owner_writes(store):
    async with store.owning() as owner, store.owning() as other:
        run = await store.start(Started("x"), owner=owner)
        for stranger in (None, other, "nobody"):
            with pytest.raises(InputError, match=f"run {run.run_id} belongs to another"):
                await store.append(run.run_id, [Turn()], owner=stranger)
            with pytest.raises(InputError, match="belongs to another"):
                await store.end(run.run_id, Ended("completed"), owner=stranger)
        assert (await store.append(run.run_id, [Turn()], owner=owner)).count == 1
        await store.end(run.run_id, Ended("cancelled", termination="enough"), owner=owner)
    known = await store.get(run.run_id)
    assert (known.status, known.turn_count, known.record_count) == ("cancelled", 1, 3)
    assert (await store.verify(run.run_id)).ok


async def test_a_run_without_an_owner_is_anybodys(store):
    run = await store.start(Started("x"))
    assert (await store.append(run.run_id, [Turn()])).count == 1
    async with store.owning() as owner:
        assert (await store.append(run.run_id, [Turn()], owner=owner)).count == 1


async def test_the_open_runs_of_a_killed_daemon_are_incomplete_and_no_others(store, url):
    session = await store.start(Started("a session"), kind="session")
    async with store.owning() as owner:
        mine = await store.start(Started("mine"), owner=owner)
        async with Process(Command(argv=(sys.executable, "-c", DAEMON, url), timeout_secs=60)) as process:
            lines = process.lines()
            run_id = await anext(lines)
            acknowledged = [int(await anext(lines)) for _ in range(5)]
            assert await store.abandon_orphans() == []
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        assert await store.abandon_orphans(kind="session") == []
        assert await store.abandon_orphans(kind="run") == [run_id]
        assert await store.abandon_orphans() == []
        assert [(await store.get(each)).status for each in (run_id, mine.run_id, session.run_id)] == [
            "incomplete",
            "in_progress",
            "in_progress",
        ]
    turns = [each.record.index for each in await store.turns(run_id)]
    assert turns == list(range(len(turns)))
    assert acknowledged == [0, 2, 4, 6, 8]
    assert len(turns) >= 10
    assert len(turns) % 2 == 0
    ended = (await store.trace(run_id))[-1].record
    assert isinstance(ended, Ended)
    assert "is gone" in ended.termination
    assert (await store.verify(run_id)).ok


async def test_an_owner_that_leaves_leaves_its_runs_to_be_found(store, url):
    async with store.owning() as owner:
        run = await store.start(Started("x"), owner=owner)
    async with await RunStore.open(url) as later:
        assert await later.abandon_orphans() == [run.run_id]


async def test_an_owner_is_known_again_after_its_server_was_away(postgresql):
    with schema(postgresql, "restarted") as url:
        victim = Database.open(f"{url}&application_name=victim")
        watcher = Database.open(url)
        name, lock = take(victim)
        assert is_alive(watcher, name)
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'victim'"
            )
        assert not is_alive(watcher, name)
        lock.keep()
        assert is_alive(watcher, name)
        lock.release()
        assert not is_alive(watcher, name)
        victim.close()
        watcher.close()
