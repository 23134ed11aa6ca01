"""Writes a proposal's turns down while its actions run."""

from __future__ import annotations

import asyncio

from trueup.runs import Turn

from ._ground import Ground


class Scribe:
    """Keeps turns in few appends: what comes while one append is under way goes into the next."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._turns: list[Turn] = []
        self._writing: asyncio.Task[None] | None = None

    def note(self, turn: Turn) -> None:
        """Take a turn; it is written by the next `begin` or `finish`."""
        self._turns.append(turn)

    def begin(self) -> None:
        """Start to write what was noted, before waiting for something that may take long; raises what went wrong."""
        if self._writing is not None and self._writing.done():
            writing, self._writing = self._writing, None
            writing.result()
        if self._turns and self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def finish(self) -> None:
        """Return when everything is written. A cancel waits for that: half of what happened is not a trace."""
        self.begin()
        cancelled: asyncio.CancelledError | None = None
        while self._writing is not None and not self._writing.done():
            try:
                await asyncio.shield(self._writing)
            except asyncio.CancelledError as error:
                cancelled = error
        self.begin()
        if cancelled is not None:
            raise cancelled

    async def _write(self) -> None:
        while self._turns:
            turns, self._turns = self._turns, []
            await self._ground.record(turns)
