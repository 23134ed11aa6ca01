"""Old tool output is folded when the conversation grows, and the conversation goes on."""

from __future__ import annotations

import pytest

from trueup.core.errors import Kind
from trueup.native import FOLD_ABOVE_CHARS
from trueup.testing import Fault, ScriptedModel, Text, Thinking, Tool

every_wire = pytest.mark.parametrize("wire", ["anthropic", "chat", "responses"])


def much(number: int) -> Tool:
    return Tool.shell(f"echo call {number}; seq 1 3500")


@every_wire
async def test_old_output_is_folded_and_the_newest_is_not(desk, wire):
    script = [[Thinking("hm"), Text(f"Turn {number}."), much(number)] for number in range(30)]
    async with ScriptedModel([*script, "Done."]) as model:
        outcome = await desk.work(model, wire=wire)
        told = model.asked[-1].tool_results
        largest = max(sum(map(len, request.tool_results)) for request in model.asked)
    assert (outcome.ok, outcome.turns) == (True, 31)
    assert told[0].startswith("call 0\n1\n2\n")
    assert "[... folded:" in told[0]
    assert len(told[0]) < 400
    assert all(f"call {number}\n" in told[number] for number in range(30))
    assert all(text.endswith("3499\n3500\n") for text in told[-6:])
    assert largest < FOLD_ABOVE_CHARS + 25_000


async def test_a_turn_after_a_folded_one_goes_without_the_vendors_seal(desk):
    script = [[Thinking("hm"), Text(f"Turn {number}."), much(number)] for number in range(30)]
    async with ScriptedModel([*script, "Done."]) as model:
        await desk.work(model)
        first, last = ([*_contents(request)] for request in (model.asked[2], model.asked[-1]))
    assert any(block["type"] == "thinking" for content in first for block in content)
    folded = next(number for number, content in enumerate(last) if "[... folded:" in str(content))
    unfolded = len(last) - 1 - next(n for n, content in enumerate(reversed(last)) if "[... folded:" in str(content))
    between = [block["type"] for content in last[folded:unfolded] for block in content]
    assert "thinking" not in between
    assert "tool_use" in between


async def test_short_output_stays_as_it_is(desk):
    script = [Tool.shell("echo short"), *(much(number) for number in range(20)), "Done."]
    async with ScriptedModel(script) as model:
        await desk.work(model)
        assert model.asked[-1].tool_results[0] == "short\n"
        assert "[... folded:" in model.asked[-1].tool_results[1]


async def test_a_window_that_is_too_small_is_met_by_folding_more(desk):
    full = Fault(400, message="prompt is too long: 210000 tokens > 200000 maximum")
    async with ScriptedModel([much(1), much(2), much(3), full, "Done."]) as model:
        outcome = await desk.work(model)
        folded = ["[... folded:" in text for text in model.asked[-1].tool_results]
    assert outcome.ok
    assert folded == [True, True, False]


async def test_a_window_that_is_too_small_for_anything_is_a_failure(desk):
    async with ScriptedModel([Fault(400, message="prompt is too long: 210000 tokens > 200000 maximum")]) as model:
        outcome = await desk.work(model)
        assert len(model.asked) == 1
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.CONTEXT_LENGTH)


def _contents(request):
    for message in request.body["messages"]:
        content = message["content"]
        yield content if isinstance(content, list) else [{"type": "text", "text": content}]
