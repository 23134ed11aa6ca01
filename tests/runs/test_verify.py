"""A run that somebody changed is found out, and where."""

from __future__ import annotations

import asyncio
import zlib

import pytest

from trueup.core.errors import InfrastructureError, InputError
from trueup.runs import Ended, EventRecord, RunStore, Started, Turn

LARGE = "line of output\n" * 5000


@pytest.fixture
async def run_id(store: RunStore) -> str:
    run = await store.start(Started("mend it", agent_id="a1"), kind="code")
    await store.append(run.run_id, [Turn(prompt=str(number)) for number in range(4)])
    await store.append(run.run_id, [EventRecord("tool_result", {"output": LARGE})])
    await store.end(run.run_id, Ended("completed", "done"))
    return run.run_id


async def test_an_untouched_run_is_whole(store, run_id):
    found = await store.verify(run_id)
    assert (found.ok, found.records, found.problem, found.seq) == (True, 7, None, None)


async def test_a_run_that_goes_on_is_whole_too(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn()])
    assert (await store.verify(run.run_id)).ok


@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, '2', '9')",
        "at = '2001-01-01T00:00:00.000000Z'",
        "kind = 'model_turn'",
        "type = 'other'",
        "turn_index = 9",
        "places = '[]'",
        "hash = previous_hash",
    ],
)
async def test_an_altered_record_is_found(store, sql, run_id, change):
    sql(f"UPDATE records SET {change} WHERE seq = 3")
    found = await store.verify(run_id)
    assert (found.ok, found.seq, found.records) == (False, 3, 3)
    assert found.problem == "record 3 was altered: its content does not give its hash"


async def test_a_removed_record_is_found(store, sql, run_id):
    sql("DELETE FROM records WHERE seq = 2")
    found = await store.verify(run_id)
    assert (found.seq, found.problem) == (2, "record 2 is missing: record 3 comes in its place")


async def test_a_removed_record_is_found_when_the_others_moved_up(store, sql, run_id):
    sql("DELETE FROM records WHERE seq = 2")
    for seq in range(3, 7):
        sql("UPDATE records SET seq = ? WHERE seq = ?", seq - 1, seq)
    sql("UPDATE runs SET record_count = 6")
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 2)
    assert "record 2 does not follow record 1" in found.problem


async def test_records_that_changed_places_are_found(store, sql, run_id):
    for before, after in ((2, 90), (3, 2), (90, 3)):
        sql("UPDATE records SET seq = ? WHERE seq = ?", after, before)
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 2)
    assert "record 2 does not follow record 1" in found.problem


async def test_an_inserted_record_is_found(store, sql, run_id):
    sql(
        "INSERT INTO records SELECT run_id, 7, at, kind, type, turn_index, body, places, hash, hash FROM records WHERE seq = 6"
    )
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 7)
    assert found.problem == "record 7 was altered: its content does not give its hash"


async def test_a_record_with_a_fitting_hash_at_the_end_is_found(store, sql, run_id, tmp_path):
    """Somebody who knows how the chain is made goes on writing a run that has ended."""
    sql("UPDATE runs SET status = 'in_progress', ended_at = NULL, summary = ''")
    await store.append(run_id, [Turn(prompt="forged")])
    sql("UPDATE runs SET status = 'completed', record_count = 7, turn_count = 4")
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 7)
    assert "record 7 was added" in found.problem


async def test_a_cut_off_end_is_found(store, sql, run_id):
    sql("DELETE FROM records WHERE seq >= 5")
    found = await store.verify(run_id)
    assert (found.seq, found.problem) == (5, "record 5 is missing: 5 records are left of 7")


async def test_a_cut_off_end_is_found_when_the_count_was_mended(store, sql, run_id):
    sql("DELETE FROM records WHERE seq >= 5")
    sql("UPDATE runs SET record_count = 5")
    found = await store.verify(run_id)
    assert (found.seq, found.problem) == (4, "record 4 is not the last one that was written")


async def test_a_run_without_any_record_is_found(store, sql, run_id):
    sql("DELETE FROM records")
    assert "record 0 is missing" in (await store.verify(run_id)).problem


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "incomplete"),
        ("intent", "another"),
        ("agent_id", "a2"),
        ("started_at", "2001"),
        ("summary", "no"),
        ("turn_count", 1),
    ],
)
async def test_a_row_that_says_other_than_its_records_is_found(store, sql, run_id, column, value):
    sql(f"UPDATE runs SET {column} = ?", value)
    found = await store.verify(run_id)
    assert not found.ok
    assert f"the run's {column} was altered" in found.problem


async def test_a_changed_kind_of_run_is_found(store, sql, run_id):
    sql("UPDATE runs SET kind = 'run'")
    assert "record 0 does not follow the beginning of this run" in (await store.verify(run_id)).problem


async def test_records_of_another_run_do_not_fit(store, sql, run_id):
    other = await store.start(Started("mend it", agent_id="a1"), kind="code")
    sql("DELETE FROM records WHERE run_id = ?", other.run_id)
    sql(
        "INSERT INTO records SELECT ?, seq, at, kind, type, turn_index, body, places, previous_hash, hash "
        "FROM records WHERE run_id = ?",
        other.run_id,
        run_id,
    )
    found = await store.verify(other.run_id)
    assert (found.ok, found.seq) == (False, 0)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zlib.compress(b'"something else"'), "was altered: its content has another hash"),
        (b"no zlib", "was altered: it cannot be unpacked"),
    ],
)
async def test_an_altered_payload_is_found(store, sql, run_id, content, problem):
    sql("UPDATE payloads SET content = ?", content)
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 5)
    assert problem in found.problem
    with pytest.raises(InfrastructureError, match="record 5 of run .* cannot be read"):
        await store.trace(run_id)


async def test_a_removed_payload_is_found(store, sql, run_id):
    sql("DELETE FROM payloads")
    found = await store.verify(run_id)
    assert (found.ok, found.seq) == (False, 5)
    assert "is missing" in found.problem


async def test_long_runs_are_followed_over_page_after_page(store, sql):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(prompt=str(number)) for number in range(2500)])
    assert (await store.verify(run.run_id)).records == 2501
    sql("UPDATE records SET body = replace(body, '2400', '0') WHERE seq = 2401")
    assert (await store.verify(run.run_id)).seq == 2401


async def test_a_run_is_whole_at_every_moment_while_it_is_written(store):
    run = await store.start(Started("x"))
    writing = asyncio.gather(*(store.append(run.run_id, [Turn()] * 200) for _ in range(30)))
    seen = 0
    while not writing.done():
        found = await store.verify(run.run_id)
        assert found.ok, found.problem
        seen += 1
    await writing
    assert seen > 0
    assert (await store.verify(run.run_id)).records == 6001


async def test_what_is_not_there_cannot_be_verified(store):
    with pytest.raises(InputError, match="there is no run nowhere"):
        await store.verify("nowhere")
