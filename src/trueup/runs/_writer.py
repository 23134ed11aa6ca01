"""One thread that writes. Whatever waits when it looks goes into one transaction, and shares its price."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from trueup.core.errors import InfrastructureError

from ._database import Database
from ._encoding import Encoded, Payload
from ._hub import Hub
from ._records import StoredRecord
from ._writes import Batch, Write, pack


class Job:
    """A write, the one who waits for it, and what became of it."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.loop = asyncio.get_running_loop()
        self.waiter: asyncio.Future[Any] = self.loop.create_future()
        self.encoded: list[Encoded] = []
        self.result: Any = None
        self.error: Exception | None = None

    def prepare(self) -> None:
        """Everything that can be done before the database is held."""
        self.encoded.extend(self.write.prepare())

    def apply(self, batch: Batch) -> None:
        """Become part of the batch."""
        self.result = self.write.apply(self.encoded, batch)

    def works(self, step: Callable[[], None]) -> bool:
        """Whether a step succeeds. What goes wrong is this waiter's alone, unless it is the database itself."""
        try:
            step()
        except SQLAlchemyError:
            raise
        # The others must not hear of it.
        except Exception as error:  # noqa: BLE001
            self.error = error
        return self.error is None

    def settle(self) -> None:
        """Tell the one who waits, on the loop."""
        if self.waiter.done():
            return
        if self.error is None:
            self.waiter.set_result(self.result)
        else:
            self.waiter.set_exception(self.error)


class Writer:
    """Takes writes from any loop, in order."""

    def __init__(self, database: Database, hub: Hub) -> None:
        self._database = database
        self._hub = hub
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        # A daemon: a program that forgets to close must still be able to end. What was acknowledged is on disk.
        self._thread = threading.Thread(target=self._work, name="trueup-runs-writer", daemon=True)
        self._thread.start()

    def submit(self, write: Write) -> asyncio.Future[Any]:
        """The result of the write, when it is on disk. Cancelled before it was begun, it is not written."""
        job = Job(write)
        with self._lock:
            if self._closed:
                raise InfrastructureError(f"{self._database.where}: closed already; nothing can be recorded any more")
            self._queue.put(job)
        return job.waiter

    def close(self) -> None:
        """Write what waits, then stop. Blocks."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        going_on = True
        while going_on:
            jobs, going_on = self._take()
            wanted = [job for job in jobs if not job.waiter.cancelled()]
            if wanted:
                self._write_together(wanted)
                _tell(wanted)

    def _take(self) -> tuple[list[Job], bool]:
        """Everything that waits, and whether more may come."""
        jobs: list[Job] = []
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            try:
                job = self._queue.get_nowait()
            except Empty:
                return jobs, True
        return jobs, False

    def _write_together(self, jobs: list[Job]) -> None:
        prepared = [job for job in jobs if job.works(job.prepare)]
        written: dict[str, list[StoredRecord]] = {}
        self._hub.begin()
        try:
            contents = _payloads(prepared)
            packed = pack(self._database, contents)
            with self._database.writing() as connection:
                batch = Batch(connection, [job.write for job in prepared], self._hub.is_followed)
                for job in prepared:
                    job.works(partial(job.apply, batch))
                batch.flush(contents, packed)
            written = batch.written
        # The database failed, and everybody who waits has to know; the thread goes on for those who try again.
        except Exception as error:  # noqa: BLE001
            for job in prepared:
                job.error = job.error or error
        self._hub.publish(written)


def _payloads(jobs: Iterable[Job]) -> dict[str, Payload]:
    return {payload.hash: payload for job in jobs for each in job.encoded for payload in each.payloads}


def _tell(jobs: list[Job]) -> None:
    """Wake each loop once: a hundred calls would have it fight with this thread over the interpreter."""
    for loop in {job.loop for job in jobs}:
        # A loop that was closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, [job for job in jobs if job.loop is loop])


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
