"""Locks between the processes of one machine."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PATIENCE_SECS = 0.02


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold a file's lock. The kernel frees it when its holder ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Asked again and again and not in a thread: waiters must not take the threads that the holder needs.
        while not _take(descriptor):  # noqa: ASYNC110 - nobody in this process knows when it is free
            await asyncio.sleep(PATIENCE_SECS)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
