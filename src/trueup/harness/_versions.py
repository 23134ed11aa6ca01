"""Versions of agent programs, for runs in which they do not tell them.

A program is asked once in a process, while a run goes on that would like to know, and anew when its file is another.
No run waits for the answer, or fails for want of it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.process import Command, run

VERSION_SECS = 20
_VERSION = re.compile(r"\d+\.[\w.+-]*\w")

Ask = Callable[[], Awaitable[str | None]]


class _File(Struct, frozen=True):
    """An agent's program as it lies on the disk: another one in its place is not the same."""

    harness: str
    inode: tuple[int, int]
    size: int
    modified_ns: int


_TOLD: dict[_File, str] = {}
_ASKED: set[_File] = set()


async def told_version(path: str, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """What a program tells with `--version`; where it tells none, why."""
    try:
        finished = await run(Command(argv=(path, "--version"), env=environ, timeout_secs=VERSION_SECS))
    except TrueupError as error:
        return None, str(error)
    found = _VERSION.search(finished.stdout.text.partition("\n")[0])
    if finished.exit_code == 0 and found is not None:
        return found[0], ""
    said = finished.stderr.tail(300).strip() or "it said nothing"
    why = f"it did not answer within {VERSION_SECS} s" if finished.timed_out else said
    return None, f"`{path} --version` did not tell a version: {why}"


async def remember_version(harness: str, program: str, version: str | None) -> None:
    """Keep what a program told of itself."""
    file = await asyncio.to_thread(_file, harness, program)
    if file is not None and version is not None:
        _TOLD[file] = version


@asynccontextmanager
async def version_meanwhile(
    harness: str, program: str | None, ask: Ask | None
) -> AsyncIterator[Callable[[], str | None]]:
    """Find a program's version out while the block runs: gives what says it as soon as it is known.

    Without `ask` it is only known where somebody asked before.
    """
    file = None if program is None else await asyncio.to_thread(_file, harness, program)
    if file is None or ask is None or file in _TOLD or file in _ASKED:
        yield lambda: None if file is None else _TOLD.get(file)
        return
    _ASKED.add(file)
    asking = asyncio.create_task(_tell(file, ask))
    try:
        yield lambda: _TOLD.get(file)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        _ASKED.discard(file)


async def _tell(file: _File, ask: Ask) -> None:
    try:
        version = await ask()
    except TrueupError:
        return
    if version is not None:
        _TOLD[file] = version


def _file(harness: str, program: str) -> _File | None:
    try:
        found = os.stat(program)  # noqa: PTH116 - once per run
    except OSError:
        return None
    return _File(harness, (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)
