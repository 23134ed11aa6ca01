"""What nobody needs any more is removed, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from trueup.runs import Ended, RunStore, Started, Turn

LARGE = "a line of output\n" * 3000


async def ended_run(store, *outputs: str) -> str:
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(prompt="zebra", output=each) for each in outputs])
    await store.end(run.run_id, Ended("completed"))
    return run.run_id


async def listed(store) -> set[str]:
    return {each.run_id for each in await store.list()}


@pytest.fixture
async def runs(store) -> list[str]:
    made = []
    for number in range(4):
        made.append(await ended_run(store, f"{number}{LARGE}", LARGE))
        await asyncio.sleep(0.002)
    return made


async def test_old_runs_go_with_all_that_only_they_had(store, sql, runs):
    await store.index()
    before = (await store.get(runs[2])).ended_at
    pruned = await store.prune(before=before)
    assert [each.run_id for each in pruned.runs] == runs[:2]
    assert (pruned.records, pruned.payloads) == (8, 2)
    assert await listed(store) == set(runs[2:])
    assert sql("SELECT count(*) FROM payloads") == [(3,)]
    assert sql("SELECT count(*) FROM records") == [(8,)]
    assert sql("SELECT count(*) FROM searchable") == [(8,)]
    assert {each.run.run_id for each in await store.search("zebra")} == set(runs[2:])
    for run_id in runs[2:]:
        assert (await store.verify(run_id)).ok


async def test_the_newest_are_kept(store, runs):
    assert len((await store.prune(keep=3)).runs) == 1
    assert await listed(store) == set(runs[1:])
    assert (await store.prune(before="9999", keep=10)).runs == []


async def test_nothing_that_is_open_goes(store, runs):
    session = await store.start(Started("x"), kind="session")
    await store.append(session.run_id, [Turn(output=LARGE)])
    assert len((await store.prune(before="9999")).runs) == 4
    assert await listed(store) == {session.run_id}
    assert (await store.turns(session.run_id))[0].record.output == LARGE


async def test_a_look_removes_nothing(store, runs):
    looked = await store.prune(before="9999", keep=1, dry_run=True)
    assert ([each.run_id for each in looked.runs], looked.records) == (runs[:3], 12)
    assert await listed(store) == set(runs)


async def test_only_one_kind_goes(store, runs):
    assert (await store.prune(before="9999", kind="session")).runs == []


async def test_the_file_becomes_smaller(store, file, runs):
    await ended_run(store, *(f"{number} {LARGE[number:]}" for number in range(80)))
    await store.index()
    before = file.stat().st_size + file.with_name("trueup.db-wal").stat().st_size
    await store.prune(before="9999")
    assert file.stat().st_size + file.with_name("trueup.db-wal").stat().st_size < before / 3


async def test_what_is_recorded_meanwhile_keeps_its_payloads(store, url):
    """A payload that is found to be there can be gone when the record that has it is written."""
    outputs = [f"{number} {LARGE}" for number in range(5)]
    async with await RunStore.open(url) as other:
        for _ in range(6):
            await ended_run(store, *outputs)
            run = await other.start(Started("x"))
            writing = [other.append(run.run_id, [Turn(output=each)]) for each in outputs]
            await asyncio.gather(store.prune(before="9999"), *writing)
            assert (await other.verify(run.run_id)).ok
            await other.end(run.run_id, Ended("completed"))


async def test_what_was_removed_is_told_also_where_the_space_cannot_be_given_back(store, file, sql, runs):
    # In place of a full disk: what is asked for after the removal fails.
    sql("DROP TABLE search_words")
    sql("CREATE TABLE search_words (words)")
    pruned = await store.prune()
    assert pruned.runs
    assert "has no column named search_words" in pruned.kept_space
    assert {run.status for run in await store.list()} <= {"in_progress"}
