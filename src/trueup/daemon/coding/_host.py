"""The workers of a daemon: started for what somebody asked of a session, watched, and ended with it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
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
# Each is a process of its own, with an engine and checks under it.
MOST_AT_WORK = 32
LOOK_SECS = 0.05

_WAITING = (State.CONTRACT_PROPOSED, State.NEEDS_APPROVAL)
_REPORT = msgspec.json.Decoder(Report)
_WORKER = "trueup.daemon.coding._worker"


class Worker:
    """One process that works on a session, as far as it has told."""

    def __init__(self, job: Job, database_url: str | None) -> None:
        self.reached: Reached | None = None
        self.error: TrueupError | None = None
        self._job = job
        self._written = msgspec.json.encode(job)
        self._environ = os.environ | ({"TRUEUP_DATABASE_URL": database_url} if database_url else {})
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._work())
        self._task.add_done_callback(lambda _: self._news.set())

    @property
    def is_done(self) -> bool:
        return self._task.done()

    @property
    def session_id(self) -> str | None:
        """The session that is worked on; None while there is none yet."""
        if self.reached is not None:
            return self.reached.session_id
        return None if isinstance(self._job, Start) else self._job.session_id

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
            stdin=self._written,
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
        except msgspec.MsgspecError as error:
            self.error = InfrastructureError(f"the process that worked on the session said what nobody reads: {error}")

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
        self._workers: set[Worker] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.watchers.close()
        await asyncio.gather(*(worker.stop() for worker in self._workers))

    async def start(self, request: CodeRequest, *, secs: float) -> str:
        """Begin a session, and wait a while for its contract; the session's id."""
        worker = self._hire(Start(request))
        await worker.until(lambda reached: True, secs)
        if worker.reached is None:
            raise await _no_session(worker, secs)
        session_id = worker.reached.session_id
        await worker.until(lambda reached: reached.state not in (State.CREATED, State.CONTRACT_PROPOSED), secs)
        return session_id

    async def answer(self, story: Story, *answers: Answer, secs: float) -> None:
        """Say what a session waits for, and wait a while for what comes of it."""
        worker = await self._put_to_work(story.id, GoOn(story.id, list(answers)))
        before = story.state
        await worker.until(lambda reached: reached.state not in (before, State.CONTRACT_PROPOSED), secs)
        self._raise_for(worker)

    async def resume(self, session_id: str, *, secs: float) -> None:
        """Have somebody work on a session again that was left in the middle; wait a while until they do."""
        worker = await self._put_to_work(session_id, GoOn(session_id))
        with suppress(TimeoutError):
            async with asyncio.timeout(secs):
                while not worker.is_done and await self.sessions.owner(session_id) is None:
                    await worker.until(lambda reached: False, LOOK_SECS)
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
        while (busy := self._at_work_on(session_id)) is not None:
            # One that waits for a person is about to end: it puts away what it worked with.
            await busy.until(lambda reached: reached.state not in _WAITING, GRACE_SECS)
            if not busy.is_done:
                raise InputError(
                    f"session {session_id} is being worked on; wait for it, or give it up with coder.cancel"
                )
        return self._hire(job)

    def _at_work_on(self, session_id: str) -> Worker | None:
        return next((each for each in self._workers if each.session_id == session_id and not each.is_done), None)

    def _hire(self, job: Job) -> Worker:
        """Have a process work, which is known until it has ended, whoever waits for it meanwhile."""
        self._workers = {worker for worker in self._workers if not worker.is_done}
        if len(self._workers) >= MOST_AT_WORK:
            raise InputError(f"{MOST_AT_WORK} sessions are being worked on already; wait for one of them")
        worker = Worker(job, self._database_url)
        self._workers.add(worker)
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
