"""The store as the rest of trueup knows it: asynchronous, with nothing that blocks the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from trueup.core.errors import InputError, TrueupError
from trueup.core.usage import Usage

from ._encoding import encode_json
from ._hub import PAGE, Hub, Reads, Tap
from ._ids import now
from ._records import Appended, Ended, Found, Outlined, Pruned, Record, RunInfo, Started, StoredRecord, Verification

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ._database import Database
    from ._ownership import Lock
    from ._reads import Place
    from ._writes import Write

# The class has a `list` of its own.
StoredRecords = list[StoredRecord]
FoundRecords = list[Found]
Outlines = list[Outlined]
Names = list[str]

P = ParamSpec("P")
T = TypeVar("T")

READERS = 4
# How soon an owner of runs is known again after its database was away.
KEEP_SECS = 5
TURNS = frozenset({"turn", "model_turn"})


class RunStore:
    """Runs and their records: `async with await RunStore.open() as store`."""

    def __init__(self, database: Database) -> None:
        from ._reads import counts
        from ._writer import Writer

        self._database = database
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="trueup-runs-reader")
        self._hub = Hub(Reads(lambda run_ids: self._read(counts, run_ids), self._page))
        self._writer = Writer(database, self._hub)

    @classmethod
    async def open(cls, url: str | None = None) -> Self:
        """Open the database at `sqlite:///PATH` or `postgresql://…`, made or brought up to date where necessary.

        Without an address it is the one in `TRUEUP_DATABASE_URL`, else a file of the user's.
        """
        return cls(await asyncio.to_thread(_open, url))

    async def aclose(self) -> None:
        """Finish what is being written, and let go of the database."""
        await self._hub.close()
        await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(
        self,
        started: Started,
        *,
        run_id: str | None = None,
        kind: str = "run",
        idempotency_key: str | None = None,
        owner: str | None = None,
    ) -> RunInfo:
        """Begin a run. The same key, from the same agent and for the same kind of run, gives the same run.

        To one that has an owner, by `owning`, only those write who name it.
        """
        from ._writes import Start

        key = None if idempotency_key is None else encode_json([kind, started.agent_id, idempotency_key]).decode()
        run: RunInfo = await self._write(Start(started, now(), kind, run_id, key, owner))
        return run

    async def append(self, run_id: str, records: Sequence[Record], *, owner: str | None = None) -> Appended:
        """Add records, adjacent and in this order, all or none; on disk when this returns.

        Turns are numbered by the store. Cancelled, the records are either all there or not at all. `count` is of
        records.
        """
        from ._writes import Append

        appended: Appended = await self._write(Append(run_id, tuple(records), now(), owner))
        return appended

    async def end(self, run_id: str, ended: Ended, *, owner: str | None = None) -> None:
        """End a run; an `InputError` where there is none, it has ended, or it is another's."""
        from ._writes import End

        await self._write(End(run_id, ended, now(), owner))

    @asynccontextmanager
    async def owning(self) -> AsyncIterator[str]:
        """A name for an owner of runs, alive until the block ends or this process dies, however it does."""
        from ._ownership import take

        name, lock = await asyncio.to_thread(take, self._database)
        keeping = asyncio.create_task(_keep(lock))
        try:
            yield name
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
            await asyncio.to_thread(lock.release)

    async def abandon_orphans(self, kind: str | None = None) -> Names:
        """End every open run whose owner died, as `incomplete`; which they were.

        Runs without an owner are left alone: a session, for one, has a lease of its own, and can be resumed.
        """
        from ._ownership import is_alive, orphans

        ended = []
        for owner, run_ids in (await self._read(orphans, kind)).items():
            if await asyncio.to_thread(is_alive, self._database, owner):
                continue
            for run_id in run_ids:
                # Somebody else may have been faster.
                with suppress(InputError):
                    await self.end(run_id, Ended("incomplete", termination=f"its owner {owner} is gone"), owner=owner)
                    ended.append(run_id)
        return ended

    async def get(self, run_id: str) -> RunInfo | None:
        """One run by its whole id."""
        from ._reads import get

        return await self._read(get, run_id)

    async def find(self, prefix: str, kind: str | None = None) -> RunInfo:
        """The one run whose id begins so; an `InputError` where there is none or more than one."""
        from ._reads import find

        return await self._read(find, prefix, kind)

    async def list(
        self,
        *,
        kind: str | None = None,
        agent_id: str | None = None,
        status: str | None = None,
        before: Place | None = None,
        limit: int | None = None,
    ) -> list[RunInfo]:
        """Runs, newest first; those that come after one of them where `before` is its `place`."""
        from ._reads import list_runs

        return await self._read(list_runs, kind, agent_id, status, before, limit)

    async def kinds_and_agents(self, most: int = 10_000) -> tuple[Names, dict[str, str]]:
        """Kinds and agents of the newest runs, to choose from; agents are ids with their names."""
        from ._reads import kinds_and_agents

        return await self._read(kinds_and_agents, most)

    async def trace(
        self, run_id: str, *, after: int = -1, limit: int | None = None, types: Collection[str] | None = None
    ) -> StoredRecords:
        """Records in order, payloads and all. `types` are kinds of records, or types of events."""
        from ._reads import trace

        return await self._read(trace, run_id, after, limit, types)

    async def outline(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Outlines:
        """Records in order, without what is large in them: as much as a person sees at first."""
        from ._outline import outline

        return await self._read(outline, run_id, after, limit)

    async def usage(self, run_id: str, *, after: int = -1, until: int) -> Usage | None:
        """What the model turns of a part of a run used together; None where there are none."""
        from ._outline import usage

        return await self._read(usage, run_id, after, until)

    async def turns(self, run_id: str, *, after: int = -1, limit: int | None = None) -> StoredRecords:
        """The turns and model turns of a run, and nothing else; `after` is a `seq`."""
        return await self.trace(run_id, after=after, limit=limit, types=TURNS)

    async def pages(self, run_id: str, *, after: int = -1, until: int | None = None) -> AsyncIterator[StoredRecords]:
        """The records of a run as it is now, a thousand at a time, however many there are."""
        while page := await self._page(run_id, after):
            yield page if until is None else [each for each in page if each.seq <= until]
            after = page[-1].seq
            if len(page) < PAGE or (until is not None and after >= until):
                return

    async def follow(self, run_id: str, *, after: int = -1) -> AsyncIterator[StoredRecord]:
        """Records as they are written, by whichever process, until the run has ended. None is left out.

        The first has the number after `after`, and each the one after the last: to have a snapshot and what follows
        it, read until any `seq`, and follow from there.
        """
        async with self._hub.listening(run_id) as listener:
            run = await self._known(run_id)
            while True:
                listener.start_over()
                async for page in self.pages(run_id, after=after):
                    for stored in page:
                        yield stored
                        after = stored.seq
                        if isinstance(stored.record, Ended):
                            return
                if run.ended:
                    return
                while not listener.behind:
                    for stored in await listener.take():
                        if stored.seq > after:
                            yield stored
                            after = stored.seq
                            if isinstance(stored.record, Ended):
                                return

    async def subscribe(self, run_id: str) -> tuple[RunInfo, AsyncIterator[StoredRecord]]:
        """A run as it is, and every record from then on: the first has the number `record_count`."""
        run = await self._known(run_id)
        return run, self.follow(run_id, after=run.record_count - 1)

    def tapped(self, most: int) -> AbstractAsyncContextManager[Tap]:
        """Everything that this store writes from now on; what does not fit into `most` waiting records is counted."""
        return self._hub.tapped(most)

    async def latest(self, run_ids: str | Sequence[str], event_type: str) -> dict[str, StoredRecord]:
        """The newest event of a type for each of these runs that has one, in one question."""
        from ._reads import latest

        return await self._read(latest, [run_ids] if isinstance(run_ids, str) else [*run_ids], event_type)

    async def verify(self, run_id: str) -> Verification:
        """Whether every record and payload of a run is there and as it was written."""
        from ._verify import verify

        return await self._read(verify, run_id)

    async def search(
        self,
        question: str,
        *,
        kind: str | None = None,
        agent_id: str | None = None,
        status: str | None = None,
        since: str | None = None,
        limit: int = 20,
    ) -> FoundRecords:
        """Records that have every word of a question, the latest first; `"in this order"`, and `beginn*` of words.

        What was recorded since somebody looked last is made findable first.
        """
        from ._search import Wanted, search

        await self.index()
        return await self._read(search, Wanted(question, kind, agent_id, status, since, limit))

    async def index(self) -> int:
        """Make everything that was recorded findable, so that the next search need not; how many records that was."""
        from ._search import index_some

        count = 0
        while some := await self._in_thread(index_some, self._database):
            count += some
        return count

    async def prune(
        self, *, before: str | None = None, keep: int = 0, kind: str | None = None, dry_run: bool = False
    ) -> Pruned:
        """Remove runs that ended before a time, but not the newest `keep`, and never one that is open."""
        from ._prune import prune, removable

        if dry_run:
            wanted = await self._read(removable, before, keep, kind)
            return Pruned(wanted, sum(run.record_count for run in wanted))
        return await self._in_thread(prune, self._database, before, keep, kind)

    async def _known(self, run_id: str) -> RunInfo:
        run = await self.get(run_id)
        if run is None:
            raise InputError(f"there is no run {run_id}; `trueup runs list` shows those that there are")
        return run

    async def _page(self, run_id: str, after: int) -> StoredRecords:
        return await self.trace(run_id, after=after, limit=PAGE)

    async def _write(self, write: Write) -> Any:
        return await self._writer.submit(write)

    async def _read(self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def ask() -> T:
            with self._database.reading() as connection:
                return question(connection, *args, **kwargs)

        return await self._in_thread(ask)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, partial(work, *args, **kwargs))

    def _close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        self._database.close()


def _open(url: str | None) -> Database:
    # Here, so that a command that records nothing does not wait for SQLAlchemy.
    from ._database import Database

    return Database.open(url)


async def _keep(lock: Lock) -> None:
    while True:
        await asyncio.sleep(KEEP_SECS)
        # A server that is away now may be back next time.
        with suppress(TrueupError):
            await asyncio.to_thread(lock.keep)
