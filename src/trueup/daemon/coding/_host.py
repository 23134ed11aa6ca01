"""The workers of a daemon: started for what somebody asked of a session, watched, and ended with it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Self

import msgspec

from trueup.coder import Answer, CodeRequest, Sessions, State, Story
from trueup.core.errors import InfrastructureError, InputError, Kind, TrueupError
from trueup.core.process import Command, Finished, Process
from trueup.runs import RunStore

from ._job import GaveUp, GoOn, Job, Reached, Report, Respond, Start
from ._watchers import Watchers

# How long a session may take to come to rest when it must be left: a workspace is put away meanwhile.
GRACE_SECS = 20
TAIL_BYTES = 2000

_WAITING = (State.CONTRACT_PROPOSED, State.NEEDS_APPROVAL)
_REPORT = msgspec.json.Decoder(Report)
_WORKER = "trueup.daemon.coding._worker"


class Worker:
    """One process that works on a session, as far as it has told."""

    def __init__(self, job: Job, database_url: str | None) -> None:
        self.reached: Reached | None = None
        self.error: TrueupError | None = None
        self._job = job
        self._environ = os.environ | ({"TRUEUP_DATABASE_URL": database_url} if database_url else {})
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._work())
        self._task.add_done_callback(lambda _: self._news.set())

    @property
    def is_done(self) -> bool:
        return self._task.done()

    async def until(self, enough: Callable[[Reached], bool], secs: float) -> None:
        """Wait until the session has come so far, or nobody works on it any more, or the time is up."""
        try:
            async with asyncio.timeout(secs):
                while not self.is_done and (self.reached is None or not enough(self.reached)):
                    await self._news.wait()
                    self._news.clear()
        except TimeoutError:
            pass

    async def stop(self) -> None:
        """Have the session left where it is safe."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _work(self) -> None:
        command = Command(
            argv=(sys.executable, "-P", "-m", _WORKER),
            env=self._environ,
            stdin=msgspec.json.encode(self._job),
            grace_secs=GRACE_SECS,
        )
        try:
            async with Process(command) as process:
                try:
                    async for line in process.lines():
                        self._hear(line)
                finally:
                    process.stop()
                    finished = await process.wait()
            self._conclude(finished)
        except TrueupError as error:
            self.error = error

    def _hear(self, line: str) -> None:
        match _REPORT.decode(line):
            case Reached() as reached:
                self.reached = reached
            case GaveUp(message=message, kind=kind):
                self.error = as_error(message, kind)
        self._news.set()

    def _conclude(self, finished: Finished) -> None:
        if finished.exit_code != 0 and self.error is None:
            said = finished.stderr.tail(TAIL_BYTES).strip() or "it said nothing"
            self.error = InfrastructureError(f"the process that worked on the session ended early: {said}")


class Coding:
    """Every session of the user's: `async with Coding(store, url) as coding`. Those started here are left when it ends."""

    def __init__(self, store: RunStore, database_url: str | None = None) -> None:
        self.sessions = Sessions(store)
        self.watchers = Watchers(self.sessions)
        self._database_url = database_url
        self._workers: dict[str, Worker] = {}
        self._starting: set[Worker] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.watchers.close()
        await asyncio.gather(*(worker.stop() for worker in (*self._starting, *self._workers.values())))

    async def start(self, request: CodeRequest, *, secs: float) -> str:
        """Begin a session, and wait a while for its contract; the session's id."""
        worker = Worker(Start(request), self._database_url)
        self._starting.add(worker)
        try:
            await worker.until(lambda reached: True, secs)
            if worker.reached is None:
                raise await _no_session(worker, secs)
            session_id = worker.reached.session_id
            self._workers[session_id] = worker
        finally:
            self._starting.discard(worker)
        await worker.until(lambda reached: reached.state not in (State.CREATED, State.CONTRACT_PROPOSED), secs)
        return session_id

    async def answer(self, story: Story, *answers: Answer, secs: float) -> None:
        """Say what a session waits for, and wait a while for what comes of it."""
        worker = await self._put_to_work(story.id, GoOn(story.id, list(answers)))
        before = story.state
        await worker.until(lambda reached: reached.state not in (before, State.CONTRACT_PROPOSED), secs)
        self._raise_for(worker)

    async def resume(self, session_id: str) -> None:
        """Have somebody work on a session again that was left in the middle."""
        worker = await self._put_to_work(session_id, GoOn(session_id))
        await worker.until(lambda reached: True, secs=1)
        self._raise_for(worker)

    async def respond(self, story: Story, words: str, *, secs: float) -> None:
        """Say something to a session; whoever works on it hears it."""
        if await self.sessions.owner(story.id) is not None:
            await self.sessions.say(story.id, words)
            return
        worker = await self._put_to_work(story.id, Respond(story.id, words))
        await worker.until(lambda reached: True, secs)
        self._raise_for(worker)

    async def cancel(self, session_id: str, why: str) -> Story:
        """Give a session up, whoever works on it."""
        return await self.sessions.abandon(session_id, why)

    async def _put_to_work(self, session_id: str, job: Job) -> Worker:
        busy = self._workers.get(session_id)
        if busy is not None:
            # One that waits for a person is about to end: it puts away what it worked with.
            await busy.until(lambda reached: reached.state not in _WAITING, GRACE_SECS)
            if not busy.is_done:
                raise InputError(
                    f"session {session_id} is being worked on; wait for it, or give it up with coder.cancel"
                )
        self._workers = {each: worker for each, worker in self._workers.items() if not worker.is_done}
        worker = self._workers[session_id] = Worker(job, self._database_url)
        return worker

    def _raise_for(self, worker: Worker) -> None:
        if worker.is_done and worker.error is not None:
            raise worker.error


async def _no_session(worker: Worker, secs: float) -> TrueupError:
    if worker.is_done:
        return worker.error or InfrastructureError("the process that was to work on the session ended without a word")
    await worker.stop()
    return TrueupError(f"no session was there after {secs:g} s; look at `trueup doctor`", kind=Kind.TIMEOUT)


def as_error(message: str, kind: str) -> TrueupError:
    """An error of another process, as one of this."""
    return InputError(message) if kind == Kind.INPUT else TrueupError(message, kind=Kind(kind))
