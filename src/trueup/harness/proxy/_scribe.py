"""Writing down what went through the proxy, in order, without holding up what flows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from trueup.core.protocols import Event, Recorder

# Something to be written down.
Job = Callable[[], Awaitable[None]]


class Scribe:
    """Hands events to a recorder, one after the other. A recorder that raises is one that wants an end."""

    def __init__(self, recorder: Recorder, on_objection: Callable[[Exception], None]) -> None:
        self._recorder = recorder
        self._on_objection = on_objection
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()
        self._writing = True

    def note(self, events: Sequence[Event]) -> None:
        """Have these recorded; works from a call that is being cancelled too."""
        for event in events:
            self.write_down(partial(self._recorder.record, event))

    def write_down(self, job: Job) -> None:
        """Have something done after everything that came before it."""
        self._waiting.put_nowait(job)

    async def settled(self) -> None:
        """Wait until everything that was noted before is written down."""
        written = asyncio.Event()

        async def mark() -> None:
            written.set()

        if self._writing:
            self.write_down(mark)
            await written.wait()

    async def write(self) -> None:
        """Write, for as long as the proxy is there."""
        try:
            while True:
                await self._do(await self._waiting.get())
        finally:
            self._writing = False

    async def _do(self, job: Job) -> None:
        try:
            await job()
        except Exception as error:  # noqa: BLE001 - nothing may be served that cannot be accounted for
            self._on_objection(error)
