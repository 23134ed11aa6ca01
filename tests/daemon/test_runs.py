"""Runs over the wire: begun, written and ended by their owner, read and followed by everybody."""

from __future__ import annotations

import asyncio

import pytest

from daemon_clients import WireError
from trueup.daemon import Daemon
from trueup.runs import RunStore, Started, Turn


async def begin(client, **more):
    started = await client.call("runs.start", {"intent": "do the thing", "agent_id": "agent-a", **more})
    return started["run_id"]


async def until_ended(store, run_id):
    async with asyncio.timeout(10):
        while not (run := await store.get(run_id)).ended:
            await asyncio.sleep(0.02)
    return run


async def test_a_run_from_its_start_to_its_end(client, store):
    run_id = await begin(client, agent_name="Ann", outcome_description="it is done")
    turns = [{"index": 7, "tool": "search", "parameters": {"q": "x"}, "output": {"hits": []}}, {"prompt": "p"}]
    recorded = await client.call("runs.record_turns", {"run_id": run_id, "turns": turns})
    assert recorded == {"run_id": run_id, "base_index": 0, "count": 2, "ok": True}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "context_window": 9}
    model_turn = {
        "turn_index": 1,
        "assistant_text": "hello",
        "requested_tool_calls": [{"id": "1", "name": "search", "arguments": {"q": 1}}],
        "model_id": "m",
        "token_usage": usage,
        "duration_ms": 12,
    }
    recorded = await client.call("runs.record_model_turn", {"run_id": run_id, **model_turn})
    assert recorded == {"run_id": run_id, "base_index": 2, "count": 1, "ok": True}
    outcome = {"status": "success", "summary": "did it", "evidence": ["a"], "metrics": {"m": 1}, "timestamp": "now"}
    assert await client.call("runs.complete", {"run_id": run_id, "outcome": outcome}) == {"run_id": run_id, "ok": True}

    trace = await client.call("runs.get_trace", {"run_id": run_id})
    assert [record["kind"] for record in trace["records"]] == ["started", "turn", "turn", "model_turn", "ended"]
    started, first, second, third, ended = trace["records"]
    assert (started["intent"], started["agent_name"]) == ("do the thing", "Ann")
    assert (first["index"], first["output"], second["index"], "output" in second) == (0, {"hits": []}, 1, False)
    assert third["token_usage"] == {"input_tokens": 5, "output_tokens": 2}
    assert ended["outcome"] == outcome
    assert (trace["cursor"], trace["status"], trace["more"]) == (5, "completed", False)
    listed = await client.call("runs.list", {"agent_id": "agent-a"})
    assert [(run["run_id"], run["status"], run["turn_count"]) for run in listed["runs"]] == [(run_id, "completed", 3)]
    assert (await store.get(run_id)).outcome_description == "it is done"


async def test_a_trace_is_read_in_pages(client):
    run_id = await begin(client)
    await client.call("runs.record_turns", {"run_id": run_id, "turns": [{"prompt": str(n)} for n in range(5)]})
    page = await client.call("runs.get_trace", {"run_id": run_id, "limit": 3})
    assert (len(page["records"]), page["cursor"], page["more"]) == (3, 3, True)
    rest = await client.call("runs.get_trace", {"run_id": run_id, "cursor": 3})
    assert ([record["prompt"] for record in rest["records"]], rest["cursor"], rest["more"]) == (
        ["2", "3", "4"],
        6,
        False,
    )
    beyond = await client.call("runs.get_trace", {"run_id": run_id, "cursor": 99})
    assert (beyond["records"], beyond["cursor"]) == ([], 6)
    assert await client.call("runs.get_trace", {"run_id": "nope"}) == {"run_id": "nope", "not_found": True}


async def test_a_run_ends_once(client):
    run_id = await begin(client)
    await client.call("runs.complete", {"run_id": run_id, "outcome": {}})
    with pytest.raises(WireError, match="has ended already: completed at") as raised:
        await client.call("runs.complete", {"run_id": run_id, "outcome": {}})
    assert (raised.value.code, raised.value.data) == (-32011, {"run_id": run_id})
    dropped = await client.call("runs.record_turns", {"run_id": run_id, "turns": [{}]})
    assert dropped == {"run_id": run_id, "base_index": 0, "count": 0, "ok": False, "dropped": "run_terminal"}


async def test_an_unknown_run_is_an_error_of_its_own(client):
    with pytest.raises(WireError, match="there is no run nope") as raised:
        await client.call("runs.complete", {"run_id": "nope", "outcome": {}})
    assert raised.value.code == -32010
    for method in ("runs.subscribe", "runs.resume", "runs.cancel"):
        with pytest.raises(WireError) as raised:
            await client.call(method, {"run_id": "nope"})
        assert raised.value.code == -32010
    dropped = await client.call("runs.record_turns", {"run_id": "nope", "turns": [{}]})
    assert dropped == {"run_id": "nope", "base_index": 0, "count": 0, "ok": False, "dropped": "run_not_found"}


async def test_a_run_is_written_by_its_owner_only(lines, store):
    owner, other = lines().client, lines().client
    run_id = await begin(owner)
    elsewhere = (await store.start(Started("a session"), kind="code")).run_id
    for foreign in (run_id, elsewhere):
        for method, params in (
            ("runs.record_turns", {"turns": [{}]}),
            ("runs.record_model_turn", {}),
            ("runs.complete", {"outcome": {}}),
            ("runs.resume", {}),
        ):
            with pytest.raises(WireError, match="belongs to another client") as raised:
                await other.call(method, {"run_id": foreign, **params})
            assert raised.value.code == -32012
    assert (await store.get(run_id)).record_count == 1
    assert (await other.call("runs.get_trace", {"run_id": run_id}))["cursor"] == 1


async def test_the_same_key_gives_the_same_run(client, lines):
    run_id = await begin(client, idempotency_key="k")
    assert await begin(client, idempotency_key="k") == run_id
    assert await begin(client, idempotency_key="l") != run_id
    assert await begin(lines().client, idempotency_key="k") == run_id


async def test_a_client_that_leaves_leaves_its_run_incomplete(lines, store):
    line = lines()
    run_id = await begin(line.client)
    await line.leave()
    assert not (await store.get(run_id)).ended
    run = await until_ended(store, run_id)
    assert (run.status, run.summary) == ("incomplete", "its client left and did not come back")


async def test_a_client_that_comes_back_goes_on_with_its_run(store, lines):
    async with Daemon(store, grace_secs=60) as daemon:
        first, second = lines(daemon), lines(daemon)
        run_id = await begin(first.client)
        await first.leave()
        resumed = await second.client.call("runs.resume", {"run_id": run_id})
        assert resumed == {
            "run_id": run_id,
            "agent_id": "agent-a",
            "client_id": second.connection.client_id,
            "resumed_from_client_id": first.connection.client_id,
        }
        recorded = await second.client.call("runs.record_turns", {"run_id": run_id, "turns": [{}]})
        assert recorded["ok"]
        await second.leave()
        third = lines(daemon)
        assert await begin(third.client, idempotency_key="new") != run_id
        await third.client.call("runs.resume", {"run_id": run_id})
        await third.client.call("runs.complete", {"run_id": run_id, "outcome": {}})
        await third.leave()


async def test_the_key_of_a_run_brings_its_client_back_too(store, lines):
    async with Daemon(store, grace_secs=60) as daemon:
        first, second = lines(daemon), lines(daemon)
        run_id = await begin(first.client, idempotency_key="k")
        await first.leave()
        assert await begin(second.client, idempotency_key="k") == run_id
        assert (await second.client.call("runs.record_turns", {"run_id": run_id, "turns": [{}]}))["ok"]
        await second.leave()


async def test_a_cancelled_run_has_a_receipt_that_the_same_key_gives_again(client, lines):
    run_id = await begin(client)
    request = {"run_id": run_id, "idempotency_key": "c1", "reason": "enough"}
    receipt = await client.call("runs.cancel", request)
    assert (receipt["status"], receipt["reason"], receipt["run_id"]) == ("cancelled", "enough", run_id)
    assert receipt["cancelled_at"]
    assert await client.call("runs.cancel", request) == receipt
    assert await lines().client.call("runs.cancel", request) == receipt
    with pytest.raises(WireError, match="has ended already: cancelled") as raised:
        await client.call("runs.cancel", {**request, "idempotency_key": "c2"})
    assert raised.value.code == -32011


async def test_a_daemon_that_ends_leaves_no_run_open(store, lines):
    async with Daemon(store, grace_secs=60) as daemon:
        here, gone = lines(daemon), lines(daemon)
        run_ids = [await begin(here.client), await begin(gone.client)]
        await gone.leave()
    for run_id in run_ids:
        run = await store.get(run_id)
        assert (run.status, run.summary) == ("incomplete", "the daemon was stopped")


async def test_a_daemon_ends_what_dead_ones_left_open_and_nothing_else(database, store):
    session = (await store.start(Started("a session"), kind="code")).run_id
    async with await RunStore.open(database) as other:
        async with other.owning() as alive:
            living = (await other.start(Started("of another daemon"), owner=alive)).run_id
            async with other.owning() as dying:
                orphan = (await other.start(Started("of a dead daemon"), owner=dying)).run_id
            async with Daemon(store):
                assert (await store.get(orphan)).status == "incomplete"
                assert (await store.get(living)).status == "in_progress"
                assert (await store.get(session)).status == "in_progress"


async def test_a_subscriber_gets_what_there_is_and_then_every_record_once(lines):
    owner, watcher, stranger = lines().client, lines().client, lines().client
    run_id = await begin(owner)
    await owner.call("runs.record_turns", {"run_id": run_id, "turns": [{"prompt": "0"}]})
    snapshot = await watcher.call("runs.subscribe", {"run_id": run_id})
    assert [record["kind"] for record in snapshot["turns_so_far"]] == ["started", "turn"]
    assert (snapshot["cursor"], snapshot["status"], snapshot["agent_id"]) == (2, "in_progress", "agent-a")
    for number in range(1, 20):
        await owner.call("runs.record_turns", {"run_id": run_id, "turns": [{"prompt": str(number)}]})
    await owner.call("runs.complete", {"run_id": run_id, "outcome": {}})
    told = [await watcher.next_told() for _ in range(20)]
    assert {each["method"] for each in told} == {"runs.trace.event"}
    assert [each["params"]["cursor"] for each in told] == list(range(3, 23))
    assert [each["params"]["record"].get("prompt") for each in told] == [*map(str, range(1, 20)), None]
    assert [each["params"]["status"] for each in told] == ["in_progress"] * 19 + ["completed"]
    assert stranger.told.empty()
    assert owner.told.empty()


async def test_a_subscription_to_what_has_ended_is_its_whole_trace(client):
    run_id = await begin(client)
    await client.call("runs.complete", {"run_id": run_id, "outcome": {}})
    snapshot = await client.call("runs.subscribe", {"run_id": run_id})
    assert ([each["kind"] for each in snapshot["turns_so_far"]], snapshot["status"]) == (
        ["started", "ended"],
        "completed",
    )
    again = await client.call("runs.subscribe", {"run_id": run_id, "cursor": 2})
    assert (again["turns_so_far"], again["cursor"], again["status"]) == ([], 2, "completed")


async def test_a_subscriber_who_claims_to_know_more_than_there_is_misses_nothing(client):
    run_id = await begin(client)
    assert (await client.call("runs.subscribe", {"run_id": run_id, "cursor": 99}))["cursor"] == 1
    await client.call("runs.record_turns", {"run_id": run_id, "turns": [{}]})
    assert (await client.next_told())["params"]["cursor"] == 2


async def test_a_snapshot_that_does_not_fit_goes_on_as_events(client):
    run_id = await begin(client)
    await client.call("runs.record_turns", {"run_id": run_id, "turns": [{"prompt": "p"}] * 1200})
    await client.call("runs.complete", {"run_id": run_id, "outcome": {}})
    snapshot = await client.call("runs.subscribe", {"run_id": run_id})
    assert (len(snapshot["turns_so_far"]), snapshot["cursor"], snapshot["status"]) == (1000, 1000, "in_progress")
    told = [(await client.next_told())["params"] for _ in range(202)]
    assert [each["cursor"] for each in told] == list(range(1001, 1203))
    assert told[-1]["status"] == "completed"


async def test_who_unsubscribed_hears_nothing_more(lines):
    owner, watcher = lines().client, lines().client
    run_id = await begin(owner)
    await watcher.call("runs.subscribe", {"run_id": run_id})
    assert await watcher.call("runs.unsubscribe", {"run_id": run_id}) == {"run_id": run_id, "unsubscribed": True}
    await owner.call("runs.record_turns", {"run_id": run_id, "turns": [{}]})
    await watcher.call("state.keys")
    assert watcher.told.empty()
    assert not (await watcher.call("runs.unsubscribe", {"run_id": run_id}))["unsubscribed"]


async def test_a_slow_subscriber_is_dropped_and_can_see_it(daemon, store, lines):
    """The client takes nothing until its queue has been full for too long."""
    owner = lines().client
    run_id = await begin(owner)
    taken, may_take = [], asyncio.Event()

    async def send(frame: bytes) -> None:
        if b"runs.trace" in frame:
            await may_take.wait()
        taken.append(frame)

    async def frames():
        yield b'{"jsonrpc":"2.0","id":1,"method":"runs.subscribe","params":{"run_id":"%s"}}' % run_id.encode()
        await asyncio.Event().wait()

    serving = asyncio.create_task(daemon.connect(send).serve(frames()))
    for _ in range(4):
        await owner.call("runs.record_turns", {"run_id": run_id, "turns": [{}] * 100})
    await asyncio.sleep(daemon.slow_secs + 0.3)
    may_take.set()
    async with asyncio.timeout(10):
        while b"runs.trace.dropped" not in taken[-1]:
            await asyncio.sleep(0.01)
    assert 1 <= len(taken) < 300
    last = len([each for each in taken if b"runs.trace.event" in each])
    assert b'"cursor":%d' % (last + 1) in taken[-1]
    # Nobody else noticed, and who was dropped can go on from the cursor it was told.
    assert (await owner.call("runs.record_turns", {"run_id": run_id, "turns": [{}]}))["ok"]
    rest = await owner.call("runs.get_trace", {"run_id": run_id, "cursor": last + 1})
    assert rest["cursor"] == 402
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_turns_of_two_writers_of_one_run_are_adjacent_and_in_order(store):
    """The concurrency scene of the recorder itself, without a socket."""
    run_id = (await store.start(Started("stress"))).run_id
    batches = [[Turn(index=number, prompt=f"{name}-{number}") for number in range(25)] for name in "AB"]
    await asyncio.gather(*(store.append(run_id, batch) for batch in batches))
    turns = [stored.record for stored in await store.trace(run_id, types=["turn"])]
    assert [turn.index for turn in turns] == list(range(50))
    assert [turn.prompt for turn in turns[:25]] in ([f"A-{n}" for n in range(25)], [f"B-{n}" for n in range(25)])
