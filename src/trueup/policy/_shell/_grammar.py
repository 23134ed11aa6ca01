"""The grammar of bash, asked within limits: no text may keep its reader for long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Point

LONGEST_BYTES = 128 << 10
LONGEST_SECS = 0.2
# The parser's time grows with the square of their number, after the last chance to stop it.
MOST_PIPES = 500
_CHUNK_BYTES = 64


class UnreadableError(Exception):
    """A text that is not read at all. The message says why."""


def parse(source: bytes) -> Node:
    """The tree of a text; parts of it may be errors. An `UnreadableError` beyond the limits."""
    if len(source) > LONGEST_BYTES:
        raise UnreadableError(f"it is longer than {LONGEST_BYTES >> 10} KiB")
    if b"\0" in source:
        raise UnreadableError("there is a NUL in it")
    if source.count(b"|") > MOST_PIPES:
        raise UnreadableError(f"there are more than {MOST_PIPES} pipes in it")
    # Processor time, so that a machine that is busy with something else does not make a text unreadable.
    deadline = time.thread_time() + LONGEST_SECS
    stopped = False

    def read(offset: int, _: Point) -> bytes:
        # An early end is how a parse is stopped: error recovery takes quadratic time on texts made for it.
        nonlocal stopped
        stopped = stopped or time.thread_time() > deadline
        return b"" if stopped else source[offset : offset + _CHUNK_BYTES]

    from tree_sitter import Parser

    root = Parser(_bash()).parse(read).root_node
    if stopped:
        raise UnreadableError("it takes too long to read")
    return root


def descendants(root: Node) -> Iterator[Node]:
    """A node and all named nodes below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.named_children))


@cache
def _bash() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
