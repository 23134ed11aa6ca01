"""The same short story on every wire, told by the scripted model that users have too."""

from __future__ import annotations

import asyncio

import pytest
from vendor_bodies import HELLO

from trueup.core.errors import Kind
from trueup.model import Access, Message, ModelError, Request, Tool, ToolOutput, chat
from trueup.testing import Fault, ScriptedModel, Text
from trueup.testing import Tool as Calls

WIRES = {
    "anthropic": "claude-opus-5-5@{url}",
    "chat": "openai-compatible:scripted-model@{url}/v1",
    "responses": "gpt-6.1-sol@{url}/v1",
}
LOOK = Tool("look", "Look at something.", {"type": "object", "properties": {"at": {"type": "string"}}})

every_wire = pytest.mark.parametrize("name", WIRES.values(), ids=WIRES)


@every_wire
async def test_a_tool_is_asked_for_and_its_result_leads_to_an_answer(name):
    async with ScriptedModel([[Text("I look."), Calls("look", {"at": "it"})], "It is good."]) as model:
        request = Request(model=name.format(url=model.url), messages=HELLO, tools=[LOOK])
        first = await chat(request)
        result = Message(tool_results=[ToolOutput(first.tool_calls[0].id, "a thing")])
        turns = [*HELLO, first.message, result]
        second = await chat(Request(model=request.model, messages=turns, tools=[LOOK]))
        assert (first.text, first.stop_reason, first.tool_calls[0].input) == ("I look.", "tool_use", {"at": "it"})
        assert (second.text, second.stop_reason, second.tool_calls) == ("It is good.", "end_turn", [])
        assert model.asked[1].tool_results == ["a thing"]


@every_wire
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (401, Kind.AUTH),
        (403, Kind.AUTH),
        (429, Kind.RATE_LIMIT),
        (500, Kind.OVERLOADED),
        (529, Kind.OVERLOADED),
        ("hang", Kind.TIMEOUT),
        ("garbage", Kind.PROTOCOL),
        ("empty", Kind.PROTOCOL),
        ("refusal", Kind.REFUSED),
    ],
)
async def test_a_fault_has_the_same_kind_everywhere(name, fault, kind):
    async with ScriptedModel([Fault(fault)]) as model:
        request = Request(model=name.format(url=model.url), messages=HELLO, tools=[LOOK])
        with pytest.raises(ModelError) as raised:
            await chat(request, Access(timeout_secs=1 if fault == "hang" else 30, retry_delays_secs=()))
        assert raised.value.kind is kind


@every_wire
async def test_a_few_failures_and_then_success_is_success(name):
    async with ScriptedModel([Fault(429, times=2, retry_after=0), "after all"]) as model:
        answer = await chat(Request(model=name.format(url=model.url), messages=HELLO, tools=[LOOK]))
        assert answer.text == "after all"
        assert len(model.asked) == 3


@every_wire
async def test_an_answer_that_is_cancelled_leaves_nothing_behind(name):
    async with ScriptedModel([Fault("hang")]) as model:
        asking = asyncio.create_task(chat(Request(model=name.format(url=model.url), messages=HELLO, tools=[LOOK])))
        await model.wait_for(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
