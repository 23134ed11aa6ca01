"""A terminal with a program at it, and somebody who reads and types, for tests of any room."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

# The program becomes the leader of a session at the terminal, so that a typed Ctrl-C reaches it as it would a user's.
_AT_THE_TERMINAL = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
CTRL_C = "\x03"
CTRL_D = "\x04"


class Terminal:
    """A pseudo-terminal of 100 × 40 characters. `written` is all that was written to it so far."""

    def __init__(self, argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = {**env, "TERM": "xterm-256color", "PAGER": "cat"}
        self.written = ""

    async def __aenter__(self) -> Self:
        self._master, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._program = subprocess.Popen(
            [sys.executable, "-c", _AT_THE_TERMINAL, *self._argv],
            cwd=self._cwd,
            env=self._env,
            stdin=inside,
            stdout=inside,
            stderr=inside,
        )
        os.close(inside)
        os.set_blocking(self._master, False)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def text(self) -> str:
        """What was written, without what only moves and colours."""
        return _ESCAPES.sub("", self.written).replace("\r\n", "\n")

    async def see(self, text: str, *, after: int = 0, at_most_secs: float = 30) -> int:
        """Wait until a text is there, and say where it ends."""
        deadline = time.monotonic() + at_most_secs
        while (place := self.text.find(text, after)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.text}"
            assert self._program.poll() is None or self._read(), f"it ended without {text!r}:\n{self.text}"
            await asyncio.sleep(0.02)
            self._read()
        return place + len(text)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    async def exit_code(self, at_most_secs: float = 30) -> int:
        """Wait for the end of the program, reading what it writes meanwhile."""
        deadline = time.monotonic() + at_most_secs
        while self._program.poll() is None:
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
            self._read()
            await asyncio.sleep(0.02)
        while self._read():
            pass
        return self._program.returncode

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            # Nothing there yet; or nobody has the terminal open any more.
            return False
        self.written += data.decode(errors="replace")
        return bool(data)
