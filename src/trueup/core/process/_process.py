"""A running command, seen from trueup's side."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import socket
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

from trueup.core.errors import InfrastructureError, SpawnError, TrueupError

from . import _pool
from ._command import Command, Finished
from ._reaper import FRAME, HEADER
from ._streams import Capture, LineBuffer, ReadEnd, WriteEnd

T = TypeVar("T")

# How long the kernel may take to end killed processes, or to start one, before something is badly wrong.
OUTER_CLOCK_SECS = 30
START_SECS = 30


async def run(command: Command, *, start_secs: float = START_SECS) -> Finished:
    """Run a command to its end. Cancelled or timed out, its whole tree is gone before this returns."""
    async with Process(command, lines=False, start_secs=start_secs) as process:
        return await process.wait()


class Process:
    """A command while it runs: `async with Process(command) as process`. Leaving the block ends its tree."""

    def __init__(self, command: Command, *, lines: bool = True, start_secs: float = START_SECS) -> None:
        find = None if command.find is None else command.find.encode(errors="surrogatepass")
        self._command = command
        self._start_secs = start_secs
        self._stdout = Capture(command.output_limit, find)
        self._stderr = Capture(command.output_limit, find)
        self._lines = LineBuffer(command.output_limit) if lines else None
        self._stdin_end: WriteEnd | None = None
        self._read_ends: list[ReadEnd] = []
        self._wants_lines = lines
        self._exit_status: int | None = None
        self._timed_out = False
        self._stopping = False
        self._closed = False
        self._timers: list[asyncio.TimerHandle] = []
        self._frames = b""

    async def __aenter__(self) -> Self:
        encoded = self._command.encode()
        self._loop = asyncio.get_running_loop()
        self._spawned: asyncio.Future[int] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._acquire_reaper()
        try:
            self._started = time.monotonic()
            await self._send_order(encoded, self._open_pipes())
            if self._line.pid is not None:
                self._begin_timeout()
        except BaseException:
            # The reaper does not know the whole order, so it has started nothing.
            self._fail("it was given up")
            raise
        self.pid = await self._until_spawned()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _until_spawned(self) -> int:
        try:
            async with asyncio.timeout(self._start_secs):
                return await asyncio.shield(self._spawned)
        except TimeoutError:
            self._fail("it was given up")
            raise InfrastructureError(f"{self._command.label!r} did not start within {self._start_secs:g} s") from None
        except asyncio.CancelledError:
            await self._end()
            raise

    async def _end(self) -> None:
        """Return when nothing is left, having killed it where it still ran."""
        if self._gone.done():
            return
        self._order(b"K")
        try:
            await asyncio.shield(self._gone)
        except BaseException:
            # Cancelled once more: the closed socket makes the reaper end the tree without us.
            self._fail("it was given up")
            raise

    async def lines(self) -> AsyncIterator[str]:
        """Lines of stdout while the command runs, without their ends. A slow reader slows the command down."""
        if self._lines is None:
            raise TypeError("this Process was started without lines")
        while (line := await self._lines.next()) is not None:
            if not self._lines.full:
                self._stdout_end.resume()
            yield line.decode(errors="replace")

    async def write(self, data: bytes) -> None:
        """Give the command input; needs `stdin=None`. Input that nobody reads any more is dropped."""
        await self._input().write(data)

    def close_stdin(self) -> None:
        """Tell the command that there is no more input, once it has taken what was written."""
        self._input().close_when_written()

    def stop(self) -> None:
        """End the command: SIGTERM and `grace_secs` first where it has some, then its whole tree."""
        if self._stopping:
            return
        self._stopping = True
        if self._command.grace_secs > 0:
            self._order(b"T")
            self._timers.append(self._loop.call_later(self._command.grace_secs, self._order, b"K"))
        else:
            self._order(b"K")

    async def wait(self) -> Finished:
        """The end of the command. Lines that nobody took are dropped from here on, so that it can get there."""
        if self._lines is not None:
            self._lines.end()
        self._wants_lines = False
        self._stdout_end.resume()
        # Shielded: a cancelled wait must not make the tree's end unknowable.
        await asyncio.shield(self._gone)
        return self._finished()

    def _input(self) -> WriteEnd:
        if self._command.stdin is not None or self._stdin_end is None:
            raise TypeError("this Process takes no input: give its Command stdin=None")
        return self._stdin_end

    def _acquire_reaper(self) -> None:
        try:
            self._line = _pool.acquire()
        except OSError as error:
            raise self._no_means(error) from None
        self._control = self._line.control
        self._loop.add_reader(self._control, self._on_frames)

    def _open_pipes(self) -> list[int]:
        """Make the pipes, keep our ends, and return the command's: stdin, stdout, stderr."""
        theirs: list[int] = []
        try:
            theirs.append(self._open_stdin())
            ours, end = os.pipe()
            theirs.append(end)
            self._stdout_end = ReadEnd(ours, self._loop, self._take_stdout)
            self._read_ends.append(self._stdout_end)
            theirs.append(os.dup(end) if self._command.merge_stderr else self._open_stderr())
        except OSError as error:
            for descriptor in theirs:
                os.close(descriptor)
            raise self._no_means(error) from None
        return theirs

    def _open_stderr(self) -> int:
        ours, theirs = os.pipe()
        self._read_ends.append(ReadEnd(ours, self._loop, self._stderr.feed))
        return theirs

    def _no_means(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(f"could not start {self._command.label!r}: {error.strerror}; run fewer at once")

    def _open_stdin(self) -> int:
        if self._command.stdin == b"":
            return os.open(os.devnull, os.O_RDONLY)
        theirs, ours = os.pipe()
        self._stdin_end = WriteEnd(ours, self._loop)
        if self._command.stdin is not None:
            self._stdin_end.feed(self._command.stdin)
            self._stdin_end.close_when_written()
        return theirs

    def _take_stdout(self, chunk: bytes) -> None:
        self._stdout.feed(chunk)
        if self._lines is not None and self._wants_lines:
            self._lines.feed(chunk)
            if self._lines.full:
                self._stdout_end.pause()

    async def _send_order(self, encoded: tuple[list[bytes], dict[bytes, bytes], bytes], stdio: list[int]) -> None:
        payload = marshal.dumps(encoded)
        message = HEADER.pack(b"R", len(payload)) + payload
        try:
            sent = socket.send_fds(self._control, [message], stdio)
            if sent < len(message):
                await self._loop.sock_sendall(self._control, message[sent:])
        except OSError as error:
            raise InfrastructureError(
                f"could not start {self._command.label!r}: the reaper is gone ({error})"
            ) from None
        finally:
            for descriptor in stdio:
                os.close(descriptor)

    def _begin_timeout(self) -> None:
        """Once the reaper is known to be there, and not only when it says that it started the command: the command
        may have stopped it before it could."""
        if self._command.timeout_secs is not None:
            self._timers.append(self._loop.call_later(self._command.timeout_secs, self._time_out))

    def _time_out(self) -> None:
        if self._exit_status is None:
            self._timed_out = True
            self.stop()

    def _order(self, order: bytes) -> None:
        # Once the command is gone, its reaper may already serve another.
        if self._closed:
            return
        try:
            self._control.send(order)
        except OSError:
            self._fail("the process that runs it was killed")
            return
        self._wake_reaper()
        if order == b"K":
            self._timers.append(self._loop.call_later(OUTER_CLOCK_SECS, self._give_up))

    def _wake_reaper(self) -> None:
        """A command may have stopped its parent, to outlive its time."""
        if self._line.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._line.pid, signal.SIGCONT)

    def _give_up(self) -> None:
        self._fail(
            f"its processes could not be ended within {OUTER_CLOCK_SECS} s; look for children of pid "
            f"{self._line.pid} that wait for a device or belong to another user"
        )

    def _on_frames(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._fail("the process that runs it was killed")
            return
        self._frames += data
        while len(self._frames) >= FRAME.size:
            what, value = FRAME.unpack_from(self._frames)
            self._frames = self._frames[FRAME.size :]
            self._on_frame(what, value)

    def _on_frame(self, what: bytes, value: int) -> None:
        if what == b"r":
            self._line.pid = value
            self._begin_timeout()
        elif what == b"s":
            _settle(self._spawned, value)
        elif what in b"cep":
            self._refuse(what, value)
        elif what == b"x":
            self._exit_status = value
            self._duration = time.monotonic() - self._started
        else:
            self._close(reuse=True)
            _settle(self._gone, None)

    def _refuse(self, what: bytes, errno: int) -> None:
        where = f" in folder {str(self._command.cwd)!r}" if what == b"c" else ""
        error: TrueupError = SpawnError(f"could not start {self._command.label!r}{where}: {os.strerror(errno)}")
        if what == b"p":
            why = "/proc is not there, or is another namespace's: what a command leaves behind could not be seen"
            error = InfrastructureError(f"could not start {self._command.label!r}: {why}")
        self._close(reuse=True)
        _settle(self._gone, None)
        if not self._spawned.done():
            self._spawned.set_exception(error)
            self._spawned.exception()

    def _fail(self, why: str) -> None:
        if self._closed:
            return
        error = InfrastructureError(f"lost {self._command.label!r}: {why}")
        self._close(reuse=False)
        self._wake_reaper()
        for outcome in (self._spawned, self._gone):
            if not outcome.done():
                outcome.set_exception(error)
                # Whoever awaits it sees it; nobody may be left to.
                outcome.exception()

    def _close(self, *, reuse: bool) -> None:
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        if self._stdin_end is not None:
            self._stdin_end.close()
        for end in self._read_ends:
            # Nobody who could write is left: what the pipe holds is all there will be.
            end.drain()
            end.close()
        if self._lines is not None:
            self._lines.end()
        self._loop.remove_reader(self._control)
        if reuse:
            _pool.release(self._line)
        else:
            _pool.discard(self._line)

    def _finished(self) -> Finished:
        code = os.waitstatus_to_exitcode(self._exit_status or 0)
        looked = self._command.find is not None
        return Finished(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=self._timed_out,
            duration_secs=self._duration,
            stdout=self._stdout.output(),
            stderr=self._stderr.output(),
            found=self._stdout.found or self._stderr.found if looked else None,
        )


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)
