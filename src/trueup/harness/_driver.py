"""Running an agent program: every harness is a description of how it is spoken to, and this speaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import PurePath
from typing import Protocol

from msgspec import Struct, structs

from trueup.core.errors import Kind, SpawnError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import Decision, Event, Gate, Launcher, Recorder

from ._events import PermissionDecided
from ._json_lines import last_lines, plain_words
from ._protocol import Ask, Conversation, HarnessRequest, HarnessResult, Invocation, Probe, Say, Status
from ._session_files import is_elsewhere
from ._versions import remember_version, version_meanwhile
from .agents import Capabilities

# How long an agent has to come to an end by itself: after its last word, after it was told to stop, after SIGTERM.
FAREWELL_SECS = 10.0
CANCEL_SECS = 3.0
GRACE_SECS = 2.0
TAIL_BYTES = 8192
MOST_QUOTED = 500
# The longest line that is heard whole: the last word of an agent repeats what it was denied, files included.
LONGEST_LINE = 8 << 20


class Dialect(Protocol):
    """How one harness is spoken to."""

    @property
    def name(self) -> str: ...

    async def probe(self, environ: Mapping[str, str]) -> Probe: ...

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        """Where its program is; None where it is not installed."""
        ...

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        """What the program says that its version is."""
        ...

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        """The folder in which one of its sessions began; None where that cannot be told."""
        ...

    def invoke(self, request: HarnessRequest, *, asks: bool) -> Invocation:
        """How a request is put; with `asks`, so that the agent asks before it uses a tool."""
        ...

    def converse(self, request: HarnessRequest) -> Conversation: ...


class Ending(Struct, frozen=True):
    """How the program came to its end."""

    finished: Finished | None
    status: Status | None = None
    kind: Kind | None = None
    error: str = ""


class DrivenHarness:
    """A `Harness` that is a program on this machine, spoken to in its own dialect.

    What is beyond its `capabilities` is refused; without them, that is for the dialect to see to.
    """

    def __init__(self, dialect: Dialect, environ: Mapping[str, str], capabilities: Capabilities | None = None) -> None:
        self._dialect = dialect
        self._environ = environ
        self._capabilities = capabilities

    @property
    def name(self) -> str:
        return self._dialect.name

    async def probe(self) -> Probe:
        found = await self._dialect.probe(self._environ)
        if found.path is not None:
            await remember_version(self.name, found.path, found.version)
        return found

    async def run(
        self, request: HarnessRequest, launcher: Launcher, recorder: Recorder, gate: Gate | None = None
    ) -> HarnessResult:
        started = time.monotonic()
        if self._capabilities is not None:
            self._capabilities.refuse_beyond(self.name, request)
        if request.resume is not None:
            elsewhere = await asyncio.to_thread(self._began_elsewhere, request.resume, request)
            if elsewhere is not None:
                return self._refusal(request, elsewhere)
        invocation = self._dialect.invoke(request, asks=gate is not None)
        conversation = invocation.conversation or self._dialect.converse(request)
        async with self._version_meanwhile(invocation) as version:
            ending = await _Run(request, invocation, conversation, recorder, gate).to_its_end(launcher)
            result = self._result(conversation, ending, time.monotonic() - started)
            result = structs.replace(result, version=result.version or version())
        return result if invocation.keeps_stdout else structs.replace(result, stdout="")

    def _began_elsewhere(self, session: str, request: HarnessRequest) -> str | None:
        """The folder of the session to go on with, where it is another one than the request's."""
        # A folder that is named from a place of the launcher's, in a sandbox for one, says nothing here.
        if not PurePath(request.cwd).is_absolute():
            return None
        folder = self._dialect.began_in(session, {**self._environ, **request.env})
        return folder if folder is not None and is_elsewhere(folder, request.cwd) else None

    def _refusal(self, request: HarnessRequest, folder: str) -> HarnessResult:
        what = f"session {request.resume} began in {folder}, and cannot go on in {request.cwd}"
        return HarnessResult(
            harness=self.name,
            status=Status.FAILED,
            failure_kind=Kind.SESSION_NOT_FOUND,
            error=f"{what}: resume it there, or begin a new one here",
        )

    def _version_meanwhile(self, invocation: Invocation) -> AbstractAsyncContextManager[Callable[[], str | None]]:
        program = self._dialect.program_in(self._environ)
        if program is None or invocation.tells_version:
            return version_meanwhile(self.name, program, None)
        return version_meanwhile(self.name, program, partial(self._dialect.ask_version, program, self._environ))

    def _result(self, conversation: Conversation, ending: Ending, secs: float) -> HarnessResult:
        finished = ending.finished or Finished(exit_code=None, duration_secs=secs)
        told = conversation.outcome(finished)
        status = ending.status or (Status.OK if told.ok else Status.FAILED)
        failed = status is not Status.OK
        return HarnessResult(
            harness=self.name,
            status=status,
            text=told.text,
            session_id=told.session_id,
            usage=told.usage,
            failure_kind=(ending.kind or told.failure_kind or Kind.OTHER) if failed else None,
            error=(ending.error or told.error or _silence(finished)) if failed else "",
            denied=told.denied,
            exit_code=finished.exit_code,
            signal=finished.signal,
            duration_secs=secs,
            version=told.version,
            stdout=finished.stdout.tail(TAIL_BYTES),
            stderr=finished.stderr.tail(TAIL_BYTES),
        )


class _Run:
    """One program while it runs."""

    def __init__(
        self,
        request: HarnessRequest,
        invocation: Invocation,
        conversation: Conversation,
        recorder: Recorder,
        gate: Gate | None,
    ) -> None:
        self._request = request
        self._invocation = invocation
        self._conversation = conversation
        self._recorder = recorder
        self._gate = gate

    async def to_its_end(self, launcher: Launcher) -> Ending:
        """Listen until the program has ended, by itself or because it had to."""
        invocation = self._invocation
        command = Command(
            argv=invocation.argv,
            cwd=self._request.cwd,
            env={**invocation.env, **self._request.env},
            stdin=None if invocation.converses else invocation.stdin,
            grace_secs=GRACE_SECS,
            output_limit=LONGEST_LINE,
        )
        try:
            async with launcher.launch(command) as process:
                return await self._listen(process)
        except SpawnError as error:
            return Ending(None, Status.NOT_INSTALLED, Kind.SPAWN, str(error))

    async def _listen(self, process: Process) -> Ending:
        clock = asyncio.timeout(self._request.timeout_secs)
        try:
            async with clock:
                if self._invocation.converses:
                    await process.write(self._invocation.stdin)
                async for line in _lines(process, self._request.idle_secs):
                    await self._take(line, process)
                    if self._conversation.is_over:
                        return Ending(await self._say_farewell(process))
                return Ending(await process.wait())
        except _FellSilentError:
            what = f"the agent said nothing for {self._request.idle_secs:g} s and was ended"
            return Ending(await self._stop(process), Status.TIMED_OUT, Kind.TIMEOUT, what)
        except TimeoutError:
            if not clock.expired():
                raise
            what = f"the agent was not done after {self._request.timeout_secs:g} s and was ended"
            return Ending(await self._stop(process), Status.TIMED_OUT, Kind.TIMEOUT, what)

    async def _take(self, line: str, process: Process) -> None:
        for said in self._conversation.feed(line):
            match said:
                case Say(data=data):
                    await process.write(data)
                case Ask():
                    decision = await self._decide(said)
                    await process.write(self._conversation.answer(said, decision))
                case Event():
                    await self._recorder.record(said)

    async def _decide(self, ask: Ask) -> Decision:
        # An agent that asks although nobody is there to answer is kept from it.
        decision = (
            await self._gate.decide(ask.action) if self._gate else Decision(allowed=False, reason="nobody decides here")
        )
        decided = PermissionDecided(ask.id, ask.action.tool, decision.allowed, decision.reason)
        await self._recorder.record(decided)
        return decision

    async def _say_farewell(self, process: Process) -> Finished:
        """After its last word a program gets a moment to end by itself; one that stays is ended."""
        if self._invocation.converses:
            process.close_stdin()
        return await ended_within(process, FAREWELL_SECS)

    async def _stop(self, process: Process) -> Finished:
        """Ask by the harness's own protocol, then by SIGTERM, then end the whole tree."""
        goodbye = self._conversation.cancel() if self._invocation.converses else b""
        if goodbye:
            await process.write(goodbye)
            # Some stay for more to say after they stopped.
            process.close_stdin()
            return await ended_within(process, CANCEL_SECS)
        process.stop()
        return await process.wait()


async def ended_within(process: Process, secs: float) -> Finished:
    """How a process ended, by itself in so many seconds or because it had to."""
    waiting = asyncio.ensure_future(process.wait())
    done, _ = await asyncio.wait({waiting}, timeout=secs)
    if not done:
        process.stop()
    return await waiting


class _FellSilentError(Exception):
    """No line came for too long."""


async def _lines(process: Process, idle_secs: float | None) -> AsyncIterator[str]:
    lines = process.lines()
    while True:
        try:
            async with asyncio.timeout(idle_secs) as clock:
                line = await anext(lines, None)
        except TimeoutError:
            if clock.expired():
                raise _FellSilentError from None
            raise
        if line is None:
            return
        yield line


def _silence(finished: Finished) -> str:
    how = f"exit {finished.exit_code}" if finished.exit_code is not None else f"signal {finished.signal}"
    last = next((line[:MOST_QUOTED] for line in reversed(last_lines(finished.stdout)) if line.strip()), "")
    told = finished.stderr.tail(MOST_QUOTED).strip() or plain_words(finished.stdout, MOST_QUOTED) or last
    return f"the agent ended ({how}) without a record of success: {told or 'it said nothing'}"
