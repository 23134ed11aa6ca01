"""A sign of life from what takes longer than a second, for whoever watches."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Self

from trueup.core.text import visible

from ._main import tell
from ._shared import is_live

PATIENCE_SECS = 1.0
REFRESH_SECS = 0.25
_ERASE_LINE = "\r\x1b[2K"


class Waiting:
    """A line at the foot of a terminal: what is being waited for, and how long by now.

    It comes after a second, goes when the block ends, and is never seen where nobody could watch it. What is to stay
    is said by `say`, above it. A thread draws it, so that also what keeps the program busy is waited for.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self._is_shown = is_live() and not quiet
        self._started = time.monotonic()
        self._is_over = threading.Event()
        self._turn = threading.Lock()
        self._is_drawn = False
        self._drawing = threading.Thread(target=self._draw_on, daemon=True)

    @property
    def elapsed_secs(self) -> float:
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        if self._is_shown:
            self._drawing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._is_shown:
            self._drawing.join()
            with self._turn:
                self._erase()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with self._turn:
            self._erase()
            tell(text)

    def _draw_on(self) -> None:
        # Nobody needs to be there to see it.
        with suppress(OSError):
            wait_secs = PATIENCE_SECS
            while not self._is_over.wait(wait_secs):
                wait_secs = REFRESH_SECS
                with self._turn:
                    self._draw()

    def _draw(self) -> None:
        line = f"{self.elapsed_secs:6.1f} s  {visible(' '.join(self.what.split()))}"
        width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns)
        sys.stderr.write(f"{_ERASE_LINE}{line[: width - 3]} …")
        sys.stderr.flush()
        self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            with suppress(OSError):
                sys.stderr.write(_ERASE_LINE)
                sys.stderr.flush()
            self._is_drawn = False
