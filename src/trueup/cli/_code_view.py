"""Watching a session: a live view on a terminal, plain lines off it, JSON lines for programs."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

import click

from trueup.coder import Step, Told, event_data, events
from trueup.contract import CheckCompleted, CheckStarted
from trueup.core.text import writable
from trueup.harness import Message, PlanText, Reasoning, ToolCall, ToolResult

from ._code_board import Board
from ._code_lines import noteworthy, one_line
from ._main import tell
from ._shared import console

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

REFRESHES_PER_SEC = 4

# What a live view shows while it lasts, and need not be read again afterwards.
_PASSING = (CheckStarted, CheckCompleted, Step, PlanText, Message, Reasoning, ToolCall, ToolResult)


class View(ABC):
    """A `Listener` that shows what it hears. Knows the session's id as soon as there is one."""

    def __init__(self) -> None:
        self.session_id = ""
        self.asked: events.UserInputRequested | None = None
        self._started = time.monotonic()
        self._turn = asyncio.Lock()

    @property
    def elapsed_secs(self) -> float:
        return time.monotonic() - self._started

    async def hear(self, told: Told) -> None:
        self.session_id = told.session_id
        if isinstance(told.event, events.UserInputRequested):
            self.asked = told.event
        # Checks that run side by side are told side by side.
        async with self._turn:
            await self._show(told)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:  # noqa: B027 - most have nothing to put away
        pass

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Show nothing for a while, since somebody is asked."""
        yield

    @abstractmethod
    async def _show(self, told: Told) -> None: ...


class JsonView(View):
    """One JSON object a line on stdout for every event, as it happens."""

    async def _show(self, told: Told) -> None:
        # Printing can block as long as a reader likes.
        await asyncio.to_thread(click.echo, json_line(event_data(told)))


class QuietView(View):
    """Shows nothing."""

    async def _show(self, told: Told) -> None:
        pass


class PlainView(View):
    """One line on stderr for every event that is worth one."""

    def __init__(self) -> None:
        super().__init__()
        self._is_introduced = False

    async def _show(self, told: Told) -> None:
        if not self._is_introduced:
            self._is_introduced = True
            await self._say(f"session {self.session_id}")
        said = noteworthy(told.event)
        if said is not None:
            await self._say(said)

    async def _say(self, text: str) -> None:
        # Nobody needs to be there to read it.
        with suppress(OSError):
            await asyncio.to_thread(tell, f"{self.elapsed_secs:6.1f} s  {text}")


class LiveView(PlainView):
    """A few lines on a terminal that are kept up to date, and above them what should stay readable."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board
        self._console = console()
        self._live: Live | None = None

    async def hear(self, told: Told) -> None:
        self._board = self._board.after(told.event)
        await super().hear(told)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._stop)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        await asyncio.to_thread(self._stop)
        yield
        # Not where something went wrong: then there is nothing more to show.
        await asyncio.to_thread(self._start)

    async def _show(self, told: Told) -> None:
        if not isinstance(told.event, _PASSING):
            await super()._show(told)

    async def _say(self, text: str) -> None:
        from rich.text import Text

        line = Text(f"{self.elapsed_secs:6.1f} s  {one_line(text)}")
        await asyncio.to_thread(self._console.print, line)

    def _start(self) -> None:
        from rich.live import Live

        # Rendered in a thread of its own, from a board that is replaced and never changed: the session does not wait.
        self._live = Live(
            get_renderable=self._rendered,
            console=self._console,
            refresh_per_second=REFRESHES_PER_SEC,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _rendered(self) -> Text:
        return rendered(self._board, self.elapsed_secs)


def rendered(board: Board, elapsed_secs: float) -> Text:
    """A board in colours. It is text and no markup, whatever an engine writes."""
    from rich.text import Text

    first, *others = board.lines(elapsed_secs)
    text = Text(first, style="bold", no_wrap=True, overflow="ellipsis")
    for line in others:
        text.append(f"\n{line}", style=_style(line))
    return text


def json_line(data: Any) -> str:
    """One line that every JSON reader takes."""
    return json.dumps(writable(data), ensure_ascii=False, allow_nan=False)


def _style(line: str) -> str:
    ends = {": green": "green", ": red": "red"}
    begins = {"  gate:": "red", "  flag:": "yellow"}
    found = [style for end, style in ends.items() if line.endswith(end)]
    found += [style for begin, style in begins.items() if line.startswith(begin)]
    return f"not bold {found[0]}" if found else "not bold"
