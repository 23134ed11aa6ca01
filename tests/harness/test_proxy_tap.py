"""Reading server-sent events, however they are written and wherever they are cut."""

from __future__ import annotations

import pytest

from trueup.harness.proxy._tap import Tap
from trueup.harness.proxy._wires import Heard

WRITTEN = {
    "anthropic": (b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", [b"1", b"2"]),
    "openai": (b"data: 1\n\ndata: 2\n\ndata: [DONE]\n\n", [b"1", b"2"]),
    "no-space": (b"data:1\n\ndata:2\n\n", [b"1", b"2"]),
    "other-ends-of-lines": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [b"1", b"2"]),
    "mixed-ends-of-lines": (b"data: 1\r\n\r\ndata: 2\n\nevent: c\ndata: 3\n\n", [b"1", b"2", b"3"]),
    "several-lines": (b"data: 1\ndata: 2\n\ndata: 3\n\n", [b"1\n2", b"3"]),
    "more-after-it": (b"data: 1\nid: 7\n\ndata: 2\nretry: 1\n\n", [b"1", b"2"]),
    "comments": (b": data: none\n\n:\n\ndata: 1\n\n\n\ndata: 2\n\n", [b"1", b"2"]),
    "data-in-data": (b'event: a\ndata: "data: x"\n\ndata: 2\n\n', [b'"data: x"', b"2"]),
    "cut-off": (b"data: 1\n\ndata: 2\n", [b"1"]),
}


class Kept:
    """A `Reading` that keeps what it is given."""

    def __init__(self):
        self.taken = []

    def take(self, data):
        self.taken.append(data)

    def take_whole(self, answer): ...

    def heard(self):
        return Heard()


@pytest.mark.parametrize("size", [1, 2, 5, 11, 1000])
@pytest.mark.parametrize("name", WRITTEN)
def test_events_are_found_however_they_are_written_and_cut(name, size):
    stream, expected = WRITTEN[name]
    kept = Kept()
    tap = Tap(kept, "text/event-stream")
    for at in range(0, len(stream), size):
        tap.feed(stream[at : at + size])
    assert kept.taken == expected
