"""An ACP agent as a harness: its program is started by our runner, spoken to over its pipes, and ended with its tree."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError, Kind, SpawnError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import Event, Gate, Launcher, Recorder

from .._driver import CANCEL_SECS, FAREWELL_SECS, GRACE_SECS, LONGEST_LINE, MOST_QUOTED, TAIL_BYTES, ended_within
from .._json_lines import plain_words
from .._protocol import HarnessRequest, HarnessResult, Mode, Probe, Status
from ..agents import Capabilities, Failure, Permission, failure, find_program
from ._directions import directions_for
from ._line import Line
from ._named import NAMED, AcpAgent, agent_of
from ._permissions import Permissions
from ._telling import Telling

if TYPE_CHECKING:
    from ._session import Session

PREFIX = "acp:"
PROBE_SECS = 20.0
NOT_STARTED = (126, 127)
# A session is opened in a folder by its whole path, and only the agent's side of a sandbox knows that.
TELL_FOLDER = 'pwd -P && exec "$@"'


class Patience(Struct, frozen=True, kw_only=True):
    """How long an agent has: for an answer that needs no model, to stop its turn, to end after its last word, and to
    end by SIGTERM.

    One that is slow to start needs ten seconds for its first answer on a busy machine.
    """

    answer_secs: float = 60
    cancel_secs: float = CANCEL_SECS
    farewell_secs: float = FAREWELL_SECS
    grace_secs: float = GRACE_SECS


def acp_words(spec: str) -> tuple[str, ...]:
    """The words behind `acp:`, as a shell would read them."""
    try:
        words = tuple(shlex.split(spec.removeprefix(PREFIX)))
    except ValueError as error:
        raise InputError(f"agent {spec!r}: {error}; quote it as a shell would want it") from None
    if not words:
        known = ", ".join(NAMED)
        raise InputError(
            f"agent {PREFIX!r} names no program: write `acp:PROGRAM ARGUMENTS`, or `acp:` and one of {known}"
        )
    return words


def acp_harness(words: tuple[str, ...], environ: Mapping[str, str]) -> AcpHarness:
    """The harness of an agent that is known by one word, or of any that a command line starts."""
    if len(words) == 1 and words[0] in NAMED:
        return AcpHarness(f"{PREFIX}{words[0]}", NAMED[words[0]], environ)
    return AcpHarness(f"{PREFIX}{PurePath(words[0]).name}", agent_of(words), environ)


class AcpHarness:
    """A `Harness` that is any agent which speaks ACP."""

    def __init__(
        self, name: str, agent: AcpAgent, environ: Mapping[str, str], patience: Patience | None = None
    ) -> None:
        self.name = name
        self.agent = agent
        self._environ = environ
        self._patience = patience or Patience()

    @property
    def capabilities(self) -> Capabilities:
        """What can be asked of it. Whether it can take a model, and most whether they can go on, they say themselves."""
        return Capabilities(
            modes=tuple(Mode) if self.agent.asks else (Mode.FULL,),
            resume=self.agent.resumes,
            usage=True,
            cost=True,
            tool_events=True,
            permission=Permission.ACP if self.agent.asks else Permission.NONE,
            acp=self.agent.argv,
            tested=self.agent.tested,
        )

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        """Where its program is; None where it is not installed."""
        return find_program(self.agent.argv[0], environ)

    async def probe(self) -> Probe:
        """Start it, and ask who it is: no session is opened, and no model is called."""
        path = await asyncio.to_thread(self.program_in, self._environ)
        if path is None:
            note = f"no `{self.agent.argv[0]}` on PATH; {self.agent.install or 'install it, or give its whole path'}"
            return Probe(harness=self.name, installed=False, note=note)
        command = Command(argv=(path, *self.agent.argv[1:]), env=self._environ, stdin=None, output_limit=LONGEST_LINE)
        session_type = await _load_sdk()
        telling = Telling(_Nobody())
        request = HarnessRequest(prompt="")
        session = session_type(request, self.agent, Permissions.of(request, None), telling, PROBE_SECS)
        try:
            async with Process(command) as process:
                version, note = await _introduced(session, Line(process, telling.has_room))
        except SpawnError as error:
            return Probe(harness=self.name, installed=False, path=path, note=str(error))
        return Probe(harness=self.name, installed=not note, path=path, version=version, note=note)

    async def run(
        self, request: HarnessRequest, launcher: Launcher, recorder: Recorder, gate: Gate | None = None
    ) -> HarnessResult:
        """Have a prompt worked on; an `InputError` where the agent cannot do what is asked of it."""
        self.capabilities.refuse_beyond(self.name, request)
        if gate is not None and not self.agent.asks:
            raise InputError(f"{self.name} never asks before it uses a tool, so nothing would hold it to a policy")
        session_type = await _load_sdk()
        permissions = Permissions.of(request, gate)
        telling = Telling(recorder)
        session = session_type(request, self.agent, permissions, telling, self._patience.answer_secs)
        started = time.monotonic()
        command = self._command(request, must_ask=permissions.are_needed)
        ending = await _Run(request, session, telling, self._patience).to_its_end(command, launcher)
        return self._result(session, ending, time.monotonic() - started)

    def _command(self, request: HarnessRequest, *, must_ask: bool) -> Command:
        agent = self.agent
        directions = directions_for(agent, request)
        program = self.program_in(self._environ) or agent.argv[0]
        words = (*directions.before, program, *agent.argv[1:], *directions.words)
        variables = {**directions.env, **(agent.env if must_ask else {}), **request.env}
        if must_ask:
            variables |= {name: _merged(variables.get(name, ""), told) for name, told in agent.settings.items()}
        if request.model is not None and agent.model_word is not None:
            words = (*words, agent.model_word, request.model)
        elif request.model is not None and agent.model_variable is not None:
            variables[agent.model_variable] = request.model
        if not PurePath(request.cwd).is_absolute():
            words = ("sh", "-c", TELL_FOLDER, "sh", *words)
        return Command(
            argv=words,
            cwd=request.cwd,
            env=variables,
            stdin=None,
            grace_secs=self._patience.grace_secs,
            output_limit=LONGEST_LINE,
        )

    def _result(self, session: Session, ending: Ending, secs: float) -> HarnessResult:
        finished = ending.finished or Finished(exit_code=None, duration_secs=secs)
        status, failure = _judged(session, ending, finished)
        is_lost = failure is not None and failure.kind is Kind.SESSION_NOT_FOUND
        return HarnessResult(
            harness=self.name,
            status=status,
            text=session.text,
            session_id=None if is_lost else session.id,
            usage=session.usage,
            failure_kind=failure.kind if failure else None,
            error=failure.message if failure else "",
            denied=session.denied,
            exit_code=finished.exit_code,
            signal=finished.signal,
            duration_secs=secs,
            version=session.version,
            stdout=finished.stdout.tail(TAIL_BYTES),
            stderr=finished.stderr.tail(TAIL_BYTES),
        )


class Ending(Struct, frozen=True):
    """How the program came to its end, and why where it did not end its turn by itself."""

    finished: Finished | None
    status: Status | None = None
    failure: Failure | None = None


class _Run:
    """One agent while it runs."""

    def __init__(self, request: HarnessRequest, session: Session, telling: Telling, patience: Patience) -> None:
        self._request = request
        self._patience = patience
        self._session = session
        self._telling = telling

    async def to_its_end(self, command: Command, launcher: Launcher) -> Ending:
        try:
            async with launcher.launch(command) as process:
                return await self._lead(process)
        except SpawnError as error:
            return Ending(None, Status.NOT_INSTALLED, Failure(str(error), Kind.SPAWN))

    async def _lead(self, process: Process) -> Ending:
        line = Line(process, self._telling.has_room)
        talk = asyncio.create_task(self._talk(line))
        recording = asyncio.create_task(self._telling.record_all())
        silence = asyncio.create_task(line.silence(self._request.idle_secs, lambda: self._session.is_deciding))
        waits = {talk, recording, silence, self._session.trouble}
        try:
            await asyncio.wait(waits, timeout=self._request.timeout_secs, return_when=asyncio.FIRST_COMPLETED)
            if recording.done():
                recording.result()
            ending = await self._ended(process, talk, silence)
            await _either(recording, self._telling.is_told())
            return ending
        except BaseException:
            # Also a cancellation: the agent hears of it by its protocol before its program is ended.
            await self._say_stop(talk)
            raise
        finally:
            await _cancelled(talk, recording, silence)
            await self._session.close()

    async def _talk(self, line: Line) -> None:
        folder = self._request.cwd
        if not PurePath(folder).is_absolute():
            folder = await line.first() or ""
        try:
            await self._session.talk(line, folder)
        except ConnectionError:
            # Whatever it had to say is in its streams.
            return

    async def _ended(self, process: Process, talk: asyncio.Task[None], silence: asyncio.Task[None]) -> Ending:
        if self._session.trouble.done():
            self._session.trouble.result()
            return Ending(await self._stop(process, talk), Status.FAILED)
        if talk.done():
            talk.result()
            return Ending(await self._say_farewell(process))
        secs = self._request.idle_secs if silence.done() else self._request.timeout_secs
        what = f"said nothing for {secs:g} s" if silence.done() else f"was not done after {secs:g} s"
        failure = Failure(f"the agent {what} and was ended", Kind.TIMEOUT)
        return Ending(await self._stop(process, talk), Status.TIMED_OUT, failure)

    async def _say_farewell(self, process: Process) -> Finished:
        """At the end of its input an agent ends by itself; one that stays, or does not listen, is ended."""
        process.close_stdin()
        return await ended_within(process, 0 if self._session.is_deaf else self._patience.farewell_secs)

    async def _stop(self, process: Process, talk: asyncio.Task[None]) -> Finished:
        """Ask by the protocol, so that the agent ends its tools itself; then by SIGTERM; then end the whole tree."""
        await self._say_stop(talk)
        process.close_stdin()
        process.stop()
        return await process.wait()

    async def _say_stop(self, talk: asyncio.Task[None]) -> None:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(self._patience.cancel_secs):
                if await self._session.cancel():
                    await asyncio.wait({talk})


class _Nobody:
    """A `Recorder` for what nobody wants to know."""

    async def record(self, event: Event) -> None: ...


async def _load_sdk() -> type[Session]:
    """The SDK takes its time to be loaded, in which everything else goes on."""

    def load() -> type[Session]:
        from ._session import Session

        return Session

    return await asyncio.to_thread(load)


async def _introduced(session: Session, line: Line) -> tuple[str | None, str]:
    """What an agent says of itself: its version, and what is wrong with it."""
    try:
        await session.look(line)
    except ConnectionError:
        return None, "its program ended without an answer"
    finally:
        await session.close()
    return session.version, session.failure.message if session.failure else ""


def _judged(session: Session, ending: Ending, finished: Finished) -> tuple[Status, Failure | None]:
    """How it went: what ended it comes before what it said, and success is only what it said itself."""
    problem = ending.failure or session.failure
    if ending.status is not None:
        return ending.status, problem
    if problem is not None:
        gave_up = session.reason == "cancelled" and problem.kind is Kind.OTHER
        return Status.CANCELLED if gave_up else Status.FAILED, problem
    if session.reason is not None:
        return Status.OK, None
    return _died(session, finished)


def _died(session: Session, finished: Finished) -> tuple[Status, Failure]:
    how = f"exit {finished.exit_code}" if finished.exit_code is not None else f"signal {finished.signal}"
    said = finished.stderr.tail(MOST_QUOTED).strip() or plain_words(finished.stdout, MOST_QUOTED)
    what = f"the agent ended ({how}) before its turn did: {said or 'it said nothing'}"
    if not session.is_introduced and finished.exit_code in NOT_STARTED:
        return Status.NOT_INSTALLED, Failure(what, Kind.SPAWN)
    kind = failure(said).kind
    return Status.FAILED, Failure(what, Kind.PROTOCOL if kind is Kind.OTHER else kind)


async def _either(task: asyncio.Task[None], other: Coroutine[Any, Any, None]) -> None:
    """Return when the other is done; raises what the task raises before."""
    waiting = asyncio.ensure_future(other)
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        await _cancelled(waiting)


async def _cancelled(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _merged(text: str, told: Mapping[str, Any]) -> str:
    """A setting in JSON with something else in it, which comes before what was there."""
    try:
        given = msgspec.json.decode(text.encode(errors="replace"), type=dict[str, Any]) if text else {}
    except (msgspec.MsgspecError, RecursionError):
        given = {}
    return msgspec.json.encode({**given, **told}).decode()
