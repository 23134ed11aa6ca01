"""A program that is ended when it fills the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Process

from ._scratch import Scratch

POLL_SECS = 1.0


@asynccontextmanager
async def watched(command: Command, scratch: Scratch, most_mb: int, *, lines: bool = True) -> AsyncIterator[Process]:
    """A running program. Once its scratch holds too much it is ended, and leaving is an `InfrastructureError`."""
    async with Process(command, lines=lines) as process, _DiskWatch(process, scratch, most_mb):
        yield process


class _DiskWatch:
    def __init__(self, process: Process, scratch: Scratch, most_mb: int) -> None:
        self._process = process
        self._scratch = scratch
        self._most_mb = most_mb
        self._is_full = False

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self._stop_when_full())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.cancel()
        # Whoever gave up on the program did so for a reason of their own; any other error followed from this one.
        if self._is_full and (error is None or isinstance(error, Exception)):
            raise InfrastructureError(f"a command wrote more than {self._most_mb} MB and was ended") from error

    async def _stop_when_full(self) -> None:
        """A busy disk is looked at less often."""
        loop = asyncio.get_running_loop()
        pause = POLL_SECS
        while True:
            await asyncio.sleep(pause)
            started = loop.time()
            if await asyncio.to_thread(self._scratch.written_bytes) > self._most_mb << 20:
                self._is_full = True
                self._process.stop()
                return
            pause = max(POLL_SECS, 10 * (loop.time() - started))
