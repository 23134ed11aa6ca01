"""What somebody follows: what the daemon tells of it waits here until it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from trueup.core.errors import InputError

from .._jsonrpc import Request
from ._errors import ConnectionLostError
from ._link import decoded

# What waits beyond this is left, and asked for again once there is room.
MOST_WAITING = 1000

# The notifications that a follower gets, by what names the thing it follows; those that say that no more will come.
_SUBJECTS = {
    "runs.trace.event": "run_id",
    "runs.trace.dropped": "run_id",
    "coder.event": "session_id",
    "coder.event_dropped": "session_id",
}
_DROPPED = ("runs.trace.dropped", "coder.event_dropped")


class _Subject(Struct, frozen=True):
    run_id: str = ""
    session_id: str = ""


class Inbox:
    """The events of one thing that is followed."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Request | None] = asyncio.Queue()
        self._cut = False
        self._lost: ConnectionLostError | None = None

    def put(self, notice: Request) -> None:
        """Take in an event; one for which there is no room ends what can be taken without asking again."""
        if self._cut:
            return
        if notice.method in _DROPPED or self._events.qsize() >= MOST_WAITING:
            self._end()
        else:
            self._events.put_nowait(notice)

    def lose(self, error: ConnectionLostError) -> None:
        """Nothing more will come."""
        self._lost = error
        self._end()

    def _end(self) -> None:
        self._cut = True
        self._events.put_nowait(None)

    def renew(self) -> None:
        """Take in events again; a new subscription is about to be asked for."""
        self._cut = False

    async def next(self, kind: Any) -> Any:
        """The next event, typed; None where further ones have to be asked for again."""
        notice = await self._events.get()
        if notice is not None:
            return decoded(notice.params, kind, notice.method)
        if self._lost is not None:
            raise self._lost
        return None


class Inboxes:
    """Everything that is followed over one connection. The daemon sends each thing once, so one follower has it."""

    def __init__(self) -> None:
        self._by_subject: dict[tuple[str, str], Inbox] = {}

    @contextmanager
    def open(self, subject: str, name: str) -> Iterator[Inbox]:
        """Have the events of something, for as long as the block lasts."""
        key = (subject, name)
        if key in self._by_subject:
            raise InputError(f"{name} is followed by this client already; follow it once, or from another connection")
        inbox = self._by_subject[key] = Inbox()
        try:
            yield inbox
        finally:
            del self._by_subject[key]

    def deliver(self, notice: Request) -> None:
        """Put an event where somebody waits for it; what nobody follows is let go."""
        subject = _SUBJECTS.get(notice.method)
        if subject is None:
            return
        name = getattr(decoded(notice.params, _Subject, notice.method), subject)
        inbox = self._by_subject.get((subject, name))
        if inbox is not None:
            inbox.put(notice)

    def lose(self, error: ConnectionLostError) -> None:
        """Nothing more will come to anybody."""
        for inbox in self._by_subject.values():
            inbox.lose(error)
