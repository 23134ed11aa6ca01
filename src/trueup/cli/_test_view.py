"""Watching a run of skill tests: a live table on a terminal, plain lines off it, JSON lines for programs and files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TextIO

from trueup.skills import Arm, CellReport, CellSpec, Plan, cell_line

from ._code_lines import counted
from ._code_view import REFRESHES_PER_SEC
from ._main import tell
from ._shared import console, is_live
from ._test_board import Board
from ._test_board import cell_line as line_of

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text


class View:
    """A `Watcher` that shows nothing."""

    async def planned(self, plan: Plan) -> None:
        pass

    async def began(self, spec: CellSpec) -> None:
        pass

    async def ended(self, report: CellReport) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class PlainView(View):
    """One line on stderr for each cell that ends."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def elapsed_secs(self) -> float:
        return time.monotonic() - self._started

    async def planned(self, plan: Plan) -> None:
        wide = f"{counted(len(plan.config.platforms), 'platform')} × {counted(len(plan.config.models), 'model')}"
        arms = " × with and without the skill" if len(plan.arms) > 1 else ""
        await self._say(
            f"{counted(len(plan), 'cell')}: {counted(len(plan.cases), 'case')} × {wide} × {counted(plan.repeat, 'repeat')}{arms}"
        )

    async def ended(self, report: CellReport) -> None:
        await self._say(line_of(report))

    async def _say(self, text: str) -> None:
        # Nobody needs to be there to read it.
        with suppress(OSError):
            await asyncio.to_thread(tell, f"{self.elapsed_secs:6.1f} s  {text}")


class LiveView(View):
    """A table on a terminal that is kept up to date, and goes when the report comes."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._board = Board()
        self._running: set[tuple[str, str, str, int, Arm]] = set()
        self._live: Live | None = None

    async def planned(self, plan: Plan) -> None:
        self._board = Board.of(plan)

    async def began(self, spec: CellSpec) -> None:
        place = (spec.case.name, spec.platform, spec.model, spec.repeat, spec.arm)
        # One that is tried again has not stopped for us.
        if place not in self._running:
            self._running.add(place)
            self._board = self._board.began(spec.platform, spec.model)

    async def ended(self, report: CellReport) -> None:
        place = (report.case, report.platform, report.model, report.repeat, report.arm)
        if place in self._running:
            self._running.discard(place)
            self._board = self._board.left(report.platform, report.model)
        self._board = self._board.ended(report)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._start)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._live is not None:
            await asyncio.to_thread(self._live.stop)

    def _start(self) -> None:
        from rich.live import Live

        # Rendered in a thread of its own, from a board that is replaced and never changed: no cell waits for it.
        self._live = Live(
            get_renderable=self._rendered,
            console=console(),
            refresh_per_second=REFRESHES_PER_SEC,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _rendered(self) -> Text:
        from rich.text import Text

        first, *others = self._board.lines(time.monotonic() - self._started)
        text = Text(first, style="bold", no_wrap=True, overflow="ellipsis")
        for line in others:
            is_trouble = line.startswith(("  failed", "  error"))
            text.append(f"\n{line}", style="not bold red" if is_trouble else "not bold")
        return text


class StreamView(View):
    """A JSON line for each cell that ends, on a stream: whoever reads it, or finds it after a crash, has them all."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._turn = asyncio.Lock()

    async def ended(self, report: CellReport) -> None:
        async with self._turn:
            await asyncio.to_thread(self._write, cell_line(report))

    def _write(self, line: str) -> None:
        self._stream.write(line)
        self._stream.flush()


class Views(View):
    """Several that watch the same run."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views

    async def planned(self, plan: Plan) -> None:
        for view in self._views:
            await view.planned(plan)

    async def began(self, spec: CellSpec) -> None:
        for view in self._views:
            await view.began(spec)

    async def ended(self, report: CellReport) -> None:
        for view in self._views:
            await view.ended(report)

    async def __aenter__(self) -> Self:
        for view in self._views:
            await view.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for view in self._views:
            await view.__aexit__()


def progress(*, quiet: bool) -> View:
    """How a run is watched by people."""
    if quiet:
        return View()
    return LiveView() if is_live() else PlainView()
