"""What to run, and what came of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import SpawnError

MIB = 1 << 20

_BASH = ("bash", "--noprofile", "--norc", "-o", "pipefail", "-c")


class Command(Struct, frozen=True, kw_only=True):
    """A program and its arguments, or a line for bash.

    `stdin` is fed and closed; None keeps it open for `Process.write`. Of each stream the last `output_limit` bytes
    are kept. `find` is looked for in all of the output, however much there is. With `grace_secs`, a command that must
    end is asked with SIGTERM first.
    """

    argv: tuple[str, ...] = ()
    shell: str | None = None
    cwd: str | Path = "."
    env: Mapping[str, str] | None = None
    stdin: bytes | None = b""
    timeout_secs: float | None = None
    grace_secs: float = 0
    output_limit: int = MIB
    merge_stderr: bool = False
    find: str | None = None

    def __post_init__(self) -> None:
        if bool(self.argv) == (self.shell is not None):
            raise TypeError("a Command has either argv or shell")

    @property
    def label(self) -> str:
        """How to name the command in a message."""
        return self.shell if self.shell is not None else self.argv[0]

    def encode(self) -> tuple[list[bytes], dict[bytes, bytes], bytes]:
        """What the operating system is given: argv with its program found, environment, folder."""
        path = os.environ.get("PATH") if self.env is None else self.env.get("PATH")
        words = (*_BASH, self.shell) if self.shell is not None else self.argv
        try:
            folder = os.path.abspath(self.cwd)  # noqa: PTH100 - once per command, and Path costs ten times as much
            program = _find_program(words[0], path, folder)
            argv = [os.fsencode(word) for word in (program, *words[1:])]
            environ = _encode_environment(self.env)
            encoded = argv, environ, os.fsencode(folder)
        except UnicodeEncodeError as error:
            raise SpawnError(
                f"could not start {self.label!r}: it cannot be encoded for this system ({error})"
            ) from None
        except FileNotFoundError:
            raise SpawnError(
                f"could not start {self.label!r}: the working folder is gone; go to one that exists"
            ) from None
        if any(b"\0" in part for part in (*argv, *environ, *environ.values(), encoded[2])):
            raise SpawnError(f"could not start {self.label!r}: an argument, variable or folder contains a NUL byte")
        if any(not name or b"=" in name for name in environ):
            raise SpawnError(f"could not start {self.label!r}: a variable name is empty or contains '='")
        return encoded


def _encode_environment(env: Mapping[str, str] | None) -> dict[bytes, bytes]:
    if env is None:
        return dict(os.environb)
    return {os.fsencode(name): os.fsencode(value) for name, value in env.items()}


def _find_program(name: str, path: str | None, folder: str) -> str:
    if os.sep in name:
        return os.path.join(folder, name)  # noqa: PTH118
    found = shutil.which(name, path=path)
    if found is None:
        raise SpawnError(f"could not start {name!r}: no such program on PATH; install it or give its whole path")
    return os.path.abspath(found)  # noqa: PTH100


class Output(Struct, frozen=True):
    """One output stream: the last bytes of it, and how many there were."""

    data: bytes = b""
    seen: int = 0

    def __repr__(self) -> str:
        # Short: asyncio puts results into messages, and a megabyte of escapes would be many.
        return f"Output({self.tail(200)!r}, seen={self.seen})"

    @property
    def whole(self) -> bool:
        """Whether `data` is everything."""
        return self.seen == len(self.data)

    @property
    def text(self) -> str:
        """What was kept, with undecodable bytes replaced."""
        return _from_boundary(self.data, cut=not self.whole).decode(errors="replace")

    def tail(self, limit: int) -> str:
        """At most the last `limit` bytes, cut on a character boundary."""
        kept = self.data[-limit:]
        return _from_boundary(kept, cut=len(kept) < self.seen).decode(errors="replace")


def _from_boundary(data: bytes, *, cut: bool) -> bytes:
    """Drop the rest of a UTF-8 character whose beginning was cut off."""
    start = 0
    while cut and start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


class Finished(Struct, frozen=True, kw_only=True):
    """A command that ended, with nothing of it left running.

    `exit_code` is None where a signal ended it. `found` is None where nothing was looked for.
    """

    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    duration_secs: float
    stdout: Output = Output()
    stderr: Output = Output()
    found: bool | None = None
