"""What ends the native agent before its model says that it is done."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from trueup.core.errors import Kind
from trueup.harness import ToolCall
from trueup.native import Limits
from trueup.testing import Fault, ScriptedModel, Text, Tokens, Tool


def busy(request):
    """A model that always finds something new to do."""
    return Tool.shell(f"echo {request.answers_so_far}")


async def test_turns_are_limited(desk):
    async with ScriptedModel(busy) as model:
        outcome = await desk.work(model, limits=Limits(turns=3))
        assert len(model.asked) == 3
    assert (outcome.ok, outcome.turns, outcome.failure_kind) == (False, 3, Kind.QUOTA)
    assert outcome.error == "the model was not done after 3 turns, which is the limit; raise it"


async def test_tokens_are_limited(desk):
    async with ScriptedModel(busy, usage=Tokens(input=90, output=10)) as model:
        outcome = await desk.work(model, limits=Limits(tokens=250))
    assert (outcome.ok, outcome.turns, outcome.usage.input_tokens) == (False, 3, 270)
    assert "300 tokens of the 250" in outcome.error


async def test_dollars_are_limited_by_what_they_are_estimated_to_be(desk):
    async with ScriptedModel(busy, usage=Tokens(input=100_000, output=10_000, cache_read=0)) as model:
        outcome = await desk.work(model, limits=Limits(usd=1.0))
    assert not outcome.ok
    assert outcome.usage.estimated_cost_usd >= 1.0
    assert outcome.usage.estimated_cost_usd * (outcome.turns - 1) / outcome.turns < 1.0


async def test_a_limit_that_nobody_can_keep_ends_the_work(desk):
    async with ScriptedModel(busy) as model:
        outcome = await desk.work(model, wire="chat", limits=Limits(usd=1.0))
    assert (outcome.ok, outcome.turns) == (False, 1)
    assert "is not known" in outcome.error


async def test_a_model_that_is_done_within_its_last_turn_is_done(desk):
    async with ScriptedModel([Tool.shell("true"), "Done."]) as model:
        outcome = await desk.work(model, limits=Limits(turns=2, tokens=1))
        assert not outcome.ok
    async with ScriptedModel([Tool.shell("true"), "Done."]) as model:
        outcome = await desk.work(model, limits=Limits(turns=2))
        assert outcome.ok


async def test_the_same_call_with_the_same_result_three_times_is_no_progress(desk):
    async with ScriptedModel(lambda _: Tool.shell("cat calc.py")) as model:
        outcome = await desk.work(model)
        assert len(model.asked) == 3
        first, second = model.asked[-1].tool_results
        assert "gave the same result before" not in first
        assert second == f"{first}\n[the same call gave the same result before; try something else]"
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.OTHER)
    assert "same calls (shell) with the same results 3 times" in outcome.error


async def test_going_round_in_a_circle_of_several_calls_is_no_progress(desk):
    circle = [Tool.read("calc.py"), Tool("search", {"pattern": "add"}), Tool.shell("ls")]
    async with ScriptedModel(lambda request: circle[request.answers_so_far % 3]) as model:
        outcome = await desk.work(model)
    assert (outcome.ok, outcome.turns) == (False, 9)


async def test_the_same_failing_check_between_new_attempts_is_progress(desk):
    attempts = [
        part for number in range(5) for part in (Tool.write("try.txt", str(number)), Tool.shell("echo red; false"))
    ]
    async with ScriptedModel([*attempts, "I give up."]) as model:
        outcome = await desk.work(model)
    assert (outcome.ok, outcome.turns) == (True, 11)


async def test_the_same_call_with_another_result_each_time_is_progress(desk):
    count = Tool.shell("echo x >>count; wc -l <count")
    async with ScriptedModel([count, count, count, count, "Done."]) as model:
        outcome = await desk.work(model)
    assert outcome.ok


async def test_answers_that_are_always_cut_end_the_work(desk):
    async with ScriptedModel([Fault("max_tokens")]) as model:
        outcome = await desk.work(model)
        assert len(model.asked) == 3
    assert (outcome.ok, outcome.text) == (False, "This answer is cut")
    assert "3 answers in a row were cut" in outcome.error


async def test_a_stopped_conversation_can_be_gone_on_with(desk):
    async with ScriptedModel(busy) as model:
        stopped = await desk.work(model, limits=Limits(turns=2))
    async with ScriptedModel(["Done."]) as model:
        outcome = await desk.work(model, prompt="finish it", history=stopped.history)
        assert model.asked[0].tool_results == ["0\n", "1\n"]
        assert model.asked[0].prompt == "finish it"
    assert outcome.ok


@pytest.mark.parametrize("wire", ["anthropic", "responses"])
async def test_cancelling_ends_a_running_tool_with_all_its_children(desk, wire):
    nap = "setsid -f sleep 314.15 & sleep 314.16 & echo $$ >started; sleep 314.17"
    async with ScriptedModel([[Text("I wait."), Tool.shell(nap)], "Done."]) as model:
        working = asyncio.create_task(desk.work(model, wire=wire))
        started = desk.folder / "started"
        for _ in range(1000):
            if started.exists() and started.read_text() and len(sleeping("314.1")) == 3:
                break
            await asyncio.sleep(0.02)
        assert len(sleeping("314.1")) == 3
        before = time.monotonic()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert sleeping("314.1") == []
        assert time.monotonic() - before < 5
    assert len(desk.heard(ToolCall)) == 1


async def test_cancelling_ends_the_call_of_a_model_that_hangs(desk):
    async with ScriptedModel([Fault("hang")]) as model:
        working = asyncio.create_task(desk.work(model))
        await model.wait_for(1)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working


def sleeping(secs: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and words[1].startswith(secs.encode()):
            found.append(folder.name)
    return found
