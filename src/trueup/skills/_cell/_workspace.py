"""The folder in which a cell works: made for it, and gone after it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from trueup.core.errors import InfrastructureError, InputError, TrueupError
from trueup.core.files import remove_tree
from trueup.core.process import Command, Finished, run

from .._case import Workspace
from .._secrets import Secrets
from ._fixtures import fill

SETUP_SECS = 600
TAIL_BYTES = 2000


@asynccontextmanager
async def cell_workspace(wanted: Workspace | None, notes: list[str]) -> AsyncIterator[Path]:
    """A folder of one cell, with what its case wants in it. It is removed however the cell ends."""
    making = asyncio.ensure_future(asyncio.to_thread(_make, wanted))
    try:
        folder = await asyncio.shield(making)
        if wanted is not None and wanted.setup is not None:
            await _set_up(wanted.setup, folder)
        yield folder
    finally:
        # Shielded: a second Ctrl-C must not leave the folder behind.
        await asyncio.shield(_clear(making, notes))


def _make(wanted: Workspace | None) -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="trueup-cell-"))
    except OSError as error:
        raise InfrastructureError(f"no workspace could be made: {error.filename}: {error.strerror}") from None
    try:
        if wanted is not None:
            fill(folder, wanted)
    except BaseException:
        remove_tree(folder)
        raise
    return folder


async def _clear(making: asyncio.Future[Path], notes: list[str]) -> None:
    # A thread cannot be cancelled: what still copies has to end before its copy can go.
    await asyncio.wait([making])
    if making.cancelled() or making.exception() is not None:
        return
    folder = making.result()
    try:
        await asyncio.to_thread(remove_tree, folder)
    except OSError as error:
        notes.append(f"the workspace {folder} could not be removed: {error.strerror}")


async def _set_up(line: str, folder: Path) -> None:
    try:
        finished = await run(Command(shell=line, cwd=folder, timeout_secs=SETUP_SECS, merge_stderr=True))
    except TrueupError as error:
        raise InputError(f"workspace.setup: {error}") from None
    if finished.exit_code == 0:
        return
    raise InputError(f"workspace.setup: {line!r} {how_it_ended(finished, SETUP_SECS)}{what_it_said(finished)}")


def how_it_ended(finished: Finished, timeout_secs: float) -> str:
    """The end of a command as part of a sentence."""
    if finished.timed_out:
        return f"did not end within {timeout_secs:g} s"
    return f"exited with {finished.exit_code}" if finished.signal is None else f"was ended by signal {finished.signal}"


def what_it_said(finished: Finished) -> str:
    """The last of a command's output, to be put behind such a sentence."""
    # Commands of a case have the keys of whoever runs it. Hidden before the cut, which might leave half of one.
    tail = Secrets(os.environ).text(finished.stdout.tail(2 * TAIL_BYTES)).strip()[-TAIL_BYTES:]
    return f"; the end of its output:\n{tail}" if tail else "; it printed nothing"
