"""A running command, seen from trueup's side."""

from __future__ import annotations

import asyncio
import marshal
import os
import socket
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

from trueup.core.errors import InfrastructureError, SpawnError

from . import _pool
from ._command import Command, Finished
from ._reaper import FRAME, HEADER
from ._streams import Capture, LineBuffer, ReadEnd, WriteEnd

T = TypeVar("T")

# How long the kernel may take to end killed processes before something is badly wrong.
OUTER_CLOCK_SECS = 30


async def run(command: Command) -> Finished:
    """Run a command to its end. Cancelled or timed out, its whole tree is gone before this returns."""
    async with Process(command, lines=False) as process:
        return await process.wait()


class Process:
    """A command while it runs: `async with Process(command) as process`. Leaving the block ends its tree."""

    def __init__(self, command: Command, *, lines: bool = True) -> None:
        find = None if command.find is None else command.find.encode(errors="surrogateescape")
        self._command = command
        self._stdout = Capture(command.output_limit, find)
        self._stderr = Capture(command.output_limit, find)
        self._lines = LineBuffer(command.output_limit) if lines else None
        self._stdin_end: WriteEnd | None = None
        self._read_ends: list[ReadEnd] = []
        self._exit_status: int | None = None
        self._timed_out = False
        self._stopping = False
        self._timers: list[asyncio.TimerHandle] = []
        self._frames = b""

    async def __aenter__(self) -> Self:
        encoded = self._command.encode()
        self._loop = asyncio.get_running_loop()
        self._spawned: asyncio.Future[int] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._control = _pool.acquire()
        self._loop.add_reader(self._control, self._on_frames)
        try:
            self._started = time.monotonic()
            await self._send_order(encoded, self._open_pipes())
            self.pid = await self._spawned
        except BaseException:
            self._abandon()
            raise
        self._begin_timeout()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gone.done():
            return
        self._order(b"K")
        try:
            await self._until_gone()
        except BaseException:
            # Cancelled once more: the closed socket makes the reaper end the tree without us.
            self._abandon()
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
        self._lines = None
        self._stdout_end.resume()
        # Shielded: a cancelled wait must not make the tree's end unknowable.
        await asyncio.shield(self._gone)
        return self._finished()

    def _input(self) -> WriteEnd:
        if self._command.stdin is not None or self._stdin_end is None:
            raise TypeError("this Process takes no input: give its Command stdin=None")
        return self._stdin_end

    def _open_pipes(self) -> list[int]:
        """Make the pipes, keep our ends, and return the command's: stdin, stdout, stderr."""
        theirs_in = self._open_stdin()
        ours_out, theirs_out = os.pipe()
        self._stdout_end = ReadEnd(ours_out, self._loop, self._take_stdout)
        self._read_ends.append(self._stdout_end)
        if self._command.merge_stderr:
            return [theirs_in, theirs_out, os.dup(theirs_out)]
        ours_err, theirs_err = os.pipe()
        self._read_ends.append(ReadEnd(ours_err, self._loop, self._stderr.feed))
        return [theirs_in, theirs_out, theirs_err]

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
        if self._lines is not None:
            self._lines.feed(chunk)
            if self._lines.full:
                self._stdout_end.pause()

    async def _send_order(self, encoded: tuple[list[bytes], dict[bytes, bytes], bytes], stdio: list[int]) -> None:
        payload = marshal.dumps(encoded)
        message = HEADER.pack(b"R", len(payload)) + payload
        try:
            sent = socket.send_fds(self._control, [message], stdio)
        except OSError as error:
            raise InfrastructureError(
                f"could not start {self._command.label!r}: the reaper is gone ({error})"
            ) from None
        finally:
            for descriptor in stdio:
                os.close(descriptor)
        if sent < len(message):
            await self._loop.sock_sendall(self._control, message[sent:])

    def _begin_timeout(self) -> None:
        if self._command.timeout_secs is not None:
            self._timers.append(self._loop.call_later(self._command.timeout_secs, self._time_out))

    def _time_out(self) -> None:
        if self._exit_status is None:
            self._timed_out = True
            self.stop()

    def _order(self, order: bytes) -> None:
        try:
            self._control.send(order)
        except OSError:
            self._fail("the process that runs it was killed")

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
        if what == b"s":
            _settle(self._spawned, value)
        elif what in b"ce":
            self._refuse(value, self._command.cwd if what == b"c" else None)
        elif what == b"x":
            self._exit_status = value
            self._duration = time.monotonic() - self._started
        else:
            self._close(reuse=True)
            _settle(self._gone, None)

    def _refuse(self, errno: int, folder: object) -> None:
        where = "" if folder is None else f" in folder {str(folder)!r}"
        error = SpawnError(f"could not start {self._command.label!r}{where}: {os.strerror(errno)}")
        self._close(reuse=True)
        if not self._spawned.done():
            self._spawned.set_exception(error)

    def _fail(self, why: str) -> None:
        error = InfrastructureError(f"lost {self._command.label!r}: {why}")
        self._close(reuse=False)
        for outcome in (self._spawned, self._gone):
            if not outcome.done():
                outcome.set_exception(error)
                # Whoever awaits it sees it; nobody may be left to.
                outcome.exception()

    def _close(self, *, reuse: bool) -> None:
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
            _pool.release(self._control)
        else:
            self._control.close()

    def _abandon(self) -> None:
        if self._control.fileno() >= 0 and not self._gone.done():
            self._fail("it was given up")

    async def _until_gone(self) -> None:
        try:
            async with asyncio.timeout(OUTER_CLOCK_SECS):
                await asyncio.shield(self._gone)
        except TimeoutError:
            raise InfrastructureError(
                f"processes of {self._command.label!r} could not be ended within {OUTER_CLOCK_SECS} s; "
                f"look for children of pid {self.pid} that wait for a device"
            ) from None

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
