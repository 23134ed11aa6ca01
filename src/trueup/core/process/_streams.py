"""Our ends of a command's pipes, pumped by the event loop."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from ._command import MIB, Output

CHUNK = 65536
MOST_CHUNKS = 1024


class Capture:
    """Keeps the end of a stream, counts all of it, and looks for a text anywhere in it."""

    def __init__(self, limit: int, find: bytes | None) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._kept = 0
        self._seen = 0
        self._find = find
        self._overlap = b""
        self.found = find == b""

    def feed(self, chunk: bytes) -> None:
        self._seen += len(chunk)
        self._kept += len(chunk)
        self._chunks.append(chunk)
        while self._chunks and self._kept - len(self._chunks[0]) >= self._limit:
            self._kept -= len(self._chunks.popleft())
        # Many small writes must not cost an object each.
        if len(self._chunks) > MOST_CHUNKS:
            self._chunks = deque([b"".join(self._chunks)])
        if self._find and not self.found:
            window = self._overlap + chunk
            self.found = self._find in window
            self._overlap = window[1 - len(self._find) :] if len(self._find) > 1 else b""

    def output(self) -> Output:
        kept = b"".join(self._chunks)
        return Output(kept[-self._limit :] if self._limit else b"", self._seen)


class LineBuffer:
    """Cuts a stream into lines for one reader, who may be slower than the writer."""

    HIGH_WATER = MIB

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._news = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._size >= self.HIGH_WATER

    def feed(self, chunk: bytes) -> None:
        first, *rest = chunk.split(b"\n")
        self._partial += first
        for part in rest:
            self._push(bytes(self._partial))
            self._partial = bytearray(part)
        # A line without an end must not grow without bound: it is delivered in pieces.
        while len(self._partial) > self._limit:
            self._push(bytes(self._partial[: self._limit]))
            del self._partial[: self._limit]
        self._news.set()

    def end(self) -> None:
        if self._partial:
            self._push(bytes(self._partial))
            self._partial.clear()
        self._ended = True
        self._news.set()

    def _push(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    async def next(self) -> bytes | None:
        """The next line without its end, or None after the last."""
        while not self._lines:
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._size -= len(line) + 1
        return line


class ReadEnd:
    """Reads a pipe into its consumers while the loop runs."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop, *consumers: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = loop
        self._consumers = consumers
        self._reading = False
        self._open = True
        self.resume()

    def resume(self) -> None:
        if self._open and not self._reading:
            self._loop.add_reader(self._descriptor, self._read)
            self._reading = True

    def pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._descriptor)
            self._reading = False

    def drain(self) -> None:
        """Read what the pipe still holds. Bounded: a descriptor handed to a stranger could be written for ever."""
        for _ in range(256):
            if not self._open or not self._read():
                return

    def _read(self) -> bool:
        try:
            chunk = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        for consume in self._consumers:
            consume(chunk)
        return True

    def close(self) -> None:
        if self._open:
            self.pause()
            self._open = False
            os.close(self._descriptor)


class WriteEnd:
    """Feeds a pipe while the loop runs. A reader that goes away early is no error: it has read enough."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = loop
        self._pending: deque[memoryview] = deque()
        self._writing = False
        self._open = True
        self._close_when_written = False
        self._written = asyncio.Event()

    async def write(self, data: bytes) -> None:
        """Return when the pipe has taken everything, or nobody reads it any more."""
        self.feed(data)
        await self._written.wait()

    def feed(self, data: bytes) -> None:
        if self._open and data:
            self._pending.append(memoryview(data))
            self._written.clear()
            self._pump()
        else:
            self._written.set()

    def close_when_written(self) -> None:
        self._close_when_written = True
        self._pump()

    def _pump(self) -> None:
        try:
            while self._open and self._pending:
                taken = os.write(self._descriptor, self._pending[0][: 16 * CHUNK])
                self._pending[0] = self._pending[0][taken:]
                if not self._pending[0]:
                    self._pending.popleft()
        except BlockingIOError:
            self._wait_for_room()
            return
        except OSError:
            self.close()
            return
        self._stop_waiting()
        self._written.set()
        if self._close_when_written:
            self.close()

    def _wait_for_room(self) -> None:
        if not self._writing:
            self._loop.add_writer(self._descriptor, self._pump)
            self._writing = True

    def _stop_waiting(self) -> None:
        if self._writing:
            self._loop.remove_writer(self._descriptor)
            self._writing = False

    def close(self) -> None:
        if self._open:
            self._stop_waiting()
            self._open = False
            self._pending.clear()
            os.close(self._descriptor)
        self._written.set()
