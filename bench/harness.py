"""Harnesses: what driving an agent adds to the agent, and what the loop notices of many."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from bench.measure import LoopLag, medians, milliseconds, more_milliseconds, report
from trueup.core.process import Command, Process, run
from trueup.harness import HarnessRequest, Status, find_harness
from trueup.testing import EventLog, ScriptedAgent

AT_ONCE = 200
PROMPT = "Work.\nSCRIPT: say done"


class Here:
    """A `Launcher` that starts programs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def launch(self, command: Command) -> AsyncIterator[Process]:
        env = {**os.environ, **(command.env or {})}
        async with Process(msgspec.structs.replace(command, cwd=self._folder, env=env)) as process:
            yield process


async def harness_overhead() -> bool:
    """A run of a harness against the same program, started and waited for."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        folder = Path(name)
        program = ScriptedAgent(speak="codex").install(folder / "codex")
        harness = find_harness("codex", {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        here = Here(folder)

        async def bare() -> None:
            await run(Command(argv=(str(program), "exec", "--json", "-"), stdin=PROMPT.encode(), cwd=folder))

        async def driven() -> None:
            result = await harness.run(HarnessRequest(prompt=PROMPT), here, EventLog())
            if result.status is not Status.OK:
                raise RuntimeError(f"the agent did not do it: {result.error}")

        await driven()
        reference, measured = await medians(30, bare, driven)
    added = measured - reference
    return report(
        "overhead of a harness run",
        more_milliseconds(added),
        "+60 ms",
        added < 0.060,
        reference=f"{milliseconds(reference)} for the agent alone",
        ratio=measured / reference,
    )


async def harness_crowd() -> bool:
    """How late a 1 ms timer fires while many agents work at once."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        folder = Path(name)
        ScriptedAgent(speak="codex").install(folder / "codex")
        harness = find_harness("codex", {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        request = HarnessRequest(prompt="Work.\nSCRIPT: sleep 2\nSCRIPT: say done")
        started = time.perf_counter()
        async with LoopLag() as lag:
            runs = (harness.run(request, Here(folder), EventLog()) for _ in range(AT_ONCE))
            results = await asyncio.gather(*runs)
        took = time.perf_counter() - started
    failed = [result.error for result in results if result.status is not Status.OK]
    if failed:
        raise RuntimeError(f"{len(failed)} agents did not do it: {failed[0]}")
    told = f"worst {milliseconds(lag.worst)}, all done in {took:.1f} s"
    return report(f"loop lag, {AT_ONCE} agents, p99", milliseconds(lag.p99), "50 ms", lag.p99 < 0.050, reference=told)


BENCHES = (harness_overhead, harness_crowd)
