"""Recording: turns in batches, single turns that share commits, and what the loop notices of it."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.measure import LoopLag, medians, milliseconds, report, timed
from trueup.runs import RunStore, Started, Turn, encode_json

BATCHES = 20
TURNS = 500
WRITERS = 200
EACH = 10

LONG = 1_000_000
LONG_BATCH = 2000
PAGE = 1000
FOLLOWERS = 200

PROMPT = "Make the tests pass, and say what you changed and why. " * 4
TURN = Turn(
    prompt=PROMPT,
    tool="drive_cli",
    parameters={"prompt": PROMPT, "cwd": "/home/user/project", "timeout_ms": 600_000},
    output={"exit_code": 0, "stdout": "..........\n10 passed in 0.42s\n" * 8, "timed_out": False},
    cli_outcome={"kind": "exited", "code": 0},
)


@asynccontextmanager
async def places() -> AsyncIterator[tuple[RunStore, str, sqlite3.Connection]]:
    """A run to record in, and a plain database with the same promises beside it."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as folder:
        plain = sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, body TEXT)")
        try:
            async with await RunStore.open(f"sqlite:///{folder}/trueup.db") as store:
                run = await store.start(Started("bench"))
                yield store, run.run_id, plain
        finally:
            plain.close()


def insert_plainly(plain: sqlite3.Connection, turns: int) -> None:
    """The least that keeping turns can cost: their JSON in one table, one commit."""
    plain.execute("BEGIN IMMEDIATE")
    plain.executemany("INSERT INTO records (body) VALUES (?)", [(encode_json(TURN).decode(),) for _ in range(turns)])
    plain.execute("COMMIT")


async def recording_batches() -> bool:
    """Batches of turns, each on disk before the next, against plain inserts of the same JSON."""
    async with places() as (store, run_id, plain):

        async def reference() -> None:
            for _ in range(BATCHES):
                insert_plainly(plain, TURNS)

        async def ours() -> None:
            for _ in range(BATCHES):
                await store.append(run_id, [TURN] * TURNS)

        await ours()
        before, after = await medians(5, reference, ours)
    per_second = BATCHES * TURNS / after
    plainly = BATCHES * TURNS / before
    return report(
        f"turns recorded in batches of {TURNS}",
        f"{per_second:,.0f} turns/s",
        "20,000 turns/s",
        per_second >= 20_000,
        reference=f"{plainly:,.0f}/s by plain inserts",
        ratio=per_second / plainly,
    )


async def recording_single_turns() -> bool:
    """Many writers that each wait for every turn, against a commit for every turn."""
    async with places() as (store, run_id, plain):

        async def reference() -> None:
            for _ in range(WRITERS):
                insert_plainly(plain, 1)

        async def write_and_wait() -> None:
            for _ in range(EACH):
                await store.append(run_id, [TURN])

        async def ours() -> None:
            await asyncio.gather(*(write_and_wait() for _ in range(WRITERS)))

        before, after = await medians(5, reference, ours)
    alone, together = WRITERS / before, WRITERS * EACH / after
    return report(
        f"single turns of {WRITERS} waiting writers",
        f"{together:,.0f} turns/s",
        "3 x",
        together >= 3 * alone,
        reference=f"{alone:,.0f}/s with a commit each",
        ratio=together / alone,
    )


async def recording_lag() -> bool:
    """How late a 1 ms timer fires while batches are recorded."""
    async with places() as (store, run_id, _plain), LoopLag() as lag:
        for _ in range(2 * BATCHES):
            await store.append(run_id, [TURN] * TURNS)
    return report("loop lag while recording, p99", milliseconds(lag.p99), "50 ms", lag.p99 < 0.050)


async def recording_a_long_run() -> bool:
    """A million turns in one run: memory while they are recorded, then any page of them."""
    async with places() as (store, run_id, _plain):
        small = [Turn(prompt=f"look at part {number}", tool="read", output="fine") for number in range(LONG_BATCH)]
        for _ in range(20):
            await store.append(run_id, small)
        before = most = memory()
        for _ in range(LONG // LONG_BATCH - 20):
            await store.append(run_id, small)
            most = max(most, memory())
        grown = most - before
        worst = max([await page_secs(store, run_id, after) for after in (-1, LONG // 2, LONG - PAGE)])
    flat = report(f"memory for {LONG:,} turns", f"{grown / 1e6:.1f} MB more", "50 MB", grown < 50e6)
    quick = report(f"a page of {PAGE:,} of {LONG:,} turns", milliseconds(worst), "100 ms", worst < 0.1)
    return flat and quick


def memory() -> int:
    """What this process has in memory now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def page_secs(store: RunStore, run_id: str, after: int) -> float:
    async def read() -> None:
        assert len(await store.trace(run_id, after=after, limit=PAGE)) == PAGE

    return min([await timed(read) for _ in range(5)])


async def recording_for_followers() -> bool:
    """Single turns while many follow the run, against the same turns unseen."""
    async with places() as (store, run_id, _plain):
        unseen = (await store.start(Started("bench"))).run_id
        seen = [0] * FOLLOWERS

        async def follow(number: int) -> None:
            async for _ in store.follow(run_id):
                seen[number] += 1

        async def record(where: str) -> None:
            for _ in range(100):
                await store.append(where, [TURN])

        following = [asyncio.create_task(follow(number)) for number in range(FOLLOWERS)]
        while not all(seen):
            await asyncio.sleep(0.05)
        before, after = await medians(3, lambda: record(unseen), lambda: record(run_id))
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    return report(
        f"turns for {FOLLOWERS} followers",
        f"{100 * FOLLOWERS / after:,.0f} records/s",
        "4 x",
        after < 4 * before,
        reference="the time of recording alone",
        ratio=after / before,
    )


async def recording_findable() -> bool:
    """What the first search pays for everything that was recorded before it, and what the next one takes."""
    async with places() as (store, run_id, _plain):
        for _ in range(BATCHES):
            await store.append(run_id, [TURN] * TURNS)
        first = await timed(store.index)
        again = await timed(lambda: store.search("tests pass changed"))
    per_second = BATCHES * TURNS / first
    findable = report("records made findable", f"{per_second:,.0f}/s", "1,000/s", per_second > 1000)
    return report("a search after that", milliseconds(again), "100 ms", again < 0.1) and findable


BENCHES = (
    recording_batches,
    recording_single_turns,
    recording_lag,
    recording_a_long_run,
    recording_for_followers,
    recording_findable,
)
