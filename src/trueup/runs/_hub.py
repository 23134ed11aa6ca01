"""Who follows which run. However many they are, what was written is read once.

What this store writes is handed on from memory when it is on disk. What others write is found by one question a few
times a second, for all runs that anybody follows, and then read once for each run.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from trueup.core.errors import InfrastructureError, TrueupError

from ._records import StoredRecord

# How soon a follower sees what another process wrote; what this one wrote it sees at once.
POLL_SECS = 0.2
PAGE = 1000
# What a follower may have before it in memory. One that is slower reads from the database.
MOST_WAITING = 1000
# How long what is being written may take before it is looked for all the same.
HAND_ON_SECS = 1.0


class Written(NamedTuple):
    """A record and the run that it belongs to."""

    run_id: str
    stored: StoredRecord


class Reads(NamedTuple):
    """The two questions that the hub asks."""

    counts: Callable[[list[str]], Awaitable[dict[str, int]]]
    page: Callable[[str, int], Awaitable[list[StoredRecord]]]


class Listener:
    """One follower's records. `behind` says that some did not fit, and have to be read."""

    def __init__(self) -> None:
        self._waiting: deque[StoredRecord] = deque()
        self._news = asyncio.Event()
        self._closed = False
        self.behind = False

    def give(self, records: Iterable[StoredRecord]) -> None:
        """Hand records over."""
        if not self.behind:
            self._waiting.extend(records)
            self.behind = len(self._waiting) > MOST_WAITING
        self._news.set()

    def fall_behind(self) -> None:
        """Nothing can be handed over; let the follower find out why."""
        self.behind = True
        self._news.set()

    def close(self) -> None:
        """The store is closed."""
        self._closed = True
        self._news.set()

    def start_over(self) -> None:
        """Forget everything: it is read anew."""
        self._waiting.clear()
        self.behind = False

    async def take(self) -> list[StoredRecord]:
        """Everything that waits, once something does; nothing where it is `behind`."""
        await self._news.wait()
        self._news.clear()
        if self._closed:
            raise InfrastructureError("the store was closed while somebody followed a run")
        taken = [] if self.behind else list(self._waiting)
        self._waiting.clear()
        return taken


class Tap:
    """Everything that this store writes, as much as fits; the rest is counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: deque[Written] = deque()
        self._news = asyncio.Event()
        self.closed = False
        self.dropped = 0

    def give(self, written: Written) -> None:
        """Let a record wait, if there is room."""
        if len(self._waiting) < self._most:
            self._waiting.append(written)
            self._news.set()
        else:
            self.dropped += 1

    def close(self) -> None:
        """Nothing comes any more."""
        self.closed = True
        self._news.set()

    async def ready(self) -> bool:
        """True once something waits; false where nothing does, and nothing comes any more."""
        while not self._waiting and not self.closed:
            self._news.clear()
            await self._news.wait()
        return bool(self._waiting)

    def take(self, most: int) -> list[Written]:
        """As many as wait."""
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]


class _Feed:
    """The followers of one run, and how far they have all been brought. None: that is still being read."""

    def __init__(self, run_id: str, reads: Reads) -> None:
        self._run_id = run_id
        self._reads = reads
        self._reading: asyncio.Task[None] | None = None
        self._missed = False
        self.next: int | None = None
        self.listeners: set[Listener] = set()

    def begin(self, count: int) -> None:
        """What comes from here on is handed over; what was before each follower reads."""
        if self.next is None:
            self.next = count
            if self._missed:
                self.catch_up()

    def take(self, records: list[StoredRecord]) -> None:
        """Records that follow each other."""
        if self.next is None:
            self._missed = True
            return
        new = [each for each in records if each.seq >= self.next]
        if new and new[0].seq > self.next:
            # Another process wrote in between.
            self.catch_up()
        elif new:
            self.next = new[-1].seq + 1
            for listener in self.listeners:
                listener.give(new)

    def learn(self, count: int) -> None:
        """How many records there are."""
        if self.next is not None and count > self.next:
            self.catch_up()

    def catch_up(self) -> None:
        """Read what is missing, one reader for all."""
        self._missed = True
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while self._missed and self.next is not None:
                page = await self._reads.page(self._run_id, self.next - 1)
                self._missed = len(page) == PAGE
                self.take(page)
        except TrueupError:
            # Each finds the same error when it reads by itself.
            for listener in self.listeners:
                listener.fall_behind()

    async def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading


class Hub:
    """Hands on what was written. Followers of one store live on one loop."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._feeds: dict[str, _Feed] = {}
        self._taps: set[Tap] = set()
        self._poller: asyncio.Task[None] | None = None
        # Writes that were begun and published; the thread that writes counts.
        self._begun = 0
        self._published = 0

    def begin(self) -> None:
        """Know of a write before it can be seen by others. Called by the thread that writes; `publish` is its end."""
        self._begun += 1

    def is_followed(self, run_id: str) -> bool:
        """Whether `publish` is to be told of the run's records. Called by the thread that writes."""
        return bool(self._taps) or run_id in self._feeds

    def publish(self, written: dict[str, list[StoredRecord]]) -> None:
        """Tell of records that are on disk. Called by the thread that writes, in the order of the commits."""
        if written and self._loop is not None:
            # A loop that was closed has nobody left who listens.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._hand_on, written)
        self._published = self._begun

    def _hand_on(self, written: dict[str, list[StoredRecord]]) -> None:
        for run_id, records in written.items():
            if run_id in self._feeds:
                self._feeds[run_id].take(records)
            for tap in self._taps:
                for stored in records:
                    tap.give(Written(run_id, stored))

    @asynccontextmanager
    async def listening(self, run_id: str) -> AsyncIterator[Listener]:
        """A listener that is given every record which is written from now on."""
        self._loop = asyncio.get_running_loop()
        feed = self._feeds.setdefault(run_id, _Feed(run_id, self._reads))
        listener = Listener()
        feed.listeners.add(listener)
        try:
            if feed.next is None:
                feed.begin((await self._reads.counts([run_id])).get(run_id, 0))
            if self._poller is None:
                self._poller = asyncio.create_task(self._poll())
            yield listener
        finally:
            feed.listeners.discard(listener)
            await self._tidy(run_id, feed)

    @asynccontextmanager
    async def tapped(self, most: int) -> AsyncIterator[Tap]:
        """Everything that this store writes from now on."""
        self._loop = asyncio.get_running_loop()
        tap = Tap(most)
        self._taps.add(tap)
        try:
            yield tap
        finally:
            self._taps.discard(tap)

    async def close(self) -> None:
        """Let every follower know that nothing comes any more."""
        for feed in self._feeds.values():
            await feed.stop()
            for listener in feed.listeners:
                listener.close()
        await self._stop_polling()

    async def _tidy(self, run_id: str, feed: _Feed) -> None:
        if not feed.listeners and self._feeds.get(run_id) is feed:
            del self._feeds[run_id]
            await feed.stop()
        if not self._feeds:
            await self._stop_polling()

    async def _stop_polling(self) -> None:
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.cancel()
            with suppress(asyncio.CancelledError):
                await poller

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECS)
            try:
                counts = await self._reads.counts(list(self._feeds))
            except TrueupError:
                for listener in [each for feed in self._feeds.values() for each in feed.listeners]:
                    listener.fall_behind()
                continue
            await self._until_published(self._begun)
            for run_id, count in counts.items():
                if run_id in self._feeds:
                    self._feeds[run_id].learn(count)

    async def _until_published(self, begun: int) -> None:
        """Let what this store wrote itself come from memory: it can be counted on disk a moment before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_ON_SECS):
                while self._published < begun:  # noqa: ASYNC110 - a thread counts, which knows no event of the loop
                    await asyncio.sleep(0.005)
        # What was published is handed on before anybody else has their turn.
        await asyncio.sleep(0)
