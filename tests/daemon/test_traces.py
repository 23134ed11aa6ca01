"""The recorder over a real WebSocket: what is kept of what a client did, was refused, or could not finish."""

from __future__ import annotations

import pytest

from daemon_clients import ToolError


@pytest.fixture
async def agent(sockets):
    """A client with the tools of an agent that drives a command-line program and checks what came of it."""
    client = await sockets()
    client.tools = dict.fromkeys(("drive_cli", "check_outcome", "search"), lambda params: client.output)
    specs = [{"name": name, "description": "", "parameters": {}} for name in client.tools]
    assert await client.call("tools.register", specs) == 3
    return client


async def begin(client) -> str:
    return (await client.call("runs.start", {"agent_id": "agent-a", "intent": "do the thing"}))["run_id"]


async def submit(client, tool: str, output: object = None, *, action_id: str = "a1", **parameters: object):
    client.output = output
    action = {"id": action_id, "type": "tool_call", "tool": tool, "parameters": parameters}
    proposal = {"id": f"p-{action_id}", "source": "test", "actions": [action]}
    return await client.call("proposal.submit", {"proposal": proposal})


async def turns(client, run_id: str):
    trace = await client.call("runs.get_trace", {"run_id": run_id})
    return [record for record in trace["records"] if record["kind"] == "turn"]


async def test_a_driven_program_leaves_its_prompt_output_and_exit_code(agent):
    run_id = await begin(agent)
    output = {"cli": "claude", "exit_code": 0, "timed_out": False, "output_tail": "1 passed, 0 failed"}
    result = await submit(agent, "drive_cli", output, cli="claude", prompt="make the failing test pass")
    assert (result["results"][0]["status"], result["results"][0]["output"]) == ("succeeded", output)
    (turn,) = await turns(agent, run_id)
    assert (turn["index"], turn["prompt"], turn["tool"]) == (0, "make the failing test pass", "drive_cli")
    assert turn["cli_outcome"] == {"kind": "exited", "code": 0}
    assert (turn["verifier_verdict"], turn["output"]) == ("not_run", output)
    assert turn["parameters"] == {"cli": "claude", "prompt": "make the failing test pass"}


async def test_a_check_leaves_pass_and_then_fail(agent):
    run_id = await begin(agent)
    await submit(agent, "check_outcome", {"passed": True, "output_tail": "ok"}, action_id="c1", command="test -f x")
    await submit(agent, "check_outcome", {"passed": False, "output_tail": "no"}, action_id="c2", command="test -f x")
    first, second = await turns(agent, run_id)
    assert [(each["index"], each["verifier_verdict"]) for each in (first, second)] == [(0, "pass"), (1, "fail")]
    assert second["cli_outcome"] is None
    assert (await agent.call("runs.list", {}))["runs"][0]["status"] == "in_progress"


async def test_what_policy_refuses_never_runs_and_is_recorded(agent):
    run_id = await begin(agent)
    policy = {"name": "no-destructive", "rule": "deny_tool_param", "target": "drive_cli"}
    registered = await agent.call("policy.register", {**policy, "key": "prompt", "pattern": "rm -rf"})
    assert registered == {"registered": "no-destructive", "scope": "global"}
    never = {"exit_code": 0, "output_tail": "must not appear"}
    result = await submit(agent, "drive_cli", never, cli="claude", prompt="please run rm -rf / to clean up")
    refused = result["results"][0]
    assert refused["status"] == "rejected"
    assert refused["error"] == "policy 'no-destructive': param 'prompt' matches denied pattern 'rm -rf'"
    assert agent.asked == []
    (turn,) = await turns(agent, run_id)
    assert turn["prompt"] == "please run rm -rf / to clean up"
    assert "no-destructive" in turn["policy_rejected"]["rule"]
    assert turn["policy_rejected"]["param"] == "prompt"
    assert (turn["cli_outcome"], turn["verifier_verdict"], "output" in turn) == (None, "not_run", False)


async def test_a_program_that_ran_out_of_time_leaves_a_timeout(agent):
    run_id = await begin(agent)
    output = {"cli": "claude", "exit_code": None, "timed_out": True, "output_tail": "...(killed after 180s)"}
    await submit(agent, "drive_cli", output, cli="claude", prompt="a very long task")
    (turn,) = await turns(agent, run_id)
    assert (turn["cli_outcome"], turn["verifier_verdict"]) == ({"kind": "timeout"}, "not_run")


async def test_any_other_tool_leaves_a_plain_turn(agent):
    run_id = await begin(agent)
    await submit(agent, "search", {"hits": ["a", "b"]}, action_id="s1", query="rust ownership")
    (turn,) = await turns(agent, run_id)
    assert (turn["tool"], turn["parameters"]) == ("search", {"query": "rust ownership"})
    assert turn["output"] == {"hits": ["a", "b"]}
    assert (turn["cli_outcome"], turn["verifier_verdict"], turn["policy_rejected"]) == (None, "not_run", None)


async def test_without_a_run_nothing_is_recorded(agent, sockets):
    result = await submit(agent, "drive_cli", {"exit_code": 0}, cli="claude", prompt="no bracket")
    assert result["results"][0]["status"] == "succeeded"
    bare = await sockets()
    result = await submit(bare, "drive_cli", None, cli="claude", prompt="no bracket, no tool")
    assert result["results"][0]["error"] == "tool 'drive_cli' is not registered"
    assert (await agent.call("runs.list", {}))["runs"] == []


async def test_a_tool_that_fails_leaves_a_turn_too(agent):
    run_id = await begin(agent)
    result = await submit(agent, "search", ToolError("no network", {"terminal": True}), query="x")
    failed = result["results"][0]
    assert (failed["status"], failed["terminal"]) == ("failed", True)
    assert "no network" in failed["error"]
    assert len(await turns(agent, run_id)) == 1


async def test_each_connection_has_its_own_tools_policies_and_state(agent, sockets):
    other = await sockets()
    await agent.call("policy.register", {"name": "no-search", "rule": "deny_tool", "target": "search"})
    await agent.call("state.set", {"key": "k", "value": 1})
    assert await other.call("tools.list", {}) == {"tools": [], "count": 0}
    assert (await other.call("policy.list", {}))["policies"] == []
    assert await other.call("state.exists", {"key": "k"}) is False
    assert (await submit(agent, "search", query="x"))["results"][0]["error"] == (
        "policy 'no-search': tool 'search' denied by policy"
    )
