"""Reading a copy of an answer while it flows by."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from ._wires import Heard, Reading, decoded

# Of one event, or of an answer that is not streamed. What is larger flows all the same and is not read.
MOST_BYTES = 32 << 20
# gzip or zlib, whichever it says it is.
_EITHER = zlib.MAX_WBITS | 32
_PACKED = {"gzip", "x-gzip", "deflate"}
_DONE = b"[DONE]"
# An event's only line of data, and its last.
_ONE_LINE = re.compile(rb"\ndata: *(.*)\n(?=\n)")


class Tap:
    """Takes the bytes of an answer and tells what it said. It never fails: what cannot be read stays unknown."""

    def __init__(self, reading: Reading, content_type: str, encoding: str = "") -> None:
        self._reading = reading
        self._frames = _Events() if content_type.lower().startswith("text/event-stream") else _Whole()
        packed_by = encoding.strip().lower()
        self._unpack = zlib.decompressobj(_EITHER) if packed_by in _PACKED else None
        self._readable = packed_by in {"", "identity"} or self._unpack is not None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if not self._readable:
            return
        try:
            plain = self._unpacked(chunk)
            for data in self._frames.feed(plain):
                if data != _DONE:
                    self._reading.take(data)
        except (zlib.error, _TooLargeError):
            self._readable = False

    def _unpacked(self, chunk: bytes) -> bytes:
        if self._unpack is None:
            return chunk
        plain = self._unpack.decompress(chunk, MOST_BYTES)
        # A few bytes can be packed so that they become all of the memory.
        if self._unpack.unconsumed_tail:
            raise _TooLargeError
        return plain

    def heard(self) -> Heard:
        """What was said until now; call it when the answer is over."""
        if self._readable and isinstance(self._frames, _Whole):
            self._reading.take_whole(decoded(bytes(self._frames.kept)))
        return self._reading.heard()


def unpacked(body: bytes, encoding: str) -> bytes:
    """A body without its packing; as it is where it has none that can be undone."""
    if encoding.strip().lower() not in _PACKED:
        return body
    try:
        return zlib.decompressobj(_EITHER).decompress(body, MOST_BYTES)
    except zlib.error:
        return body


class _TooLargeError(Exception):
    """More than is worth keeping."""


class _Whole:
    """An answer that is one JSON value."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        self.kept += chunk
        if len(self.kept) > MOST_BYTES:
            raise _TooLargeError
        return ()


class _Events:
    """Server-sent events: the data of each."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        come = self._rest + chunk
        found = None if self._data else self._one_line_each(come)
        if found is None:
            found = self._line_by_line(come)
        if len(self._rest) + self._size > MOST_BYTES:
            raise _TooLargeError
        return found

    def _one_line_each(self, come: bytes) -> list[bytes] | None:
        """As all vendors send them, which is found at once; None where any of it looks otherwise."""
        end = come.rfind(b"\n\n") + 2
        if end < 2:
            return None
        found: list[bytes] = _ONE_LINE.findall(b"\n" + come[:end])
        if len(found) != come.count(b"data:", 0, end):
            return None
        self._rest = come[end:]
        return found

    def _line_by_line(self, come: bytes) -> list[bytes]:
        *lines, self._rest = come.split(b"\n")
        found = []
        for line in lines:
            if line[:5] == b"data:":
                self._data.append(line[5:].strip())
                self._size += len(line)
            elif self._data and line in {b"", b"\r"}:
                found.append(b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        return found
