"""Reading a copy of an answer while it flows by."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from ._wires import Heard, Reading, decoded

# Of one event, or of an answer that is not streamed. What is larger flows all the same and is not read.
MOST_BYTES = 32 << 20
# gzip or zlib, whichever it says it is.
_EITHER = zlib.MAX_WBITS | 32
_PACKED = {"gzip", "x-gzip", "deflate"}
_DONE = b"[DONE]"


class Tap:
    """Takes the bytes of an answer and tells what it said. It never fails: what cannot be read stays unknown."""

    def __init__(self, reading: Reading, content_type: str, encoding: str = "") -> None:
        self._reading = reading
        self._frames = _Events() if content_type.startswith("text/event-stream") else _Whole()
        self._unpack = zlib.decompressobj(_EITHER) if encoding.lower() in _PACKED else None
        self._readable = encoding.lower() in {"", "identity"} or self._unpack is not None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if not self._readable:
            return
        try:
            plain = self._unpack.decompress(chunk) if self._unpack else chunk
            for data in self._frames.feed(plain):
                if data != _DONE:
                    self._reading.take(data)
        except (zlib.error, _TooLargeError):
            self._readable = False

    def heard(self) -> Heard:
        """What was said until now; call it when the answer is over."""
        if self._readable and isinstance(self._frames, _Whole):
            self._reading.take_whole(decoded(bytes(self._frames.kept)))
        return self._reading.heard()


class _TooLargeError(Exception):
    """More than is worth keeping."""


class _Whole:
    """An answer that is one JSON value."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self.kept += chunk
        if len(self.kept) > MOST_BYTES:
            raise _TooLargeError
        return iter(())


class _Events:
    """Server-sent events: the data of each."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line[:5] == b"data:":
                self._data.append(line[5:].strip())
                self._size += len(line)
            elif self._data and line in {b"", b"\r"}:
                yield b"\n".join(self._data)
                self._data.clear()
                self._size = 0
        if len(self._rest) + self._size > MOST_BYTES:
            raise _TooLargeError
