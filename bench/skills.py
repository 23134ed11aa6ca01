"""Skill tests: how near many cells come to what their calls take, what the loop notices, and what a cell leaves."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from bench.measure import LoopLag, milliseconds, report
from bench.session import at_home
from trueup.core.process import Command, run
from trueup.core.usage import Usage
from trueup.runs import RunStore
from trueup.skills import (
    AssistantTurn,
    CellCache,
    Judgement,
    MatrixRequest,
    Message,
    Needs,
    Query,
    Report,
    RespondRequest,
    ToolEvent,
    UserTurn,
    load_cases,
    load_config,
    override_config,
    provider_for,
    run_matrix,
)

CALL_SECS = 0.2
JOBS = 16
AT_ONCE = 1000
# One reply, then a verdict on each of two criteria: three calls for a cell.
CASE = """\
skill: ../greeter
input: Greet Ada.
evals:
- {type: boolean, criterion: it greets}
- {type: boolean, criterion: it is polite}
"""
SKILL = "---\nname: greeter\ndescription: Greets people.\n---\nGreet by name.\n"
# Nothing but the call itself: what an interpreter takes to start would be measured otherwise.
PROVIDER = f"""\
read -r request
sleep {CALL_SECS}
case $request in
*'"op":"respond"'*) echo '{{"message":"Hello, Ada","usage":{{"input_tokens":9,"output_tokens":3}}}}';;
*) echo '{{"value":true,"reason":"It does.","usage":{{"input_tokens":9,"output_tokens":3}}}}';;
esac
"""


class Sleeper:
    """A provider that takes its time, half of it to one and a half, and then says what an agent may have to say."""

    def __init__(self, secs: float) -> None:
        self._secs = secs
        self._chance = Random(8)

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        return dict.fromkeys(platforms, "1")

    def supports_resume(self, platform: str) -> bool:
        return False

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        await asyncio.sleep(self._secs * self._chance.uniform(0.5, 1.5))
        events = tuple(
            event
            for number in range(5)
            for event in (
                ToolEvent(kind="tool_call", name="Bash", input={"command": f"make test-{number}"}, id=str(number)),
                ToolEvent(kind="tool_result", name="Bash", output=f"{number} passed\n" * 100, id=str(number)),
            )
        )
        return AssistantTurn(message="Hello, Ada. " * 150, events=events, usage=Usage(input_tokens=9, output_tokens=3))

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        return UserTurn(message="Thanks.", stop=True)

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        await asyncio.sleep(self._secs * self._chance.uniform(0.5, 1.5))
        return Judgement(value=True, reason="It does. " * 20, usage=Usage(input_tokens=9, output_tokens=3))


@contextmanager
def project(cases: int) -> Iterator[Path]:
    """A folder with so many cases, and everything that trueup keeps."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        folder = Path(name)
        (folder / "greeter").mkdir()
        (folder / "greeter" / "SKILL.md").write_text(SKILL)
        (folder / "provider.sh").write_text(PROVIDER)
        (folder / "cases").mkdir()
        for number in range(cases):
            (folder / "cases" / f"case-{number}.yaml").write_text(CASE)
        with at_home(folder):
            yield folder


async def matrix_speed() -> bool:
    """50 cases × 2 platforms × 2 models, three calls each, against as many workers that do nothing but wait."""
    with project(50) as folder:
        config = override_config(
            load_config(None, folder),
            platforms=("p", "q"),
            models=("m", "n"),
            judge_model="j",
            command=("sh", "provider.sh"),
        )
        request = MatrixRequest(cases=load_cases([folder / "cases"]).cases, config=config, jobs=JOBS)
        provider = provider_for(config, os.environ, folder)
        async with await RunStore.open() as runs:
            started = time.perf_counter()
            told = await run_matrix(request, provider, runs=runs, cache=CellCache.of_the_user())
            took = time.perf_counter() - started
    _must_pass(told, 200)
    ideal = await _only_waiting(600)
    share = ideal / took
    reference = f"{JOBS} workers that only wait: {ideal:.2f} s"
    return report(
        f"600 calls of 200 ms, {JOBS} at once",
        f"{took:.2f} s",
        "0.90 of the ideal",
        share >= 0.9,
        reference=reference,
        ratio=share,
    )


async def matrix_crowd() -> bool:
    """How late a 1 ms timer fires while a thousand cells run at once, each of them recorded."""
    with project(AT_ONCE) as folder:
        request = MatrixRequest(
            cases=load_cases([folder / "cases"]).cases,
            config=override_config(load_config(None, folder), platforms=("p",), judge_model="j"),
            jobs=AT_ONCE,
        )
        async with await RunStore.open() as runs, LoopLag() as lag:
            started = time.perf_counter()
            told = await run_matrix(request, Sleeper(2.0), runs=runs, cache=CellCache.of_the_user())
            took = time.perf_counter() - started
    _must_pass(told, AT_ONCE)
    reference = f"worst {milliseconds(lag.worst)}, all done in {took:.1f} s"
    return report(
        f"loop lag, {AT_ONCE} cells, p99", milliseconds(lag.p99), "50 ms", lag.p99 < 0.050, reference=reference
    )


async def matrix_memory() -> bool:
    """The peak of a process that runs 2,100 cells, against one that runs 100."""
    few, many = await _peak_kb(100), await _peak_kb(2_100)
    each = (many - few) / 2_000
    shown = f"{each:.1f} kB (peak {many / 1000:.0f} MB against {few / 1000:.0f} MB)"
    return report("memory for a finished cell", shown, "50 kB", each < 50)


async def _only_waiting(calls: int) -> float:
    """How long so many workers take who have nothing else to do."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await asyncio.sleep(CALL_SECS)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(JOBS)))
    return time.perf_counter() - started


async def _peak_kb(cases: int) -> int:
    script = f"import asyncio; from bench.skills import peak_kb\nprint(asyncio.run(peak_kb({cases})))"
    finished = await run(Command(argv=(sys.executable, "-c", script), cwd=Path(__file__).parents[1]))
    if finished.exit_code != 0:
        raise RuntimeError(finished.stderr.text)
    return int(finished.stdout.text)


async def peak_kb(cases: int) -> int:
    """The most memory that this process had, after so many cells, with their report still in its hands."""
    with project(cases) as folder:
        config = override_config(load_config(None, folder), platforms=("p",), judge_model="j")
        request = MatrixRequest(cases=load_cases([folder / "cases"]).cases, config=config, jobs=JOBS)
        async with await RunStore.open() as runs:
            _must_pass(await run_matrix(request, Sleeper(0.0), runs=runs), cases)
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])


def _must_pass(told: Report, cells: int) -> None:
    if not told.passed or told.summary.passed != cells:
        raise RuntimeError(f"the cells did not pass: {told.summary} {told.notes}")


BENCHES = (matrix_speed, matrix_crowd, matrix_memory)
