"""Who works on a session: at most one process, known by a lock that the kernel takes back when it dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from trueup.core.errors import InputError

POLL_SECS = 0.05
# Whoever asks for the owner holds the lock for a moment.
PATIENCE_SECS = 0.5
# A workspace is put away meanwhile.
STOPPING_SECS = 30


class LeaseTakenError(InputError):
    """Another process works on the session."""


class Lease:
    """The right to work on one session."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "owner"

    @asynccontextmanager
    async def held(self, *, wait_secs: float = PATIENCE_SECS) -> AsyncIterator[None]:
        """Hold it, once whoever has it lets go of it; an error where that takes too long."""
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await self._take(descriptor, wait_secs)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    @asynccontextmanager
    async def taken_over(self) -> AsyncIterator[None]:
        """Hold it, having stopped whoever has it: asked to, and ended where that is not heard."""
        self.interrupt_owner()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.held(wait_secs=STOPPING_SECS))
            except LeaseTakenError:
                self.end_owner()
                await stack.enter_async_context(self.held(wait_secs=STOPPING_SECS))
            yield

    def owner(self) -> int | None:
        """The process that works on the session now."""
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return None if _try_lock(descriptor) else _read_owner(descriptor)
        finally:
            os.close(descriptor)

    def interrupt_owner(self) -> None:
        """Ask whoever works on the session to stop; it leaves the session so that another can go on."""
        # One that was stopped hears nothing until it is let go on.
        self._send(signal.SIGTERM, signal.SIGCONT)

    def end_owner(self) -> None:
        """End whoever works on the session: what it started goes with it, and nothing is lost that was recorded."""
        self._send(signal.SIGKILL)

    def _send(self, *signals: signal.Signals) -> None:
        owner = self.owner()
        # This process itself, where two of its clients want the same: what the other one does ends by itself.
        if owner is None or owner == os.getpid():
            return
        for each in signals:
            with suppress(ProcessLookupError):
                os.kill(owner, each)

    async def _take(self, descriptor: int, wait_secs: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_secs
        while not _try_lock(descriptor):
            if loop.time() >= deadline:
                name, owner = self._file.parent.name, _read_owner(descriptor)
                raise LeaseTakenError(
                    f"session {name} is being worked on by process {owner}; wait for it, or `trueup code cancel {name}`"
                )
            await asyncio.sleep(POLL_SECS)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read_owner(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None
