"""The store as the rest of trueup knows it: asynchronous, with nothing that blocks the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from trueup.core.errors import InputError

from ._encoding import encode_json
from ._ids import now
from ._records import Appended, Ended, Record, RunInfo, Started, StoredRecord, Verification

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ._database import Database
    from ._writes import Write

# The class has a `list` of its own.
StoredRecords = list[StoredRecord]

P = ParamSpec("P")
T = TypeVar("T")

READERS = 4
# How soon a follower sees what another process wrote; what this one wrote it sees at once.
POLL_SECS = 0.2
PAGE = 1000


class RunStore:
    """Runs and their records: `async with await RunStore.open() as store`."""

    def __init__(self, database: Database) -> None:
        from ._writer import Writer

        self._database = database
        self._writer = Writer(database)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="trueup-runs-reader")
        self._followers: dict[str, set[asyncio.Event]] = {}

    @classmethod
    async def open(cls, url: str | None = None) -> Self:
        """Open the database at `sqlite:///PATH`, else the user's own, making or updating it where necessary."""
        return cls(await asyncio.to_thread(_open, url))

    async def aclose(self) -> None:
        """Finish what is being written, and let go of the database."""
        await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(
        self, started: Started, *, run_id: str | None = None, kind: str = "run", idempotency_key: str | None = None
    ) -> RunInfo:
        """Begin a run. The same key, from the same agent and for the same kind of run, gives the same run."""
        from ._writes import Start

        key = None if idempotency_key is None else encode_json([kind, started.agent_id, idempotency_key]).decode()
        run: RunInfo = await self._write(Start(started, now(), kind, run_id, key))
        return run

    async def append(self, run_id: str, records: Sequence[Record]) -> Appended:
        """Add records, adjacent and in this order, all or none; on disk when this returns.

        Turns are numbered by the store. Cancelled, the records are either all there or not at all. `count` is of
        records.
        """
        from ._writes import Append

        appended: Appended = await self._write(Append(run_id, tuple(records), now()))
        self._wake_followers(run_id)
        return appended

    async def end(self, run_id: str, ended: Ended) -> None:
        """End a run; an `InputError` where there is none or it has ended."""
        from ._writes import End

        await self._write(End(run_id, ended, now()))
        self._wake_followers(run_id)

    async def get(self, run_id: str) -> RunInfo | None:
        """One run by its whole id."""
        from ._reads import get

        return await self._read(get, run_id)

    async def find(self, prefix: str, kind: str | None = None) -> RunInfo:
        """The one run whose id begins so; an `InputError` where there is none or more than one."""
        from ._reads import find

        return await self._read(find, prefix, kind)

    async def list(
        self, *, kind: str | None = None, agent_id: str | None = None, limit: int | None = None
    ) -> list[RunInfo]:
        """Runs, newest first."""
        from ._reads import list_runs

        return await self._read(list_runs, kind, agent_id, limit)

    async def trace(
        self, run_id: str, *, after: int = -1, limit: int | None = None, types: Collection[str] | None = None
    ) -> StoredRecords:
        """Records in order, payloads and all. `types` are kinds of records, or types of events."""
        from ._reads import trace

        return await self._read(trace, run_id, after, limit, types)

    async def follow(self, run_id: str, *, after: int = -1) -> AsyncIterator[StoredRecord]:
        """Records as they are written, by whichever process, until the run has ended. None is left out."""
        if await self.get(run_id) is None:
            raise InputError(f"there is no run {run_id}; `trueup runs list` shows those that there are")
        news = asyncio.Event()
        self._followers.setdefault(run_id, set()).add(news)
        try:
            while True:
                news.clear()
                page = await self.trace(run_id, after=after, limit=PAGE)
                for stored in page:
                    yield stored
                    after = stored.seq
                    if isinstance(stored.record, Ended):
                        return
                if len(page) < PAGE:
                    await _wait(news, POLL_SECS)
        finally:
            self._followers[run_id].discard(news)
            if not self._followers[run_id]:
                del self._followers[run_id]

    async def latest(self, run_ids: str | Sequence[str], event_type: str) -> dict[str, StoredRecord]:
        """The newest event of a type for each of these runs that has one, in one question."""
        from ._reads import latest

        return await self._read(latest, [run_ids] if isinstance(run_ids, str) else [*run_ids], event_type)

    async def verify(self, run_id: str) -> Verification:
        """Whether every record and payload of a run is there and as it was written."""
        from ._verify import verify

        return await self._read(verify, run_id)

    async def _write(self, write: Write) -> Any:
        return await self._writer.submit(write)

    async def _read(self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def ask() -> T:
            with self._database.reading() as connection:
                return question(connection, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._readers, ask)

    def _wake_followers(self, run_id: str) -> None:
        for news in self._followers.get(run_id, ()):
            news.set()

    def _close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        self._database.close()


def _open(url: str | None) -> Database:
    # Here, so that a command that records nothing does not wait for SQLAlchemy.
    from ._database import Database

    return Database.open(url)


async def _wait(news: asyncio.Event, at_most_secs: float) -> None:
    try:
        async with asyncio.timeout(at_most_secs):
            await news.wait()
    except TimeoutError:
        pass
