"""What pages read of runs: little of large records, sums of what was used, and any part of the list."""

from __future__ import annotations

import pytest

from trueup.core.errors import InfrastructureError
from trueup.core.usage import Usage
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, Started, StoredRecord, Totals, Turn, as_step
from trueup.runs._writes import describe


async def test_what_is_small_is_outlined_as_it_is(store):
    run = await store.start(Started("x"))
    await store.append(
        run.run_id, [Turn(output="fine"), ModelTurn(assistant_text="\udcff"), CheckRecord({"passed": True})]
    )
    await store.end(run.run_id, Ended("completed"))
    outlined = await store.outline(run.run_id)
    assert [each.stored for each in outlined] == await store.trace(run.run_id)
    assert {each.left_out for each in outlined} == {0}
    assert [each.stored.seq for each in await store.outline(run.run_id, after=1, limit=2)] == [2, 3]


@pytest.mark.parametrize(
    "text", ["x" * 3_000_000, 'a"\\\n' * 100_000, "é☃😀" * 50_000, "\udcff" * 20_000, "\0" * 20_000]
)
async def test_a_large_text_is_cut(store, text):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(tool="bash", parameters={"n": 1}, output={"stdout": text, "code": 0})])
    [outlined] = await store.outline(run.run_id, after=0)
    turn = outlined.stored.record
    assert (turn.tool, turn.index, turn.parameters, turn.output["code"]) == ("bash", 0, {"n": 1}, 0)
    shown = turn.output["stdout"]
    assert shown[-1] == "…"
    assert text.startswith(shown[:-1])
    assert 1000 < len(shown) < 3000
    assert outlined.left_out >= 16 << 10


async def test_a_record_of_many_small_parts_is_whole_unless_it_is_very_large(store):
    run = await store.start(Started("x"))
    some = {f"k{number}": "v" for number in range(5_000)}
    many = {f"k{number}": "v" * 50 for number in range(30_000)}
    await store.append(run.run_id, [Turn(parameters=some), Turn(parameters=many), EventRecord("note", many)])
    whole, turn, event = await store.outline(run.run_id, after=0)
    assert (whole.stored.record.parameters, whole.left_out) == (some, 0)
    assert (turn.stored.record.index, turn.stored.record.parameters) == (1, {})
    assert turn.left_out > 1_000_000
    assert (event.stored.record.type, event.stored.record.data) == ("note", {})


async def test_a_payload_that_is_gone_is_said_to_be(store, sql):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(output="x" * 100_000)])
    sql("UPDATE payloads SET content = ?", b"no longer")
    [altered] = await store.outline(run.run_id, after=0)
    assert "altered" in altered.stored.record.output
    sql("UPDATE records SET body = '{}' WHERE seq = 1")
    with pytest.raises(InfrastructureError, match="record 1 of run .* cannot be read"):
        await store.outline(run.run_id, after=0)


USED = [
    Usage(input_tokens=3, output_tokens=1, cost_usd=0.5),
    None,
    Usage(input_tokens=4, estimated_tokens=7),
    Usage(input_tokens=1, output_tokens=2, cost_usd=0.25, incomplete=True),
]


@pytest.mark.parametrize("used", [USED[:1], USED[:1] * 3, USED, USED[1:2], USED[2:3] * 2, USED[3:]])
async def test_a_sum_is_what_the_turns_add_up_to(store, used):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [ModelTurn(token_usage=each) for each in used])
    totals = Totals()
    for stored in await store.trace(run.run_id):
        totals.add(stored)
    assert await store.usage(run.run_id, until=len(used)) == totals.usage


async def test_a_sum_is_of_a_part_and_reads_every_kind_of_record(store):
    run = await store.start(Started("x"))
    used = Usage(cost_usd=1.0)
    calls = [{"name": f"tool{number}"} for number in range(3_000)]
    await store.append(
        run.run_id,
        [
            ModelTurn(token_usage=used),
            Turn(),
            ModelTurn(assistant_text="\udcff", token_usage=used),
            ModelTurn(assistant_text="x" * 100_000, token_usage=used),
            ModelTurn(requested_tool_calls=calls, token_usage=used),
        ],
    )
    assert (await store.usage(run.run_id, until=5)).cost_usd == 4.0
    assert (await store.usage(run.run_id, after=1, until=4)).cost_usd == 2.0
    assert await store.usage(run.run_id, after=1, until=2) is None


async def test_runs_are_listed_by_status_and_from_any_place(store):
    runs = [await store.start(Started(f"run {number}")) for number in range(5)]
    await store.end(runs[2].run_id, Ended("cancelled"))
    assert [run.run_id for run in await store.list(status="cancelled")] == [runs[2].run_id]
    older = await store.list(before=runs[3].place, limit=2)
    assert [run.run_id for run in older] == [runs[2].run_id, runs[1].run_id]
    assert await store.list(before=runs[0].place) == []


async def test_kinds_and_agents_are_there_to_choose_from(store):
    assert await store.kinds_and_agents() == ([], {})
    await store.start(Started("x", agent_id="b", agent_name="Bob"), kind="code")
    await store.start(Started("x", agent_id="a"))
    await store.start(Started("x"))
    assert await store.kinds_and_agents() == (["code", "run"], {"a": "a", "b": "Bob"})
    assert await store.kinds_and_agents(most=1) == (["run"], {})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"text": "hello"}, ("", "", "plain", "hello")),
        ({"name": "bash", "input": {"command": "ls"}, "id": "1"}, ("bash", "", "plain", '{"command":"ls"}')),
        ({"ok": False, "output": "boom"}, ("", "failed", "amber", "boom")),
        ({"tool": "rm", "allowed": False, "reason": "no"}, ("rm", "refused", "refused", "no")),
        ({"tool": "ls", "allowed": True, "reason": ""}, ("ls", "allowed", "plain", "")),
        ({"label": "polite", "passed": False, "reason": "rude"}, ("polite", "failed", "amber", "rude")),
        ({"verdict": {"outcome": "verified", "reasons": []}}, ("", "verified", "good", "")),
        ({"verdict": {"outcome": "refused", "reasons": ["a", "b"]}}, ("", "refused", "refused", "a\nb")),
        ({"state": "failed", "previous": "working", "message": "why"}, ("", "failed", "plain", "why")),
        ({"anything": 1}, ("", "", "plain", '{"anything":1}')),
        ({}, ("", "", "plain", "")),
    ],
)
def test_an_event_says_what_is_worth_a_glance(data, told):
    run = describe("r", "run", Started("x"), "2026-01-01T00:00:00.000000Z")
    step = as_step(StoredRecord(1, run.started_at, EventRecord("x", data), "", ""), run)
    assert (step.who, step.outcome, step.tone, step.said) == told
