"""Order and concurrency: what waits for what, and what runs together."""

import asyncio

import pytest

from trueup.daemon._proposals import submit


def call(id_, tool="work", **more):
    return {"id": id_, "type": "tool_call", "tool": tool, **more}


def write(id_, key, value, **more):
    return {"id": id_, "type": "state_write", "parameters": {"key": key, "value": value}, **more}


def read(id_, key, **more):
    return {"id": id_, "type": "state_read", "parameters": {"key": key}, **more}


def called(ground):
    return [one.action_id for one in ground.calls]


async def test_independent_actions_run_at_the_same_time(ground, submitted, statuses):
    together = asyncio.Barrier(8)

    async def meet(_call):
        await together.wait()
        return "met"

    ground.tool("work", meet)
    result = await submitted(*(call(f"a{n}") for n in range(8)))
    assert set(statuses(result).values()) == {"succeeded"}


async def test_no_more_run_at_once_than_a_client_can_take(ground, submitted):
    running, most = 0, 0

    async def count(_call):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    ground.tool("work", count)
    result = await submitted(*(call(f"a{n}") for n in range(200)))
    assert most == 32
    assert result.cost.tool_calls == 200


async def test_results_come_in_the_order_of_the_actions_whoever_ends_first(ground, submitted):
    second_is_over = asyncio.Event()

    async def work(the_call):
        if the_call.action_id == "slow":
            await second_is_over.wait()
        else:
            second_is_over.set()

    ground.tool("work", work)
    result = await submitted(call("slow"), call("quick"))
    assert [one.action_id for one in result.results] == ["slow", "quick"]


async def test_an_action_waits_for_those_it_depends_on(ground, submitted):
    ground.tool("work")
    await submitted(call("c", dependencies=["b"]), call("b", dependencies=["a"]), call("a"))
    assert called(ground) == ["a", "b", "c"]


async def test_a_consumer_listed_before_its_producer_runs_after_it(ground, submitted, statuses):
    ground.tool("work")
    result = await submitted(call("consumer", state_dependencies=["k"]), call("producer", expected_effects={"k": 1}))
    assert called(ground) == ["producer", "consumer"]
    assert set(statuses(result).values()) == {"succeeded"}


async def test_a_consumer_waits_for_the_nearest_producer_before_it(ground, submitted):
    result = await submitted(
        write("one", "k", 1), write("two", "k", 2), read("r", "k", state_dependencies=["k"]), write("three", "k", 3)
    )
    assert result.results[2].output == 2
    assert ground.state == {"k": 3}


async def test_a_key_that_is_there_is_not_waited_for(ground, submitted):
    ground.state["k"] = "before"
    result = await submitted(read("r", "k", state_dependencies=["k"]), write("w", "k", "after"))
    assert result.results[0].output == "before"


async def test_who_writes_waits_for_those_listed_before_that_read(ground, submitted):
    read_is_over = asyncio.Event()
    seen = []

    async def work(the_call):
        if the_call.action_id == "reader":
            await asyncio.sleep(0)
            seen.append(ground.state["k"])
            read_is_over.set()
        else:
            assert read_is_over.is_set()

    ground.state["k"] = 1
    ground.tool("work", work)
    await submitted(call("reader", state_dependencies=["k"]), call("writer", expected_effects={"k": 2}))
    assert seen == [1]
    assert ground.state == {"k": 2}


async def test_what_is_declared_goes_before_the_order_of_the_list(ground, submitted):
    ground.state["k"] = "old"
    result = await submitted(write("w", "k", "new", dependencies=["r"]), read("r", "k"))
    assert result.results[1].output == "old"
    assert ground.state == {"k": "new"}


async def test_what_needs_an_action_that_failed_is_skipped_and_the_others_go_on(ground, submitted, statuses):
    async def fail(_call):
        return {"error": "no"}

    ground.tool("fail", fail)
    ground.tool("work")
    result = await submitted(
        call("a", "fail", failure_behavior="skip"),
        call("b", dependencies=["a"]),
        call("c", dependencies=["b"]),
        call("d"),
    )
    assert statuses(result) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "succeeded"}
    assert result.results[1].error == "skipped: dependency 'a' failed"
    assert result.results[2].error == "skipped: dependency 'b' was skipped"


async def test_a_key_that_its_producer_did_not_bring_skips_the_consumer(ground, submitted, statuses):
    async def fail(_call):
        return {"error": "no"}

    ground.tool("fail", fail)
    ground.tool("work")
    result = await submitted(
        call("p", "fail", expected_effects={"k": 1}, failure_behavior="skip"), call("c", state_dependencies=["k"])
    )
    assert statuses(result) == {"p": "failed", "c": "skipped"}
    assert result.results[1].error == "skipped: state dependency 'k' not found"


@pytest.mark.parametrize("linked", [True, False], ids=["a deep chain", "all independent"])
async def test_ten_thousand_actions(ground, submitted, linked):
    ground.tool("work")
    count = 10_000
    before = [[f"a{n - 1}"] if linked and n else [] for n in range(count)]
    result = await submitted(*(call(f"a{n}", dependencies=before[n]) for n in range(count)))
    assert result.cost.actions_executed == count
    assert len(ground.turns) == count
    if linked:
        assert called(ground) == [f"a{n}" for n in range(count)]


async def test_thousands_of_state_actions_leave_room_for_others_on_the_loop(ground, propose):
    turns_of_others = 0

    async def others():
        nonlocal turns_of_others
        while True:
            turns_of_others += 1
            await asyncio.sleep(0)

    proposal = propose(*(write(f"w{n}", "k", n) for n in range(5_000)))
    beside = asyncio.create_task(others())
    await submit(proposal, ground)
    beside.cancel()
    assert ground.state == {"k": 4_999}
    assert turns_of_others > 40
