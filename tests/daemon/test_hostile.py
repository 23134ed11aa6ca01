"""Clients that mean harm, or have bad luck: they get an answer, and the others never notice."""

from __future__ import annotations

import asyncio
import gc
import os
import time

import pytest

from daemon_clients import Line, ToolError, WireError
from trueup.daemon import Daemon, Level, Tokens
from trueup.policy import policy_from

TOKEN, HUMAN = "T" * 43, "H" * 43
HALF = "\ud800"


def request(method: str, params: object, request_id: object = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


@pytest.mark.parametrize("text", [HALF, "\0", "../../x", "%", ""])
async def test_an_id_that_no_run_can_have_is_no_mistake_of_ours(client, text):
    for method, more in [
        ("runs.complete", {}),
        ("runs.cancel", {"idempotency_key": text}),
        ("runs.resume", {}),
        ("runs.subscribe", {}),
    ]:
        with pytest.raises(WireError) as raised:
            await client.call(method, {"run_id": text, **more})
        assert raised.value.code == (-32602 if text == HALF else -32010)
    assert await client.call("runs.unsubscribe", {"run_id": text}) == {"run_id": text, "unsubscribed": False}


async def test_half_characters_in_names_texts_and_outputs_are_kept(client):
    run_id = (await client.call("runs.start", {"intent": HALF, "agent_id": HALF, "idempotency_key": HALF}))["run_id"]
    await client.call("tools.register", [{"name": HALF}])
    client.tools[HALF] = lambda _: {HALF: HALF}
    called = {"id": HALF, "type": "tool_call", "tool": HALF, "parameters": {HALF: HALF}, "expected_effects": {HALF: 1}}
    looked = {"type": "assertion", "parameters": {"key": HALF, "expected": f"not {HALF}"}, "dependencies": [HALF]}
    result = await client.call("proposal.submit", {"proposal": {"actions": [called, looked]}})
    assert [each["status"] for each in result["results"]] == ["succeeded", "failed"]
    assert result["results"][0]["output"] == {HALF: HALF}
    records = (await client.call("runs.get_trace", {"run_id": run_id}))["records"]
    assert (records[0]["intent"], records[1]["tool"], records[1]["output"]) == (HALF, HALF, {HALF: HALF})


async def test_a_value_that_can_just_be_read_is_answered_or_refused(client):
    for levels in range(960, 1010, 7):
        value = "[" * levels + "]" * levels
        await client.send(f'{{"jsonrpc":"2.0","id":1,"method":"state.set","params":{{"key":"k","value":{value}}}}}')
        answer = await client.next_unclaimed()
        assert "result" in answer or answer["error"]["code"] in (-32700, -32602, -32603)
        assert "mistake" not in str(answer.get("error"))


@pytest.fixture
async def guarded(store):
    async with Daemon(store, tokens=Tokens(TOKEN, HUMAN), grace_secs=0) as daemon:
        yield daemon


async def test_a_batch_is_no_way_to_guess_more_often(guarded, lines):
    stranger = lines(guarded)
    began = time.monotonic()
    await stranger.client.send([request("session.auth", {"token": f"guess {each}"}, each) for each in range(20)])
    answers = await stranger.client.next_unclaimed()
    assert [each["error"]["message"] for each in answers] == ["auth failed: token mismatch"] * 3
    await asyncio.wait_for(stranger.client.ended.wait(), 5)
    assert time.monotonic() - began < 3


async def test_who_was_told_to_go_is_not_let_in_by_the_rest_of_a_batch(guarded, lines):
    stranger = lines(guarded)
    await stranger.client.send([request("runs.list", {}), request("session.auth", {"host_token": HUMAN}, 2)])
    await stranger.client.ended.wait()
    assert stranger.connection.level is Level.NOTHING


@pytest.mark.parametrize(
    "shown", [{"token": HUMAN}, {"host_token": TOKEN}, {"token": TOKEN, "host_token": TOKEN}, {"agent_id": TOKEN}]
)
async def test_a_token_in_the_wrong_place_is_none(guarded, lines, shown):
    stranger = lines(guarded)
    with pytest.raises(WireError, match="token mismatch"):
        await stranger.client.call("session.auth", shown)
    assert stranger.connection.level is Level.NOTHING


async def test_a_batch_cannot_follow_more_than_one_may(client, line):
    runs = [(await client.call("runs.start", {"intent": "x"}))["run_id"] for _ in range(70)]
    await client.send([request("runs.subscribe", {"run_id": run_id}, run_id) for run_id in runs])
    answers = await client.next_unclaimed()
    assert [each["error"]["code"] for each in answers if "error" in each] == [-32013] * 6
    # One that is followed already takes no further place, and one that was given up gives its place back.
    await client.call("runs.subscribe", {"run_id": runs[0]})
    with pytest.raises(WireError, match="64 runs are followed already"):
        await client.call("runs.subscribe", {"run_id": runs[-1]})
    await client.call("runs.unsubscribe", {"run_id": runs[0]})
    await client.call("runs.subscribe", {"run_id": runs[-1]})


async def test_who_unsubscribes_in_the_same_breath_hears_nothing(client):
    run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
    await client.send([request(f"runs.{each}subscribe", {"run_id": run_id}, each) for each in ("", "un")])
    _, ended = await client.next_unclaimed()
    assert ended["result"]["unsubscribed"] is True
    await client.call("runs.record_turns", {"run_id": run_id, "turns": [{}]})
    await client.call("runs.get_trace", {"run_id": run_id})
    assert client.told.empty()


async def test_subscribing_and_unsubscribing_without_end_leaves_nothing(client):
    run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
    pair = [request(f"runs.{each}subscribe", {"run_id": run_id}, each) for each in ("", "un")]
    await client.call("runs.subscribe", {"run_id": run_id})
    await client.call("runs.unsubscribe", {"run_id": run_id})
    before = len(asyncio.all_tasks())
    for _ in range(4):
        await client.send(pair * 100)
        await client.next_unclaimed()
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) <= before


async def test_a_session_begins_with_all_of_it_or_nothing(store, lines):
    rule = {"name": "ours", "rule": "deny_tool", "target": "shell"}
    async with Daemon(store, policies=[policy_from(rule, "")]) as daemon:
        client = lines(daemon).client
        with pytest.raises(WireError, match="'ours' is the repository's"):
            await client.call(
                "session.init",
                {"client_id": "c", "tools": [{"name": "t"}], "policies": [{**rule, "name": "mine"}, rule]},
            )
        assert (await client.call("tools.list"))["count"] == 0
        assert [each["name"] for each in (await client.call("policy.list"))["policies"]] == ["ours"]


def limited(calls: int) -> dict[str, object]:
    return {"name": "limit", "rule": "rate_limit_tool", "target": "t", "value": {"calls": calls, "secs": 3600}}


def calls_of(result: dict[str, object]) -> list[str]:
    return [each["status"] for each in result["results"]]


async def test_a_limit_of_the_repository_holds_over_all_connections_together(store, lines):
    async with Daemon(store, policies=[policy_from(limited(3), "")]) as daemon:
        clients = [lines(daemon).client for _ in range(5)]
        for client in clients:
            client.tools["t"] = lambda _: {}
            await client.call("tools.register", [{"name": "t"}])
        call = {"proposal": {"actions": [{"type": "tool_call", "tool": "t"}]}}
        results = await asyncio.gather(*(client.call("proposal.submit", call) for client in clients))
        assert (
            sorted(status for result in results for status in calls_of(result)) == ["rejected"] * 2 + ["succeeded"] * 3
        )
        assert sum(len(client.asked) for client in clients) == 3
        verified = await clients[0].call("verify", call)
        assert verified["issues"][0]["rule"] == "limit"


async def test_a_policy_that_comes_during_a_proposal_refuses_what_has_not_begun(client):
    """Once, however often it may be tried, and the trace says by which rule."""
    rule = {"name": "late", "rule": "deny_tool", "target": "second"}

    async def first(_: object) -> dict[str, object]:
        await client.call("policy.register", rule)
        return {}

    client.tools |= {"first": first, "second": lambda _: {}}
    await client.call("tools.register", [{"name": "first"}, {"name": "second"}])
    await client.call("policy.register", {**rule, "name": "other", "target": "other"})
    run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
    again = {"failure_behavior": "retry", "max_retries": 1000, "dependencies": ["1"]}
    actions = [
        {"id": "1", "type": "tool_call", "tool": "first"},
        {"id": "2", "type": "tool_call", "tool": "second", **again},
        {"id": "3", "type": "tool_call", "tool": "first", "dependencies": ["2"]},
    ]
    result = await client.call("proposal.submit", {"proposal": {"actions": actions}})
    assert calls_of(result) == ["succeeded", "rejected", "skipped"]
    assert result["results"][1]["error"] == "policy 'late': tool 'second' denied by policy"
    assert (result["cost"]["tool_calls"], result["cost"]["retries"], result["cost"]["actions_rejected"]) == (1, 0, 1)
    turns = (await client.call("runs.get_trace", {"run_id": run_id}))["records"][1:]
    assert [turn["policy_rejected"] for turn in turns] == [None, {"rule": "late", "param": None}, None]
    assert [each["params"]["tool"] for each in client.asked] == ["first"]


async def test_many_policies_and_actions_leave_room_for_others_on_the_loop(client):
    await client.call("tools.register", [{"name": "t"}])
    rule = {"rule": "deny_tool_param", "target": "t", "key": "c", "pattern": "zz"}
    await client.send([request("policy.register", {**rule, "name": f"p{each}"}, each) for each in range(300)])
    assert all("result" in each for each in await client.next_unclaimed())
    actions = [{"type": "tool_call", "tool": "t", "parameters": {"c": "x"}}] * 600
    waiting = asyncio.ensure_future(client.call("verify", {"proposal": {"actions": actions}}))
    longest, at = 0.0, time.perf_counter()
    while not waiting.done():
        await asyncio.sleep(0)
        longest, at = max(longest, time.perf_counter() - at), time.perf_counter()
    assert (await waiting)["valid"] is True
    assert longest < 0.25


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("proposal.submit", {"proposal": {"actions": [{"type": "tool_call"}] * 10_001}}, r"\$\.proposal\.actions"),
        ("verify", {"proposal": {"actions": [{"type": "tool_call"}] * 10_001}}, r"\$\.proposal\.actions"),
        ("runs.record_turns", {"run_id": "x", "turns": [{}] * 10_001}, r"\$\.turns"),
    ],
)
async def test_more_than_fits_into_one_request_is_refused_with_its_place(client, method, params, place):
    with pytest.raises(WireError, match=rf"invalid params: .*length <= 10000.* - at `{place}`"):
        await client.call(method, params)


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**63, 1.5, "1"])
async def test_a_time_that_is_none_is_refused_with_its_place(client, timeout_ms):
    action = {"type": "tool_call", "tool": "t", "timeout_ms": timeout_ms}
    with pytest.raises(WireError, match=r"invalid params: .*timeout_ms`"):
        await client.call("proposal.submit", {"proposal": {"actions": [action]}})


async def test_a_huge_time_is_one(client):
    client.tools["t"] = lambda _: 1
    await client.call("tools.register", [{"name": "t"}])
    action = {"type": "tool_call", "tool": "t", "timeout_ms": 2**53}
    assert calls_of(await client.call("proposal.submit", {"proposal": {"actions": [action]}})) == ["succeeded"]


async def test_a_trace_of_large_records_comes_in_answers_that_can_be_held(client):
    run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
    turns = [{"output": "x" * 1_000_000}] * 8
    for _ in range(5):
        await client.call("runs.record_turns", {"run_id": run_id, "turns": turns})
    cursor, sizes = 0, []
    while cursor < 41:
        trace = await client.call("runs.get_trace", {"run_id": run_id, "cursor": cursor})
        sizes.append(len(trace["records"]))
        cursor = trace["cursor"]
        assert trace["more"] is (cursor < 41)
    assert (len(sizes), sum(sizes)) == (2, 41)
    assert sizes[0] * 1_000_000 < 40_000_000
    snapshot = await client.call("runs.subscribe", {"run_id": run_id})
    assert snapshot["cursor"] == len(snapshot["turns_so_far"]) == sizes[0]
    assert [(await client.next_told())["params"]["cursor"] for _ in range(sizes[1])] == [*range(sizes[0] + 1, 42)]


async def test_a_retry_that_fails_at_once_tries_no_more_often_than_it_may(client):
    client.tools["t"] = lambda _: ToolError("no")
    await client.call("tools.register", [{"name": "t"}])
    action = {"type": "tool_call", "tool": "t", "failure_behavior": "retry", "max_retries": 50}
    result = await client.call("proposal.submit", {"proposal": {"actions": [action]}})
    assert (calls_of(result), result["cost"]["tool_calls"]) == (["failed"], 51)


async def test_a_thousand_who_come_and_go_leave_nothing_behind(daemon, store):
    async def visit() -> None:
        line = Line(daemon)
        await line.client.call("tools.register", [{"name": "t", "parameters": {"type": "object"}}])
        await line.client.call("state.set", {"key": "k", "value": "x" * 1000})
        await line.client.send(
            request("proposal.submit", {"proposal": {"actions": [{"type": "tool_call", "tool": "u"}]}})
        )
        await line.leave()

    await visit()
    gc.collect()
    tasks, files, objects = len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")), len(gc.get_objects())
    for _ in range(1000):
        await visit()
    gc.collect()
    assert (len(asyncio.all_tasks()), daemon.connections) == (tasks, 0)
    assert len(os.listdir("/proc/self/fd")) < files + 20
    assert len(gc.get_objects()) < objects + 2000
