"""Whoever wants to know of every session that changes, whichever process changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from trueup.coder import Sessions
from trueup.core.errors import TrueupError

from .._callbacks import ClientGoneError
from ._view import SessionRow, session_row

# How soon a change is seen. The list is read once for all who watch, and only while anybody does.
LOOK_SECS = 0.5

Rows = dict[str, SessionRow]
Tell = Callable[[SessionRow], Awaitable[None]]


class Watchers:
    """Tells each watcher of every session that is not as that watcher knows it; a slow one misses what is past."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._rows: Rows = {}
        self._looked = asyncio.Condition()
        self._watching: dict[object, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None

    def __contains__(self, who: object) -> bool:
        return who in self._watching

    async def add(self, who: object, tell: Tell) -> list[SessionRow]:
        """Every session now; `tell` is called with each that changes after that."""
        rows = await self._list()
        self.remove(who)
        self._watching[who] = asyncio.create_task(self._watch(tell, rows))
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return [*rows.values()]

    def remove(self, who: object) -> bool:
        """Whether they watched."""
        task = self._watching.pop(who, None)
        if task is not None:
            task.cancel()
        if self._looking is not None and not self._watching:
            self._looking.cancel()
            self._looking = None
        return task is not None

    def close(self) -> None:
        """Tell nobody anything more."""
        for who in tuple(self._watching):
            self.remove(who)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECS)
            # A database that is busy for long is asked again.
            with suppress(TrueupError):
                rows = await self._list()
                async with self._looked:
                    self._rows = rows
                    self._looked.notify_all()

    async def _watch(self, tell: Tell, known: Rows) -> None:
        with suppress(ClientGoneError):
            while True:
                async with self._looked:
                    await self._looked.wait()
                    rows = self._rows
                for session_id, row in reversed(rows.items()):
                    if known.get(session_id) != row:
                        await tell(row)
                known = rows

    async def _list(self) -> Rows:
        return {each.id: session_row(each) for each in await self._sessions.list()}
