"""Following runs: everything that is written, once and in order, to whoever asked for it.

What a subscriber has not taken yet waits in a bounded queue, and behind it in the database. One whose queue stays full
is dropped: it is told so, with the cursor of the last record it was sent, and can subscribe again from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.runs import Ended, RunInfo, StoredRecord

from ._callbacks import ClientGoneError
from ._errors import Code, RpcError

if TYPE_CHECKING:
    from ._connection import Connection

QUEUE_RECORDS = 64
SLOW_SECS = 5.0
MOST_SUBSCRIPTIONS = 64
TOO_SLOW = "events were not taken quickly enough; subscribe again from this cursor"


def wire_record(stored: StoredRecord) -> dict[str, Any]:
    """A record as clients see it: its fields by its kind, and its time."""
    record: dict[str, Any] = msgspec.to_builtins(stored.record)
    record["at"] = stored.at
    return record


Notice = tuple[str, Any]


class Feed(Struct, frozen=True):
    """What somebody follows: the records of a run after so many, and what each is told as; None leaves one out.

    `dropped` is what is told with the number of records that were dealt with, where the rest will not come.
    """

    run_id: str
    cursor: int
    event: Callable[[StoredRecord], Notice | None]
    dropped: Callable[[int], Notice]


def run_feed(run: RunInfo, cursor: int) -> Feed:
    """A run as `runs.subscribe` gives it. A cursor counts the records up to and with the one that it comes with."""
    about = {"run_id": run.run_id, "agent_id": run.agent_id}

    def event(stored: StoredRecord) -> Notice:
        record = stored.record
        status = record.status if isinstance(record, Ended) else "in_progress"
        return "runs.trace.event", about | {"record": wire_record(stored), "cursor": stored.seq + 1, "status": status}

    def dropped(cursor: int) -> Notice:
        return "runs.trace.dropped", about | {"cursor": cursor, "reason": TOO_SLOW}

    return Feed(run.run_id, cursor, event, dropped)


class Subscription:
    """One client that follows something."""

    def __init__(self, connection: Connection, feed: Feed) -> None:
        self._connection = connection
        self._feed = feed
        self._cursor = feed.cursor
        self._queue: asyncio.Queue[StoredRecord | None] = asyncio.Queue(QUEUE_RECORDS)
        self._dropped = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, on_end: Callable[[], None]) -> None:
        """Send what comes after the cursor, until the run has ended."""
        sender = asyncio.create_task(self._send_all())
        self._tasks = [asyncio.create_task(self._read_all()), sender]
        sender.add_done_callback(lambda _: on_end())

    def stop(self) -> None:
        """Send nothing more."""
        for task in self._tasks:
            task.cancel()

    async def _read_all(self) -> None:
        store = self._connection.daemon.store
        following = cast("AsyncGenerator[StoredRecord]", store.follow(self._feed.run_id, after=self._cursor - 1))
        try:
            async with asyncio.timeout(None) as patience, aclosing(following):
                async for stored in following:
                    if self._queue.full():
                        patience.reschedule(asyncio.get_running_loop().time() + self._connection.daemon.slow_secs)
                        await self._queue.put(stored)
                        patience.reschedule(None)
                    else:
                        self._queue.put_nowait(stored)
                await self._queue.put(None)
        except (TimeoutError, TrueupError):
            self._dropped = True
            if not self._queue.full():
                self._queue.put_nowait(None)

    async def _send_all(self) -> None:
        with suppress(ClientGoneError):
            while not self._dropped and (stored := await self._queue.get()) is not None:
                notice = self._feed.event(stored)
                if notice is not None:
                    await self._connection.notify(*notice)
                self._cursor = stored.seq + 1
            if self._dropped:
                await self._connection.notify(*self._feed.dropped(self._cursor))


class Subscriptions:
    """What one connection follows, by a key of the one who began it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # A feed is one that was promised; it is followed when its client was told so.
        self._by_key: dict[str, Subscription | Feed] = {}
        self._closed = False

    def promise(self, key: str, feed: Feed) -> Callable[[], None]:
        """Take a place for what will be followed, instead of what was under the same key; called, it begins."""
        if key not in self._by_key and len(self._by_key) >= MOST_SUBSCRIPTIONS:
            raise RpcError(Code.BUSY, f"{MOST_SUBSCRIPTIONS} runs are followed already; unsubscribe from one first")
        self.end(key)
        if not self._closed:
            self._by_key[key] = feed
        return lambda: self._begin(key, feed)

    def _begin(self, key: str, feed: Feed) -> None:
        if self._by_key.get(key) is not feed:
            # Ended, or asked for anew, before its client could hear of it.
            return
        subscription = Subscription(self._connection, feed)
        self._by_key[key] = subscription
        subscription.start(lambda: self._forget(key, subscription))

    def end(self, key: str) -> bool:
        """Whether there was something to end."""
        ended = self._by_key.pop(key, None)
        if isinstance(ended, Subscription):
            ended.stop()
        return ended is not None

    def close(self) -> None:
        """End them all; nothing more begins."""
        self._closed = True
        for key in tuple(self._by_key):
            self.end(key)

    def _forget(self, key: str, subscription: Subscription) -> None:
        subscription.stop()
        if self._by_key.get(key) is subscription:
            del self._by_key[key]
