"""Runs are kept as they happened."""

from __future__ import annotations

import asyncio
import os
import stat

import pytest

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.usage import Usage
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, RunStore, Started, Turn


async def test_what_was_written_is_read_again(store):
    started = Started("mend it", agent_id="a1", agent_name="Ada", client_id="c1", data={"repo": "/r"})
    run = await store.start(started)
    written = [
        Turn(prompt="go", tool="drive_cli", parameters={"prompt": "go"}, output={"exit_code": 0}),
        ModelTurn(assistant_text="done", model_id="m", token_usage=Usage(input_tokens=3), duration_ms=12.5),
        CheckRecord({"name": "suite", "passed": True}),
        EventRecord("state_changed", {"to": "running"}),
    ]
    await store.append(run.run_id, written)
    ended = Ended("completed", "all green", {"verdict": "verified"})
    await store.end(run.run_id, ended)
    records = [each.record for each in await store.trace(run.run_id)]
    assert records[0] == started
    assert records[1].output == {"exit_code": 0}
    assert (records[1].index, records[2].index) == (0, 1)
    assert records[2].token_usage == Usage(input_tokens=3)
    assert records[3:] == [*written[2:], ended]


async def test_a_run_tells_how_it_stands_without_its_records(store):
    run = await store.start(Started("mend it", agent_id="a1", outcome_description="green"), kind="code")
    assert (run.status, run.ended_at, run.ended) == ("in_progress", None, False)
    await store.append(run.run_id, [Turn(), EventRecord("note"), ModelTurn()])
    await store.end(run.run_id, Ended("incomplete", "gave up", termination="client gone"))
    known = await store.get(run.run_id)
    assert (known.kind, known.intent, known.agent_id, known.outcome_description) == ("code", "mend it", "a1", "green")
    assert (known.status, known.summary, known.turn_count, known.record_count) == ("incomplete", "gave up", 2, 5)
    assert known.ended
    assert known.started_at <= known.ended_at


async def test_an_absent_output_is_not_a_null_one(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(output=None), Turn(policy_rejected={"rule": "no-rm", "param": "prompt"})])
    ran, refused = [each.record for each in await store.trace(run.run_id, types={"turn"})]
    assert ran.output is None
    assert refused.output is Turn().output
    assert refused.policy_rejected == {"rule": "no-rm", "param": "prompt"}


async def test_indices_are_stamped_whatever_the_caller_claimed(store):
    run = await store.start(Started("x"))
    first = await store.append(run.run_id, [Turn(index=7), EventRecord("between"), Turn(index=7)])
    second = await store.append(run.run_id, [ModelTurn(index=0)])
    assert (first.base_index, first.count, first.first_seq) == (0, 3, 1)
    assert (second.base_index, second.count, second.first_seq) == (2, 1, 4)
    turns = await store.trace(run.run_id, types={"turn", "model_turn"})
    assert [(each.seq, each.record.index) for each in turns] == [(1, 0), (3, 1), (4, 2)]


async def test_the_same_key_of_the_same_agent_gives_the_same_run(store):
    first, again = await asyncio.gather(
        *(store.start(Started("x", agent_id="a1"), idempotency_key="k") for _ in range(2))
    )
    another = await store.start(Started("x", agent_id="a2"), idempotency_key="k")
    assert again.run_id == first.run_id
    assert another.run_id != first.run_id
    assert first.record_count == (await store.get(first.run_id)).record_count == 1
    assert len(await store.list()) == 2


async def test_an_id_of_ones_own_choice_is_kept_and_not_given_twice(store):
    run = await store.start(Started("x"), run_id="nightly-7")
    assert run.run_id == "nightly-7"
    with pytest.raises(InputError, match="already a run nightly-7"):
        await store.start(Started("y"), run_id="nightly-7")
    with pytest.raises(InputError, match="cannot name a run"):
        await store.start(Started("y"), run_id="../x")


async def test_ids_sort_by_time_and_can_be_typed(store):
    ids = []
    for _ in range(3):
        ids.append((await store.start(Started("x"))).run_id)
        await asyncio.sleep(0.11)
    assert ids == sorted(ids)
    assert all(len(each) == 12 and each.isalnum() and each == each.lower() for each in ids)
    assert [each.run_id for each in await store.list()] == ids[::-1]


async def test_nothing_is_added_to_a_run_that_has_ended_or_is_not_there(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn()])
    await store.end(run.run_id, Ended("completed"))
    late = await store.append(run.run_id, [Turn()])
    assert (late.count, late.first_seq, late.dropped) == (0, None, "run_terminal")
    lost = await store.append("nowhere", [Turn()])
    assert (lost.count, lost.first_seq, lost.dropped) == (0, None, "run_not_found")
    assert (await store.get(run.run_id)).record_count == 3


async def test_a_run_ends_once(store):
    run = await store.start(Started("x"))
    await store.end(run.run_id, Ended("cancelled"))
    with pytest.raises(InputError, match="has ended already: cancelled"):
        await store.end(run.run_id, Ended("completed"))
    with pytest.raises(InputError, match="there is no run nowhere"):
        await store.end("nowhere", Ended("completed"))
    assert (await store.get(run.run_id)).status == "cancelled"


async def test_started_and_ended_cannot_be_appended(store):
    run = await store.start(Started("x"))
    with pytest.raises(TypeError, match="started and ended once"):
        await store.append(run.run_id, [Turn(), Ended("completed")])
    assert (await store.get(run.run_id)).record_count == 1


async def test_a_status_that_does_not_exist_is_refused(store):
    run = await store.start(Started("x"))
    with pytest.raises(InputError, match="Ended cannot be recorded"):
        await store.end(run.run_id, Ended("splendid"))
    assert not (await store.get(run.run_id)).ended


async def test_a_run_is_found_by_the_beginning_of_its_id(store):
    for run_id in ("abc1", "abc2", "abc", "b"):
        await store.start(Started("x"), run_id=run_id, kind="code" if run_id == "abc2" else "run")
    assert (await store.find("abc1")).run_id == "abc1"
    assert (await store.find("abc")).run_id == "abc"
    assert (await store.find("ab", kind="code")).run_id == "abc2"
    with pytest.raises(InputError, match="'ab' could be several runs: abc2, abc1, abc; type more"):
        await store.find("ab")
    for number in range(10, 20):
        await store.start(Started("x"), run_id=f"abc{number}")
    assert (await store.find("abc")).run_id == "abc"
    with pytest.raises(InputError, match=r"abc2, abc19, abc18, abc17, abc16, …; type more"):
        await store.find("ab")
    for nothing in ("", "zz", "%", "ab_"):
        with pytest.raises(InputError, match="there is no run"):
            await store.find(nothing)


async def test_lists_are_by_kind_and_agent(store):
    for kind, agent in (("run", "a"), ("code", "a"), ("run", "b")):
        await store.start(Started("x", agent_id=agent), kind=kind)
    assert [each.kind for each in await store.list(agent_id="a")] == ["code", "run"]
    assert [each.agent_id for each in await store.list(kind="run")] == ["b", "a"]
    assert len(await store.list(limit=2)) == 2


async def test_a_trace_is_read_from_any_place_and_by_type(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [EventRecord("a", {"n": n}) for n in range(5)] + [EventRecord("b"), Turn()])
    assert [each.seq for each in await store.trace(run.run_id, after=2, limit=2)] == [3, 4]
    assert [each.seq for each in await store.trace(run.run_id, types={"b", "turn"})] == [6, 7]
    assert [each.seq for each in await store.trace(run.run_id, types=[])] == []
    assert await store.trace("nowhere") == []


async def test_the_newest_event_of_a_type_is_told_for_many_runs_at_once(store):
    runs = [(await store.start(Started("x"))).run_id for _ in range(3)]
    for run_id in runs[:2]:
        await store.append(run_id, [EventRecord("state", {"to": to}) for to in ("created", run_id)])
        await store.append(run_id, [EventRecord("other")])
    newest = await store.latest(runs, "state")
    assert {run_id: stored.record.data["to"] for run_id, stored in newest.items()} == {each: each for each in runs[:2]}
    assert list(await store.latest(runs[0], "state")) == [runs[0]]


async def test_the_users_own_database_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    before = os.umask(0o022)
    try:
        async with await RunStore.open() as store:
            await store.start(Started("x"))
            folder = tmp_path / "share" / "trueup"
            files = {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}
    finally:
        os.umask(before)
    assert files == {"trueup.db": 0o600, "trueup.db-wal": 0o600, "trueup.db-shm": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_closing_finishes_what_is_being_written(url):
    store = await RunStore.open(url)
    run = await store.start(Started("x"))
    writing = [asyncio.ensure_future(store.append(run.run_id, [Turn()])) for _ in range(50)]
    await asyncio.sleep(0)
    await store.aclose()
    assert [each.count for each in await asyncio.gather(*writing)] == [1] * 50
    with pytest.raises(InfrastructureError, match="closed already"):
        await store.append(run.run_id, [Turn()])
    async with await RunStore.open(url) as again:
        assert (await again.get(run.run_id)).turn_count == 50


async def test_a_follower_sees_every_record_until_the_end(store):
    run = await store.start(Started("x"))

    async def work():
        for number in range(5):
            await store.append(run.run_id, [Turn(prompt=str(number))])
            await asyncio.sleep(0.001)
        await store.end(run.run_id, Ended("completed"))

    working = asyncio.create_task(work())
    async with asyncio.timeout(10):
        seen = [each async for each in store.follow(run.run_id)]
    await working
    assert [each.seq for each in seen] == list(range(7))
    assert seen[-1].record == Ended("completed")


async def test_nobody_can_follow_what_is_not_there(store):
    with pytest.raises(InputError, match="there is no run nowhere"):
        async for _ in store.follow("nowhere"):
            pass
