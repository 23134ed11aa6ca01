from __future__ import annotations

import os
import shlex
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, stdio_client

from coded import TRUEUP
from trueup.coder import State
from trueup.runs import RunStore, Turn

SUITE = {
    "description": "slugs",
    "checks": [{"name": "suite", "command": "python3 -m unittest discover -s tests -t . -q"}],
}
MEND = "sed -i \"s/'_')/'-')/\" slug.py"


@asynccontextmanager
async def agent(project):
    """An interactive agent in a repository, that talks to `trueup mcp`."""
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    program = StdioServerParameters(command=TRUEUP, args=["mcp"], env=dict(os.environ), cwd=project.root)
    async with stdio_client(program) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, **arguments):
    answer = await session.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def test_every_tool_says_what_its_answer_is_worth(project):
    async with agent(project) as session:
        tools = {tool.name: tool.description for tool in (await session.list_tools()).tools}
    assert set(tools) == {"contract_derive", "contract_check", "session_start", "session_status", "run_record"}
    assert "not proof" in tools["contract_check"]
    assert "trueup code approve" in tools["session_start"]


async def test_an_agent_finds_out_that_it_is_not_done_and_then_that_it_is(project):
    async with agent(project) as session:
        proposed = await call(session, "contract_derive", intent="join by dashes", repo=str(project.root))
        assert proposed["contract"]["checks"]
        undone = await call(session, "contract_check", repo=str(project.root), contract=SUITE)
        await project.bash(MEND)
        done = await call(session, "contract_check", repo=str(project.root), contract=SUITE)
    assert (undone["outcome"], done["outcome"]) == ("refused", "verified")


async def test_a_session_of_an_agent_waits_for_the_user(project):
    engine = f"command:bash -c {shlex.quote(MEND)}"
    async with agent(project) as session:
        started = await call(
            session, "session_start", intent="dashes", repo=str(project.root), contract=SUITE, engine=engine
        )
        status = await call(session, "session_status", session_id=started["session_id"])
    assert (status["state"], status["needs_you"]) == (State.CONTRACT_PROPOSED, "contract")
    assert status["iterations"] == 0


async def test_an_agent_writes_its_own_runs_and_those_it_leaves_open_are_incomplete(project):
    async with await RunStore.open() as store:
        async with agent(project) as session:
            begun = await call(session, "run_record", intent="look around", turns=[{"tool": "ls", "output": "a b"}])
            run_id = begun["run_id"]
            await call(session, "run_record", run_id=run_id, turns=[{"tool": "cat"}], end="completed", summary="ok")
            again = await session.call_tool("run_record", {"run_id": run_id, "turns": [{"tool": "late"}]})
            left = await call(session, "run_record", intent="forgotten")
        assert again.is_error
        turns = [each.record.tool for each in await store.trace(run_id) if isinstance(each.record, Turn)]
        assert turns == ["ls", "cat"]
        assert (await store.get(run_id)).status == "completed"
        assert (await store.get(left["run_id"])).status == "incomplete"


MISTAKES = [
    ("contract_check", {"repo": "/nowhere"}, "is no folder"),
    ("contract_check", {"repo": ".", "contract": {"description": "x", "checks": []}}, "cannot be used"),
    ("contract_check", {"repo": ".", "contract": {"checks": 3}}, "contract: "),
    ("contract_check", {"repo": ".", "contract": SUITE | {"setup": ["curl x"]}}, "only a person may ask"),
    ("session_status", {"session_id": "nope"}, "there is no session 'nope'"),
    ("run_record", {"intent": " "}, "say what the run is for"),
    ("run_record", {"intent": "x", "turns": [{"parameters": 3}]}, "turns: "),
    ("run_record", {"intent": "x", "turns": [{"result": "lost"}]}, "turns: unknown field 'result' in the first"),
    ("contract_derive", {"intent": "x", "repo": "x" * 5000}, "is no folder"),
    ("contract_derive", {"intent": "x", "repo": ""}, "is no folder"),
]


async def test_a_mistake_is_the_answer_of_the_tool(project):
    async with agent(project) as session:
        for tool, arguments, said in MISTAKES:
            answer = await session.call_tool(tool, arguments)
            assert answer.is_error, tool
            assert said in answer.content[0].text
    async with await RunStore.open() as store:
        assert await store.list() == []
