"""Sessions: what trueup adds to the engine and the checks, and what the loop notices of many at once."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bench.measure import LoopLag, milliseconds, report
from bench.workspace import make_large_repository
from trueup.coder import Absent, CodeRequest, Deliver, Limits, Sessions, State, Story, Told
from trueup.contract import CheckCompleted
from trueup.runs import RunStore

LIMITS_SECS = {1_000: 1.0, 50_000: 3.0}
AT_ONCE = 20
CONTRACT = '{"description": "d", "checks": [{"name": "done", "command": "grep -q ok done.txt", "timeout_secs": 600}]}'


class Stopwatch:
    """A `Listener` that adds up what checks took."""

    def __init__(self) -> None:
        self.checks_secs = 0.0

    async def hear(self, told: Told) -> None:
        if isinstance(told.event, CheckCompleted):
            self.checks_secs += told.event.result.duration_ms / 1000


@contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """With everything that trueup keeps in a folder of the bench's own."""
    wanted = {"XDG_DATA_HOME": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache")}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@asynccontextmanager
async def sessions(files: int) -> AsyncIterator[tuple[Sessions, CodeRequest]]:
    """A repository of so many files, and a request for a small change to it."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        folder = Path(name)
        make_large_repository(folder / "repo", files)
        (folder / "contract.json").write_text(CONTRACT)
        (folder / "agent.sh").write_text("echo ok > done.txt\n")
        request = CodeRequest(
            intent="bench",
            folder=str(folder / "repo"),
            engine=f"command:bash {folder / 'agent.sh'}",
            contract_file=str(folder / "contract.json"),
            deliver=Deliver.NONE,
            limits=Limits(iterations=1),
        )
        with at_home(folder):
            async with await RunStore.open() as store:
                yield Sessions(store), request


async def added_by_one(sessions: Sessions, request: CodeRequest) -> float:
    """What a session takes beyond its engine and its checks."""
    watch = Stopwatch()
    started = time.perf_counter()
    story = await sessions.start(request, Absent(yes=True), watch)
    took = time.perf_counter() - started
    _must_be_reported(story)
    return took - story.engine_secs - watch.checks_secs


async def session_overhead() -> bool:
    """A session on a base that was worked on before, against its own engine and checks."""
    held = []
    for files, limit in LIMITS_SECS.items():
        async with sessions(files) as (here, request):
            first = await added_by_one(here, request)
            again = statistics.median([await added_by_one(here, request) for _ in range(5)])
        held.append(
            report(
                f"session on {files:,} files",
                f"{again:+.2f} s",
                f"+{limit:.0f} s",
                again <= limit,
                reference=f"{first:+.2f} s for the first",
                ratio=again / first,
            )
        )
    return all(held)


async def session_crowd() -> bool:
    """How late a 1 ms timer fires while many sessions run at once."""
    async with sessions(1_000) as (here, request):
        await added_by_one(here, request)
        started = time.perf_counter()
        async with LoopLag() as lag:
            starts = (here.start(request, Absent(yes=True), Stopwatch()) for _ in range(AT_ONCE))
            stories = await asyncio.gather(*starts)
        took = time.perf_counter() - started
    for story in stories:
        _must_be_reported(story)
    told = f"worst {milliseconds(lag.worst)}, all done in {took:.1f} s"
    return report(f"loop lag, {AT_ONCE} sessions, p99", milliseconds(lag.p99), "50 ms", lag.p99 < 0.050, reference=told)


def _must_be_reported(story: Story) -> None:
    if story.state is not State.REPORTED:
        raise RuntimeError(f"the session did not arrive: {story.state.value} {story.message}")


BENCHES = (session_overhead, session_crowd)
