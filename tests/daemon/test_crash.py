"""What a real daemon leaves behind: when it is killed, when it is asked to end, when it begins again."""

from __future__ import annotations

import asyncio
import os
import signal

import aiohttp
import pytest

from daemon_clients import over_a_socket, serving
from trueup.runs import RunStore

WRITERS = 4


@pytest.fixture
def options(tmp_path) -> tuple[str, ...]:
    return "--no-auth", "--database-url", f"sqlite:///{tmp_path}/runs.db"


async def write_until_the_end(url: str) -> tuple[str, int]:
    """Record as quickly as possible until the daemon is gone: the run, and how many turns were acknowledged."""
    acknowledged = 0
    async with over_a_socket(url) as client:
        run_id = (await client.call("runs.start", {"intent": "write", "agent_id": "writer"}))["run_id"]
        while True:
            answer = await client.begin("runs.record_turns", {"run_id": run_id, "turns": [{"prompt": "p"}] * 3})
            try:
                assert (await answer)["result"]["ok"]
            except asyncio.CancelledError:
                return run_id, acknowledged
            acknowledged += 3


async def test_what_was_acknowledged_survives_kill_9_and_open_runs_are_incomplete(options):
    async with serving(*options) as served:
        writers = [asyncio.create_task(write_until_the_end(served.url)) for _ in range(WRITERS)]
        await asyncio.sleep(0.7)
        os.kill(served.process.pid, signal.SIGKILL)
        written = await asyncio.gather(*writers)
    assert all(count > 0 for _, count in written)
    async with serving(*options) as served, over_a_socket(served.url) as client:
        runs = {run["run_id"]: run for run in (await client.call("runs.list"))["runs"]}
        for run_id, count in written:
            assert runs[run_id]["status"] == "incomplete"
            # What was being written when it died may be there or not, but as a whole.
            assert runs[run_id]["turn_count"] in (count, count + 3)
        trace = await client.call("runs.get_trace", {"run_id": written[0][0]})
        turns = [record for record in trace["records"] if record["kind"] == "turn"]
        assert [turn["index"] for turn in turns] == list(range(runs[written[0][0]]["turn_count"]))
        assert trace["records"][-1]["kind"] == "ended"
    async with await RunStore.open(options[-1]) as store:
        assert all([(await store.verify(run_id)).ok for run_id, _ in written])


async def test_asked_to_end_it_writes_down_what_was_begun_and_says_goodbye(options):
    async with serving(*options) as served, over_a_socket(served.url) as client:
        client.tools["slow"] = lambda params: asyncio.sleep(60)
        await client.call("tools.register", [{"name": "slow"}])
        run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
        action = {"id": "a", "type": "tool_call", "tool": "slow", "parameters": {}}
        await client.begin("proposal.submit", {"proposal": {"actions": [action]}})
        while not client.asked:
            await asyncio.sleep(0.01)
        os.kill(served.process.pid, signal.SIGTERM)
        async with asyncio.timeout(10):
            await client.ended.wait()
            finished = await served.process.wait()
        assert client.socket.close_code == aiohttp.WSCloseCode.GOING_AWAY
        assert finished.exit_code == 0
        [told] = finished.stderr.tail(2000).splitlines()
        assert told.startswith("stopped; what was recorded is in ")
    async with await RunStore.open(options[-1]) as store:
        run = await store.get(run_id)
        assert (run.status, run.turn_count) == ("incomplete", 1)
