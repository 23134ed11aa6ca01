"""Events on their way to the recorder: one after the other, in the order in which they happened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from trueup.core.protocols import Event, Recorder

MOST_WAITING = 1000


class Telling:
    """Takes events from whoever has some, without waiting, and records them as fast as the recorder takes them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._waiting: asyncio.Queue[Event] = asyncio.Queue()
        self._has_room = asyncio.Event()
        self._has_room.set()

    def tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self._waiting.put_nowait(event)
        if self._waiting.qsize() > MOST_WAITING:
            self._has_room.clear()

    async def has_room(self) -> None:
        """Return when not too much waits."""
        await self._has_room.wait()

    async def record_all(self) -> None:
        """Record for as long as this is not cancelled; raises what the recorder raises."""
        while True:
            await self._recorder.record(await self._waiting.get())
            self._waiting.task_done()
            if self._waiting.qsize() <= MOST_WAITING // 2:
                self._has_room.set()

    async def is_told(self) -> None:
        """Return when everything is recorded."""
        await self._waiting.join()
