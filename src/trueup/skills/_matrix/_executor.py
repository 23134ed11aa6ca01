"""Who runs cells: a small protocol, and the executor that runs them all in this process."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.errors import Kind
from trueup.core.usage import told_total

from .._cell import CellSpec
from .._report import CellReport
from ._bounds import TOO_MUCH, Bound, Patience

T = TypeVar("T")


class Attempt(Struct, frozen=True, kw_only=True):
    """One go at a cell. `failure` is what the platform failed with, where that is why there is no verdict."""

    report: CellReport
    failure: Kind | None = None
    retry_after: float | None = None


class Done(NamedTuple):
    """A cell that has ended."""

    spec: CellSpec
    report: CellReport


Work = Callable[[CellSpec], Awaitable[Attempt]]


class Executor(Protocol):
    """Runs cells somewhere. A spec is plain data with a content key, so it can be sent to wherever the work is done."""

    def run(self, specs: AsyncIterator[CellSpec], work: Work) -> AsyncGenerator[Done, None]:
        """Run every cell, and hand on each as it ends. A spec is asked for when it could begin; closing ends what runs."""
        ...


class LocalExecutor:
    """Runs cells in this process: at most `jobs` at once, and of each platform and model as many as it can take.

    A cell that its platform failed by something that may pass is run again, from the start and in a fresh workspace;
    meanwhile others have its place. Cells wait apart by platform and model, and go in turn, so none holds up another.
    """

    def __init__(self, jobs: int, patience: Patience | None = None) -> None:
        self._jobs = jobs
        self._patience = patience or Patience()

    async def run(self, specs: AsyncIterator[CellSpec], work: Work) -> AsyncGenerator[Done, None]:
        crew = _Crew(self._jobs, self._patience, specs, work)
        try:
            while crew.fill():
                done = await crew.next_done()
                if done is not None:
                    yield done
        finally:
            await crew.end()


class _Cell:
    """A cell on its way, with what became of it so far."""

    def __init__(self, spec: CellSpec, bounds: tuple[Bound, Bound]) -> None:
        self.spec = spec
        self.bounds = bounds
        self.earlier: list[CellReport] = []
        self.began = 0.0

    @property
    def has_room(self) -> bool:
        return all(bound.has_room for bound in self.bounds)

    @property
    def closed_secs(self) -> float:
        return max(bound.closed_secs for bound in self.bounds)


_Lane = tuple[str, str]


class _Crew:
    """The cells that run, those that wait for room, and those that rest before they are tried again."""

    def __init__(self, jobs: int, patience: Patience, specs: AsyncIterator[CellSpec], work: Work) -> None:
        self._jobs = jobs
        self._patience = patience
        self._specs: AsyncIterator[CellSpec] | None = specs
        self._work = work
        self._bounds: defaultdict[tuple[str, str], Bound] = defaultdict(lambda: Bound(jobs, patience))
        self._running: dict[asyncio.Task[Attempt], _Cell] = {}
        self._asking: asyncio.Task[CellSpec | None] | None = None
        self._lanes: dict[_Lane, deque[_Cell]] = {}
        self._resting: list[tuple[float, int, _Cell]] = []
        self._order = count()
        self._ended: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    def fill(self) -> bool:
        """Begin what there is room for, and ask for more; whether anything is left to wait for."""
        while len(self._running) < self._jobs and (cell := self._next()) is not None:
            self._begin(cell)
        if len(self._running) < self._jobs and self._specs is not None and self._asking is None:
            self._asking = self._start(self._ask(self._specs))
        waiting = any(self._lanes.values()) or bool(self._resting)
        return bool(self._running) or self._asking is not None or waiting

    async def next_done(self) -> Done | None:
        """Wait until something happens: the end of a cell, where it is final; else None."""
        task = await self._next_ended()
        if task is None:
            return None
        if task is self._asking:
            self._asking = None
            self._take(task.result())
            return None
        cell = self._running.pop(task)
        done = self._judge(cell, task.result())
        for bound in cell.bounds:
            bound.leave()
        return done

    async def end(self) -> None:
        """End whatever runs. Nobody is told how that went: it was not wanted any more."""
        tasks = [*self._running, *([self._asking] if self._asking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _next_ended(self) -> asyncio.Task[Any] | None:
        try:
            async with asyncio.timeout(self._idle_secs()):
                return await self._ended.get()
        except TimeoutError:
            return None

    def _idle_secs(self) -> float | None:
        """How long nothing can begin by itself; None where something must happen first."""
        if len(self._running) >= self._jobs:
            return None
        times = [self._resting[0][0] - time.monotonic()] if self._resting else []
        times += [secs for lane in self._lanes.values() if lane and (secs := lane[0].closed_secs) > 0]
        return max(0.0, min(times)) if times else None

    def _next(self) -> _Cell | None:
        """The first cell with room, of the lane that has had its turn the longest ago."""
        while self._resting and self._resting[0][0] <= time.monotonic():
            _, _, cell = heapq.heappop(self._resting)
            self._lane(cell).appendleft(cell)
        for lane, cells in self._lanes.items():
            if cells and cells[0].has_room:
                # To the end of the line.
                self._lanes[lane] = self._lanes.pop(lane)
                return cells.popleft()
        return None

    def _lane(self, cell: _Cell) -> deque[_Cell]:
        return self._lanes.setdefault((cell.spec.platform, cell.spec.model), deque())

    def _begin(self, cell: _Cell) -> None:
        for bound in cell.bounds:
            bound.enter()
        cell.began = time.monotonic()
        self._running[self._start(self._attempt(cell.spec))] = cell

    async def _attempt(self, spec: CellSpec) -> Attempt:
        return await self._work(spec)

    async def _ask(self, specs: AsyncIterator[CellSpec]) -> CellSpec | None:
        return await anext(specs, None)

    def _take(self, spec: CellSpec | None) -> None:
        if spec is None:
            self._specs = None
            return
        # A platform's own choice of a model is not that of another.
        model = self._bounds["model", spec.model] if spec.model else self._bounds["model of", spec.platform]
        cell = _Cell(spec, (self._bounds["platform", spec.platform], model))
        self._lane(cell).append(cell)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended.put_nowait)
        return task

    def _judge(self, cell: _Cell, attempt: Attempt) -> Done | None:
        """What an attempt says about its platform, and whether it was the last."""
        attempts = len(cell.earlier) + 1
        for bound in cell.bounds:
            if attempt.failure is None:
                bound.succeeded(cell.began)
            elif attempt.failure in TOO_MUCH:
                bound.was_too_much(cell.began, attempt.retry_after)
        if not self._patience.goes_again(attempt.failure, attempts, attempt.retry_after):
            return Done(cell.spec, with_earlier(attempt.report, cell.earlier))
        cell.earlier.append(attempt.report)
        rest = self._patience.wait_secs(attempts, attempt.retry_after)
        heapq.heappush(self._resting, (time.monotonic() + rest, next(self._order), cell))
        return None


def with_earlier(report: CellReport, earlier: list[CellReport]) -> CellReport:
    """A report that counts what the attempts before it used, and says why they were not the last."""
    if not earlier:
        return report
    every = [*earlier, report]
    failures = [f"attempt {number}: {_why(each)}" for number, each in enumerate(earlier, 1)]
    return replace(
        report,
        attempts=len(every),
        usage=told_total(each.usage for each in every),
        skill_usage=told_total(each.skill_usage for each in every),
        judge_usage=told_total(each.judge_usage for each in every),
        notes=[*report.notes, *failures],
    )


def _why(report: CellReport) -> str:
    return f"{report.error.kind}: {report.error.message}" if report.error is not None else str(report.status)
