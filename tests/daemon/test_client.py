"""The typed client, against a real daemon over a real socket."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from trueup.core.errors import InputError, Kind, TrueupError
from trueup.daemon import (
    ActionError,
    AssertionAction,
    Code,
    Expectation,
    KeyAndValue,
    Proposal,
    RequestedToolCall,
    RpcError,
    RunTurn,
    StateWriteAction,
    TokenUsage,
    ToolCallAction,
    ToolError,
    connect,
)
from trueup.runs import Ended, ModelTurn

PATIENCE_SECS = 20


@pytest.fixture
async def client(front):
    async with connect(front.url, agent_id="ada") as client:
        yield client


def calls(*tools: str, **more) -> Proposal:
    return Proposal(actions=[ToolCallAction(id=name, tool=name, **more) for name in tools])


class Place(Struct):
    """Somewhere."""

    city: str
    zip_code: int = 0


async def test_a_function_is_a_tool_by_its_name_docstring_and_annotations(client):
    @client.tool
    def find(
        place: Place,
        limit: Annotated[int, Meta(ge=1, description="How many.")] = 3,
        tags: list[str] = ["a"],  # noqa: B006
    ) -> list[str]:
        """Find something.

        Wherever it is.
        """
        return [type(place).__name__, place.city, limit, *tags]

    (listed,) = await client.tools()
    assert (listed.name, listed.description) == ("find", "Find something.\n\nWherever it is.")
    schema = listed.parameters
    assert schema["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many.",
        "default": 3,
    }
    assert (schema["required"], schema["additionalProperties"]) == (["place"], False)
    assert schema["$defs"]["Place"]["required"] == ["city"]
    async with client.run("look") as run:
        assert await run.call("find", place={"city": "Ulm"}) == ["Place", "Ulm", 3, "a"]
        with pytest.raises(ActionError, match="tool 'find' rejected: tool 'find': .*limit") as raised:
            await run.call("find", place={"city": "Ulm"}, limit=0)
    assert (raised.value.kind, raised.value.result.status) == (Kind.REFUSED, "rejected")
    assert find(Place("Bonn"), 1, []) == ["Place", "Bonn", 1], "it is still the function that it was"


async def test_a_tool_has_another_name_where_that_is_wanted_and_can_be_forgotten(client):
    @client.tool(name="say-it", description="Says it.")
    async def say(word):
        return word

    assert [(each.name, each.description) for each in await client.tools()] == [("say-it", "Says it.")]
    result = await client.submit(Proposal(actions=[ToolCallAction(tool="say-it", parameters={"word": None})]))
    assert result.results[0].status == "succeeded"
    assert await client.forget_tool("say-it")
    assert not await client.forget_tool("say-it")
    assert (await client.verify(calls("say-it"))).issues[0].message == "tool 'say-it' is not registered"


def every(*words: str) -> None: ...
def named(**words: str) -> None: ...
def placed(path: object, /) -> None: ...
def threaded(thread: threading.Thread) -> None: ...
def unknown(thing: "Nowhere") -> None: ...  # noqa: F821, UP037


@pytest.mark.parametrize("function", [every, named, placed, threaded, unknown])
async def test_a_function_that_cannot_be_described_is_refused_at_once(client, function):
    with pytest.raises(InputError, match=f"tool '{function.__name__}' cannot be described: "):
        client.tool(function)
    assert await client.tools() == []


async def test_tools_run_at_the_same_time_those_that_block_too(client):
    together = threading.Barrier(3, timeout=PATIENCE_SECS)
    met = asyncio.Event()

    def blocks() -> str:
        together.wait()
        return threading.current_thread().name

    client.tool(name="one")(blocks)
    client.tool(name="two")(blocks)

    @client.tool
    async def three() -> None:
        await asyncio.to_thread(together.wait)
        met.set()

    result = await client.submit(calls("one", "two", "three"))
    assert [each.status for each in result.results] == ["succeeded"] * 3
    assert len({result.results[0].output, result.results[1].output}) == 2
    assert met.is_set()


async def test_what_a_tool_raises_is_its_answer(client):
    tried: list[str] = []

    @client.tool
    def breaks() -> None:
        tried.append("breaks")
        raise KeyError("where")

    @client.tool
    async def hopeless() -> None:
        tried.append("hopeless")
        raise ToolError("there is no such thing", terminal=True)

    @client.tool
    async def unwritable() -> object:
        return object()

    result = await client.submit(
        Proposal(
            actions=[
                ToolCallAction(tool="breaks", failure_behavior="skip"),
                ToolCallAction(tool="hopeless", failure_behavior="retry", max_retries=3),
                ToolCallAction(tool="unwritable", failure_behavior="skip"),
            ]
        )
    )
    breaks_, hopeless_, unwritable_ = result.results
    assert (breaks_.status, breaks_.error) == ("failed", "KeyError: 'where'")
    assert (hopeless_.error, hopeless_.terminal) == ("there is no such thing", True)
    assert sorted(tried) == ["breaks", "hopeless"], "what is terminal is not tried again"
    assert "object" in unwritable_.error
    async with client.run("x") as run:
        with pytest.raises(ActionError, match="tool 'breaks' failed: KeyError: 'where'"):
            await run.call("breaks")


async def test_a_tool_always_answers_whatever_ends_it(client):
    @client.tool
    def exhausted() -> int:
        return next(iter([]))

    @client.tool
    async def interrupted() -> None:
        other = asyncio.create_task(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(other.cancel)
        await other

    async with asyncio.timeout(PATIENCE_SECS):
        result = await client.submit(calls("exhausted", "interrupted", failure_behavior="skip"))
    assert [(each.status, each.error) for each in result.results] == [
        ("failed", "StopIteration"),
        ("failed", "CancelledError"),
    ]


async def test_a_tool_that_nobody_waits_for_is_cancelled(client):
    begun, ended = asyncio.Event(), asyncio.Event()

    @client.tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(PATIENCE_SECS):
        with pytest.raises(RpcError, match="was cancelled: enough") as raised:
            async with client.run("wait") as run:
                submitted = asyncio.create_task(run.submit(calls("waits")))
                await begun.wait()
                await client.runs.cancel(run.id, "enough")
                await submitted
        await ended.wait()
    assert raised.value.code is Code.RUN_ENDED
    with pytest.raises(RpcError, match="has ended already"):
        await run.record_turn(RunTurn(prompt="late"))
    with pytest.raises(RpcError, match="has ended already"):
        await run.submit(calls("waits"))


async def test_a_run_is_a_block_with_all_that_happened_in_it(client, store):
    @client.tool
    def double(number: int) -> int:
        return number * 2

    async with client.run("double things", agent_name="Ada", outcome_description="doubled") as run:
        assert run.agent_id == "ada"
        assert await run.call("double", number=21) == 42
        assert await run.record_turn(RunTurn(prompt="p", output={"x": 1}), RunTurn(tool="other")) == 1
        numbered = await run.model_turn(
            "I would double it",
            model="m",
            tool_calls=[RequestedToolCall("double", "1", {"number": 1})],
            usage=TokenUsage(input_tokens=5, output_tokens=2),
            duration_ms=3,
        )
        assert (numbered, run.is_open) == (3, True)
        await run.complete("all doubled", status="success", evidence=["42"], metrics={"count": 1})
        assert not run.is_open
    records = [event.record async for event in client.runs.trace(run.id)]
    _, first, second, _, model, ended = records
    assert (first.tool, first.parameters, first.output) == ("double", {"number": 21}, 42)
    assert (second.prompt, second.output) == ("p", {"x": 1})
    assert isinstance(model, ModelTurn)
    assert (model.requested_tool_calls[0]["name"], model.token_usage.input_tokens) == ("double", 5)
    assert isinstance(ended, Ended)
    assert (ended.status, ended.summary, ended.outcome["evidence"]) == ("completed", "all doubled", ["42"])
    (listed,) = await client.runs.list(agent_id="ada")
    assert (listed.run_id, listed.status, listed.turn_count) == (run.id, "completed", 4)
    assert (await store.get(run.id)).outcome_description == "doubled"


async def test_a_run_that_nobody_completed_ends_with_its_block(client, store):
    async with client.run("nothing") as run:
        pass
    assert (await store.get(run.id)).status == "completed"


async def test_what_goes_wrong_in_a_block_is_why_its_run_was_cancelled(client, store):
    with pytest.raises(ValueError, match="no luck"):
        async with client.run("try") as run:
            raise ValueError("no luck")
    failed = await store.get(run.id)
    assert (failed.status, failed.summary) == ("cancelled", "ValueError: no luck")


async def test_a_block_that_is_cancelled_says_so_of_its_run(client, store):
    runs = []

    async def work():
        async with client.run("wait") as run:
            runs.append(run)
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    async with asyncio.timeout(PATIENCE_SECS):
        while not runs:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert (await store.get(runs[0].id)).status == "cancelled"


async def test_only_the_run_that_was_opened_last_takes_proposals(client):
    client.tool(name="one")(lambda: 1)
    async with client.run("outer") as outer:
        async with client.run("inner") as inner:
            await inner.call("one")
            with pytest.raises(InputError, match=f"{outer.id} is not the one that is recorded on: {inner.id} was"):
                await outer.call("one")
        await outer.call("one")
    kinds = [type(event.record).__name__ async for event in client.runs.trace(outer.id)]
    assert kinds == ["Started", "Turn", "Ended"]


async def test_proposals_are_verified_and_submitted_with_types(client):
    await client.policies.register("no-shell", "deny_tool", target="shell")
    client.tool(name="shell")(lambda: None)
    refused = Proposal(id="p1", actions=[ToolCallAction(id="a1", tool="shell")])
    verified = await client.verify(refused)
    assert (verified.valid, verified.issues[0].rule) == (False, "no-shell")
    result = await client.submit(refused)
    assert (result.proposal_id, result.results[0].status) == ("p1", "rejected")
    assert result.results[0].error == verified.issues[0].message == "policy 'no-shell': tool 'shell' denied by policy"
    assert [each.name for each in await client.policies.list()] == ["no-shell"]
    assert await client.policies.unregister("no-shell")
    assert not await client.policies.unregister("no-shell")
    assert (await client.submit(refused)).results[0].status == "succeeded"
    await client.policies.register("no-shell", "deny_tool", target="shell", session_id="one")
    assert (await client.verify(refused)).valid
    assert not (await client.verify(refused, session_id="one")).valid
    assert (await client.submit(refused, session_id="one")).results[0].status == "rejected"


async def test_a_policy_that_is_none_is_refused_with_its_place(client):
    with pytest.raises(RpcError, match="unknown rule type: frob") as raised:
        await client.policies.register("odd", "frob")
    assert (raised.value.code, raised.value.kind) == (Code.INVALID_PARAMS, Kind.INPUT)


async def test_state_is_kept_for_proposals(client):
    await client.state.set("count", 1)
    wanted = Proposal(
        actions=[
            AssertionAction(parameters=Expectation("count", 1)),
            StateWriteAction(parameters=KeyAndValue("done", True)),
        ]
    )
    result = await client.submit(wanted)
    assert result.results[1].state_changes["done"].value is True
    assert (await client.state.get("done"), await client.state.get("nope")) == (True, None)
    assert (await client.state.exists("count"), await client.state.exists("nope")) == (True, False)
    assert await client.state.keys() == ["count", "done"]
    assert await client.state.snapshot() == {"count": 1, "done": True}


async def test_any_method_can_be_called(client):
    assert await client.call("state.keys") == []
    assert (await client.call("rpc.discover", {}, dict))["openrpc"]
    with pytest.raises(RpcError, match="unknown method: nope") as raised:
        await client.call("nope")
    assert (raised.value.code, raised.value.kind) == (Code.UNKNOWN_METHOD, Kind.PROTOCOL)
    with pytest.raises(InputError, match="state.set: the parameters cannot be written as JSON"):
        await client.call("state.set", {"key": "k", "value": object()})
    with pytest.raises(TrueupError, match=r"to state.keys is not what this client knows: Expected `int`"):
        await client.call("state.keys", {}, int)


async def test_half_of_a_surrogate_pair_comes_back_as_it_was(client):
    await client.state.set("name", "a\udc80b")
    assert await client.state.get("name") == "a\udc80b"
