"""Failures: abort, skip and retry, time-outs, errors in outputs, what is undone, and a client that goes."""

import asyncio

import pytest

from trueup.core.errors import InfrastructureError
from trueup.core.protocols import Decision
from trueup.daemon._proposals import ToolAnswer, ToolCall, submit


def call(id_, tool="work", **more):
    return {"id": id_, "type": "tool_call", "tool": tool, **more}


def write(id_, key, value, **more):
    return {"id": id_, "type": "state_write", "parameters": {"key": key, "value": value}, **more}


def answering(*answers):
    """A tool that gives these answers one after the other."""
    left = [*answers]

    async def answer(_call):
        return left.pop(0)

    return answer


async def test_a_failed_action_aborts_what_has_not_begun(ground, submitted, statuses):
    ground.tool("fail", answering(ToolAnswer(error="no")))
    ground.tool("work")
    result = await submitted(call("b", "fail"), call("c", dependencies=["b"]), call("d", dependencies=["c"]))
    assert [one.error for one in result.results] == ["no", "skipped due to abort", "skipped due to abort"]
    assert result.cost.actions_skipped == 2


async def test_what_is_under_way_when_another_fails_is_finished(ground, submitted, statuses):
    has_failed = asyncio.Event()

    async def fail(_call):
        has_failed.set()
        return {"error": "no"}

    async def outlast(_call):
        await has_failed.wait()
        await asyncio.sleep(0)
        return "done"

    ground.tool("fail", fail)
    ground.tool("work", outlast)
    result = await submitted(call("long"), call("short", "fail"), call("after", dependencies=["long"]))
    assert statuses(result) == {"long": "succeeded", "short": "failed", "after": "skipped"}
    assert result.results[0].output == "done"


async def test_a_refused_action_stops_those_that_come_later(ground, submitted, statuses):
    ground.tool("work")
    result = await submitted(call("a"), call("b", "nope"), call("c"), write("d", "k", 1))
    assert statuses(result) == {"a": "succeeded", "b": "rejected", "c": "skipped", "d": "skipped"}
    assert result.results[2].error == "skipped due to abort"
    assert [one.action_id for one in ground.calls] == ["a"]


async def test_a_refused_action_under_skip_stops_nothing_but_what_needs_it(ground, submitted, statuses):
    ground.tool("work")
    result = await submitted(call("a", "nope", failure_behavior="skip"), call("b"), call("c", dependencies=["a"]))
    assert statuses(result) == {"a": "rejected", "b": "succeeded", "c": "skipped"}
    assert result.results[2].error == "skipped: dependency 'a' was rejected"


async def test_a_retry_counts_its_attempts_and_ends_with_the_first_success(ground, submitted):
    ground.tool("work", answering(ToolAnswer(error="busy"), {"error": "busy"}, "done"))
    result = await submitted(call("a", failure_behavior="retry", max_retries=5))
    assert [one.attempt for one in ground.calls] == [1, 2, 3]
    assert (result.results[0].status, result.results[0].output) == ("succeeded", "done")
    assert (result.cost.tool_calls, result.cost.retries, result.cost.actions_executed) == (3, 2, 1)
    assert len(ground.turns) == 1


@pytest.mark.parametrize(("given", "attempts"), [({}, 4), ({"max_retries": 0}, 1), ({"max_retries": 1}, 2)])
async def test_a_retry_that_never_succeeds_aborts(ground, submitted, given, attempts):
    ground.tool("work", answering(*[ToolAnswer(error="busy")] * attempts))
    result = await submitted(call("a", failure_behavior="retry", **given), write("b", "k", 1, dependencies=["a"]))
    assert [one.attempt for one in ground.calls] == [*range(1, attempts + 1)]
    assert [one.error for one in result.results] == ["busy", "skipped due to abort"]


async def test_without_retry_max_retries_means_nothing(ground, submitted):
    ground.tool("work", answering(ToolAnswer(error="busy")))
    await submitted(call("a", max_retries=5))
    assert len(ground.calls) == 1


async def test_a_terminal_error_is_never_tried_again(ground, submitted):
    ground.tool("work", answering(ToolAnswer(error="gone for good", terminal=True)))
    result = await submitted(call("a", failure_behavior="retry", idempotent=True))
    assert len(ground.calls) == 1
    assert (result.results[0].terminal, result.results[0].error) == (True, "gone for good")


@pytest.mark.parametrize(("idempotent", "attempts"), [(False, 1), (True, 3)])
async def test_a_call_out_of_time_is_stopped_and_repeated_only_where_that_is_safe(
    ground, submitted, idempotent, attempts
):
    async def hang(_call):
        await asyncio.Event().wait()

    ground.tool("work", hang)
    action = call("a", timeout_ms=1, failure_behavior="retry", max_retries=2, idempotent=idempotent)
    result = await submitted(action)
    assert len(ground.calls) == attempts
    assert ground.stopped == [("a", "timeout")] * attempts
    assert (result.results[0].status, result.results[0].error) == ("failed", "timed out after 1 ms")


def test_the_wait_is_the_actions_time_and_a_grace_else_five_minutes():
    assert ToolCall("a", "t", {}, 50).wait_secs == 2.05
    assert ToolCall("a", "t", {}).wait_secs == 300


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ({"error": "no such file"}, "no such file"),
        ({"error": {"code": 1, "message": "no such file"}}, "no such file"),
        ({"error": {"code": 1}}, '{"code":1}'),
        ({"isError": True, "content": [{"type": "text", "text": "no such file"}]}, "no such file"),
        ({"isError": True}, "the tool says that it failed"),
    ],
)
async def test_an_output_that_says_error_is_a_failure_and_kept_as_it_is(ground, submitted, output, error):
    ground.tool("work", answering(output))
    result = await submitted(call("a", expected_effects={"k": 1}))
    assert (result.results[0].status, result.results[0].error) == ("failed", error)
    assert result.results[0].output == output
    assert ground.turns[0].output == output
    assert ground.state == {}


@pytest.mark.parametrize(
    "output", [{"error": None}, {"error": ""}, {"isError": False}, {"errors": ["x"]}, "error", None]
)
async def test_an_output_without_an_error_is_a_success(ground, submitted, output):
    ground.tool("work", answering(output))
    result = await submitted(call("a"))
    assert (result.results[0].status, result.results[0].output) == ("succeeded", output)


async def test_a_client_that_cannot_be_asked_is_a_failed_action(ground, submitted):
    async def gone(_call):
        raise InfrastructureError("the client went away")

    ground.tool("work", gone)
    result = await submitted(call("a"))
    assert (result.results[0].status, result.results[0].error) == ("failed", "the client went away")


async def test_an_abort_leaves_the_state_as_it_was(ground, submitted):
    ground.state |= {"old": 1, "same": 1}
    ground.tool("fail", answering({"error": "no"}))
    ground.tool("work")
    result = await submitted(
        write("a", "old", 2),
        write("b", "old", 3),
        call("c", expected_effects={"new": 1}),
        call("d", "fail", dependencies=["a", "b", "c"]),
    )
    assert ground.state == {"old": 1, "same": 1}
    assert [one.rolled_back for one in result.results] == [True, True, True, False]
    assert result.results[2].state_changes["new"].value == 1


async def test_a_refusal_that_aborts_leaves_the_state_as_it_was(ground, submitted):
    result = await submitted(write("a", "k", 1), call("b", "nope"))
    assert ground.state == {}
    assert result.results[0].rolled_back


async def test_what_somebody_else_wrote_meanwhile_is_not_undone(ground, submitted):
    theirs = ["theirs"]

    async def fail(_call):
        ground.state["k"] = theirs
        return {"error": "no"}

    ground.tool("fail", fail)
    await submitted(write("a", "k", ["mine"]), call("b", "fail", dependencies=["a"]))
    assert ground.state == {"k": theirs}


async def test_a_failure_under_skip_undoes_nothing(ground, submitted):
    ground.tool("fail", answering({"error": "no"}))
    result = await submitted(write("a", "k", 1), call("b", "fail", failure_behavior="skip"))
    assert ground.state == {"k": 1}
    assert not result.results[0].rolled_back


async def test_a_submit_that_is_cancelled_ends_its_own_calls_and_leaves_its_turns(ground, propose):
    hanging, other_may_end = asyncio.Event(), asyncio.Event()

    async def hang(_call):
        hanging.set()
        await asyncio.Event().wait()

    async def wait(_call):
        await other_may_end.wait()
        return "done"

    ground.tool("hang", hang)
    ground.tool("wait", wait)
    ground.tool("work")
    doomed = propose(
        write("a", "k", 1), call("b", dependencies=["a"]), call("c", "hang", dependencies=["b"]), call("d", "wait")
    )
    mine = asyncio.create_task(submit(doomed, ground))
    other = asyncio.create_task(submit(propose(call("other", "wait")), ground))
    await hanging.wait()
    mine.cancel()
    with pytest.raises(asyncio.CancelledError):
        await mine
    assert sorted(ground.stopped) == [("c", "cancelled"), ("d", "cancelled")]
    assert sorted(turn.tool or "-" for turn in ground.turns) == ["-", "hang", "wait", "work"]
    assert ground.state == {}
    other_may_end.set()
    assert (await other).results[0].status == "succeeded"


async def test_a_cancel_that_comes_while_turns_are_written_loses_none(new_ground, propose):
    writing, disk_is_ready = asyncio.Event(), asyncio.Event()

    class SlowDisk(new_ground):
        async def record(self, turns):
            writing.set()
            await disk_is_ready.wait()
            await super().record(turns)

    ground = SlowDisk()
    ground.tool("work")
    task = asyncio.create_task(submit(propose(call("a"), call("b")), ground))
    await writing.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    disk_is_ready.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(ground.turns) == 2


@pytest.mark.parametrize("before", [["a"], []], ids=["after it", "beside it"])
async def test_turns_are_recorded_while_another_action_hangs(ground, propose, before):
    hanging = asyncio.Event()

    async def hang(_call):
        hanging.set()
        await asyncio.Event().wait()

    ground.tool("hang", hang)
    ground.tool("work")
    task = asyncio.create_task(submit(propose(call("a"), call("b", "hang", dependencies=before)), ground))
    await hanging.wait()
    async with asyncio.timeout(5):
        while not ground.turns:
            await asyncio.sleep(0)
    assert ground.turns[0].output == {"did": "a"}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_proposal_of_many_actions_is_few_appends(ground, submitted):
    ground.tool("work")
    await submitted(*(call(f"a{n}") for n in range(320)))
    assert len(ground.turns) == 320
    assert len(ground.appends) < 100


async def test_a_turn_that_cannot_be_recorded_fails_the_submit(new_ground, propose):
    class FullDisk(new_ground):
        async def record(self, turns):
            raise InfrastructureError("the disk is full")

    ground = FullDisk()
    ground.tool("work")
    actions = [call(f"a{n}", dependencies=[f"a{n - 1}"] if n else []) for n in range(10)]
    with pytest.raises(InfrastructureError, match="the disk is full"):
        await submit(propose(*actions), ground)
    assert len(ground.calls) < 10


async def test_a_policy_sees_the_state_that_the_proposal_finds(ground, submitted, statuses):
    def approved(_action, state):
        return None if "approved" in state else Decision(False, "needs-approval", None, "policy 'needs-approval': no")

    ground.rules.append(approved)
    ground.tool("work")
    assert (
        statuses(await submitted(write("a", "approved", True), call("b", state_dependencies=["approved"])))["b"]
        == "rejected"
    )
    ground.state["approved"] = True
    assert statuses(await submitted(call("b")))["b"] == "succeeded"
