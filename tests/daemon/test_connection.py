"""One client's many requests: their order, what waits for what, callbacks, and what becomes of it all when it leaves."""

from __future__ import annotations

import asyncio

import pytest

from daemon_clients import SILENCE, ToolError, WireError
from trueup.core.errors import Kind, TrueupError
from trueup.daemon._errors import as_rpc_error


def calling(*tools: str, **more: object) -> dict[str, object]:
    actions = [
        {"id": f"a{n}", "type": "tool_call", "tool": tool, "parameters": {}} | more for n, tool in enumerate(tools)
    ]
    return {"proposal": {"id": "p", "actions": actions}}


async def register(client, **tools) -> None:
    client.tools |= tools
    await client.call("tools.register", [{"name": name} for name in tools])


async def until(condition) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def test_what_is_sent_back_to_back_sees_what_was_before_it(client):
    client.tools["echo"] = lambda params: params["parameters"]
    requests = [
        ("tools.register", [{"name": "echo"}]),
        ("policy.register", {"name": "no-b", "rule": "deny_tool", "target": "b"}),
        ("runs.start", {"intent": "x"}),
        ("proposal.submit", calling("echo")),
        ("state.set", {"key": "k", "value": 1}),
        ("state.get", {"key": "k"}),
    ]
    answers = [await client.begin(method, params) for method, params in requests]
    answers = [(await answer)["result"] for answer in answers]
    assert answers[3]["results"][0]["status"] == "succeeded"
    assert answers[5] == 1
    trace = await client.call("runs.get_trace", {"run_id": answers[2]["run_id"]})
    assert [record["kind"] for record in trace["records"]] == ["started", "turn"]


async def test_a_proposal_that_waits_for_its_client_holds_nothing_up(client):
    go_on = asyncio.Event()

    async def slow(params):
        await go_on.wait()
        return "at last"

    await register(client, slow=slow, quick=lambda params: "at once")
    waiting = await client.begin("proposal.submit", calling("slow"))
    result = await client.call("proposal.submit", calling("quick"))
    assert result["results"][0]["output"] == "at once"
    assert await client.call("state.keys") == []
    assert not waiting.done()
    go_on.set()
    assert (await waiting)["result"]["results"][0]["output"] == "at last"


async def test_an_id_that_is_in_use_is_refused(client):
    go_on = asyncio.Event()

    async def slow(params):
        await go_on.wait()

    await register(client, slow=slow)
    first = await client.begin("proposal.submit", calling("slow"), request_id=7)
    await until(lambda: client.asked)
    await client.send({"jsonrpc": "2.0", "id": "7", "method": "state.keys"})
    assert (await client.next_unclaimed())["result"] == []
    waiting = client._waiting.pop(7)
    await client.send({"jsonrpc": "2.0", "id": 7, "method": "state.keys"})
    refused = await client.next_unclaimed()
    assert refused["error"]["code"] == -32600
    assert "duplicate id 7" in refused["error"]["message"]
    client._waiting[7] = waiting
    go_on.set()
    assert "result" in await first
    assert await client.call("state.keys", request_id=7) == []


async def test_too_much_at_once_is_refused_and_the_rest_goes_on(client):
    go_on = asyncio.Event()

    async def slow(params):
        await go_on.wait()

    await register(client, slow=slow)
    waiting = [await client.begin("proposal.submit", calling("slow")) for _ in range(140)]
    assert await client.call("state.keys") == []
    await until(lambda: sum(each.done() for each in waiting) == 12)
    refused = [each.result() for each in waiting if each.done()]
    assert {each["error"]["code"] for each in refused} == {-32013}
    go_on.set()
    answers = await asyncio.gather(*waiting)
    assert sum("result" in answer for answer in answers) == 128


async def test_a_callback_says_everything_about_the_call(line):
    client = line.client
    await register(client, echo=lambda params: params["parameters"])
    proposal = calling("echo", parameters={"q": "ü"}, timeout_ms=5000)
    await client.call("proposal.submit", {**proposal, "session_id": "s1"})
    assert client.asked == [
        {
            "jsonrpc": "2.0",
            "id": "cb-1",
            "method": "tools.execute",
            "params": {
                "action_id": "a0",
                "tool": "echo",
                "parameters": {"q": "ü"},
                "timeout_ms": 5000,
                "attempt": 1,
                "request_id": "cb-1",
                "session_id": "s1",
            },
        }
    ]


async def test_attempts_are_counted(client):
    outputs = [ToolError("busy"), ToolError("busy"), {"ok": True}]
    await register(client, flaky=lambda params: outputs[params["attempt"] - 1])
    result = await client.call("proposal.submit", calling("flaky", failure_behavior="retry", max_retries=3))
    assert [each["params"]["attempt"] for each in client.asked] == [1, 2, 3]
    assert result["results"][0]["output"] == {"ok": True}
    assert result["cost"]["retries"] == 2


async def test_an_answer_that_does_not_come_is_given_up_and_the_client_told(line):
    client = line.client
    await register(client, never=lambda params: SILENCE)
    result = await client.call("proposal.submit", calling("never", timeout_ms=1))
    assert result["results"][0]["status"] == "failed"
    told = await client.next_told()
    assert told["method"] == "tools.cancel"
    assert told["params"] == {"request_id": "cb-1", "action_id": "a0", "reason": "timeout"}
    # Too late, and then once more.
    for _ in range(2):
        await client.send({"jsonrpc": "2.0", "id": "cb-1", "result": "late"})
    assert await client.call("state.keys") == []
    counts = line.connection.callbacks.counts
    assert (counts.asked, counts.timed_out, counts.ignored) == (1, 1, 2)


async def test_an_answer_that_is_given_twice_counts_once(line):
    client = line.client
    await register(client, twice=lambda params: SILENCE)
    waiting = await client.begin("proposal.submit", calling("twice"))
    await until(lambda: client.asked)
    for output in ("first", "second"):
        await client.send({"jsonrpc": "2.0", "id": "cb-1", "result": output})
    assert (await waiting)["result"]["results"][0]["output"] == "first"
    assert line.connection.callbacks.counts.ignored == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"error": "just text"}, "just text"),
        ({"error": {"code": 1}}, "the tool failed"),
        ({"error": {"code": 1, "message": "why"}, "result": 1}, "why"),
    ],
)
async def test_an_odd_error_of_a_tool_is_a_failed_action(client, reply, said):
    await register(client, odd=lambda params: SILENCE)
    waiting = await client.begin("proposal.submit", calling("odd"))
    await until(lambda: client.asked)
    await client.send({"jsonrpc": "2.0", "id": "cb-1", **reply})
    result = (await waiting)["result"]["results"][0]
    assert result["status"] == "failed"
    assert said in result["error"]


async def test_a_client_that_leaves_in_the_middle_ends_its_actions_and_leaves_their_turns(lines, store):
    line, other = lines(), lines()
    await register(line.client, never=lambda params: SILENCE)
    await register(other.client, quick=lambda params: 1)
    run_id = (await line.client.call("runs.start", {"intent": "x"}))["run_id"]
    await line.client.begin("proposal.submit", calling("never"))
    await until(lambda: line.client.asked)
    await line.leave()
    turns = await store.trace(run_id, types=["turn"])
    assert [stored.record.tool for stored in turns] == ["never"]
    result = await other.client.call("proposal.submit", calling("quick"))
    assert result["results"][0]["status"] == "succeeded"


async def test_a_cancelled_run_ends_what_is_done_for_it(line):
    client = line.client
    await register(client, never=lambda params: SILENCE)
    run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
    waiting = await client.begin("proposal.submit", calling("never"))
    await until(lambda: client.asked)
    assert (await client.call("runs.cancel", {"run_id": run_id, "reason": "enough"}))["status"] == "cancelled"
    answer = await waiting
    assert answer["error"]["code"] == -32011
    assert "was cancelled: enough" in answer["error"]["message"]
    assert (await client.next_told())["params"]["reason"] == "cancelled"
    assert await client.call("state.keys") == []


async def test_a_session_has_policies_of_its_own_on_top(client):
    await register(client, search=lambda params: 1)
    rule = {"name": "no-search", "rule": "deny_tool", "target": "search"}
    registered = await client.call("policy.register", {**rule, "session_id": "s1"})
    assert registered == {"registered": "no-search", "scope": {"session_id": "s1"}}
    free = await client.call("proposal.submit", calling("search"))
    bound = await client.call("proposal.submit", {**calling("search"), "session_id": "s1"})
    assert [each["results"][0]["status"] for each in (free, bound)] == ["succeeded", "rejected"]
    removed = await client.call("policy.unregister", {"name": "no-search", "session_id": "s1"})
    assert removed == {"unregistered": "no-search", "removed": 1, "scope": {"session_id": "s1"}}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"name": "p", "rule": "frob"}, r"^unknown rule type: frob$"),
        ({"name": "p", "rule": "deny_tool"}, "invalid params: .*target"),
        ({"name": "p", "rule": "deny_tool", "target": "x", "unknown": 1}, "invalid params: .*unknown"),
        ({"rule": "deny_tool", "target": "x"}, "invalid params: .*name"),
        ({"name": "p", "rule": "deny_tool_param", "target": "x", "key": 3, "pattern": "y"}, r"`\$\.key`"),
    ],
)
async def test_a_policy_with_a_mistake_is_refused_with_its_place(client, policy, said):
    with pytest.raises(WireError, match=said) as raised:
        await client.call("policy.register", policy)
    assert raised.value.code == -32602
    assert (await client.call("policy.list"))["policies"] == []


async def test_a_limit_is_counted_by_calls_and_not_by_questions(client):
    await register(client, search=lambda params: 1)
    limit = {"name": "slow-down", "rule": "rate_limit_tool", "target": "search", "value": {"calls": 2, "secs": 60}}
    await client.call("policy.register", limit)
    for _ in range(5):
        assert (await client.call("verify", calling("search")))["valid"]
    statuses = [(await client.call("proposal.submit", calling("search")))["results"][0]["status"] for _ in range(3)]
    assert statuses == ["succeeded", "succeeded", "rejected"]
    both = await client.call("verify", calling("search"))
    assert not both["valid"]


async def test_a_session_begins_with_everything_at_once(line):
    client = line.client
    client.tools["search"] = lambda params: 1
    params = {
        "client_id": "ann",
        "tools": [{"name": "search"}],
        "policies": [{"name": "no-shell", "rule": "deny_tool", "target": "shell"}],
    }
    begun = await client.call("session.init", params)
    assert begun == {"session_id": line.connection.client_id, "tools_registered": 1, "policies_registered": 1}
    assert (await client.call("runs.start", {"intent": "x"}))["agent_id"] == "ann"
    with pytest.raises(WireError, match="unknown rule type: frob"):
        await client.call(
            "session.init", {**params, "policies": [{"name": "p", "rule": "frob"}], "tools": [{"name": "t"}]}
        )
    assert [tool["name"] for tool in (await client.call("tools.list"))["tools"]] == ["search"]


async def test_tenants_keep_their_state_apart(client):
    await client.call("state.set", {"key": "k", "value": 1, "tenant": "t"})
    assert await client.call("state.snapshot", {}) == {}
    assert await client.call("state.snapshot", {"tenant": "t"}) == {"k": 1}
    read = {"id": "r", "type": "state_read", "parameters": {"key": "k"}}
    proposal = {"proposal": {"actions": [read]}, "scope": {"tenantId": "t"}}
    assert (await client.call("proposal.submit", proposal))["results"][0]["output"] == 1


async def test_the_proposal_comes_back_only_where_that_is_wanted(client):
    await register(client, search=lambda params: 1)
    assert "proposal" not in await client.call("proposal.submit", calling("search"))
    echoed = await client.call("proposal.submit", {**calling("search"), "echo": True})
    assert echoed["proposal"]["id"] == "p"


async def test_everything_that_can_be_called_is_described(client):
    document = await client.call("rpc.discover")
    described = {each["name"]: each for each in document["methods"]}
    assert {"runs.start", "proposal.submit", "verify", "session.auth", "coder.start", "tools.register"} <= set(
        described
    )
    start = {each["name"]: each["required"] for each in described["runs.start"]["params"]}
    assert (start["intent"], start["idempotency_key"]) == (True, False)
    assert all(each["summary"] for each in described.values())
    assert described["coder.approve_merge"]["x-needs"] == "human"
    assert document["openrpc"] == "1.3.2"


async def test_an_id_is_free_again_as_soon_as_its_answer_is_on_its_way(daemon):
    """A client may have read an answer before the daemon knows that it was taken."""
    sent: list[bytes] = []
    taken = asyncio.Event()

    async def send(frame: bytes) -> None:
        sent.append(frame)
        await taken.wait()

    async def frames():
        for count in (1, 2):
            yield b'{"jsonrpc":"2.0","id":1,"method":"runs.list"}'
            await until(lambda count=count: len(sent) == count)
        taken.set()

    await daemon.connect(send).serve(frames())
    assert [b'"result"' in frame for frame in sent] == [True, True]


async def test_a_client_that_sends_without_end_lets_the_others_have_their_turn(daemon):
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def send(frame: bytes) -> None:
        assert b'"result"' in frame

    async def frames():
        for _ in range(1000):
            yield b'{"jsonrpc":"2.0","id":1,"method":"state.keys"}'

    waiting = asyncio.create_task(others())
    await daemon.connect(send).serve(frames())
    waiting.cancel()
    assert turns > 20


async def test_tools_are_listed_by_name_and_forgotten(client):
    assert await client.call("tools.register", [{"name": "b", "description": "does b"}, {"name": "a"}]) == 2
    listed = await client.call("tools.list")
    assert listed["count"] == 2
    assert [each["name"] for each in listed["tools"]] == ["a", "b"]
    assert listed["tools"][1] == {"name": "b", "source": "user_defined", "description": "does b", "parameters": {}}
    assert await client.call("tools.unregister", {"name": "b"}) == {"unregistered": "b", "removed": 1}
    assert await client.call("tools.unregister", {"name": "b"}) == {"unregistered": "b", "removed": 0}


def test_what_took_too_long_has_a_code_of_its_own():
    late = as_rpc_error(TrueupError("no session was there after 25 s", kind=Kind.TIMEOUT))
    assert (late.code, str(late)) == (-32004, "no session was there after 25 s")
