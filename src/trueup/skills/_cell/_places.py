"""Evals of what the agent left in the cell's workspace: files, and what commands make of them.

A link may lead elsewhere in the workspace, never out of it; what is neither a file nor a folder is not opened, and of
large files nothing is read.
"""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from trueup.core.errors import InputError
from trueup.core.process import Command, Finished, run

from .._case import CommandEval, FileEval
from .._matching import pattern_found
from .._report import SeenDetail
from .._secrets import Secrets
from ._bounds import cut
from ._evidence import Finding
from ._workspace import how_it_ended, what_it_said

LARGEST_FILE = 10 << 20
SHOWN = 300


async def look_at_file(eval_: FileEval, folder: Path) -> Finding:
    """Whether a file is there, and is as it should be."""
    return await asyncio.to_thread(_look, eval_, folder)


async def run_command(eval_: CommandEval, folder: Path) -> Finding:
    """Run a command in the workspace, and hold how it ends against what is wanted."""
    command = Command(
        shell=eval_.command,
        cwd=folder,
        timeout_secs=eval_.timeout_secs,
        merge_stderr=True,
        find=eval_.output_contains,
    )
    finished = await run(command)
    problem = _problem(eval_, finished)
    told = f"{eval_.command!r} {how_it_ended(finished, eval_.timeout_secs)}"
    reason = f"{told}, as it should." if problem is None else f"{told}{problem}{what_it_said(finished)}"
    seen = "timed out" if finished.timed_out else finished.exit_code
    return Finding(passed=problem is None, detail=SeenDetail(value=seen, expected=eval_.exit_code), reason=reason)


def _problem(eval_: CommandEval, finished: Finished) -> str | None:
    if finished.timed_out:
        return ""
    if finished.exit_code != eval_.exit_code:
        return f" and not with {eval_.exit_code}"
    if eval_.output_contains is not None and not finished.found:
        return f", but its output does not contain {eval_.output_contains!r}"
    return None


def _look(eval_: FileEval, folder: Path) -> Finding:
    place = _place(eval_.path, folder)
    if place is None:
        return _finding(eval_, passed=False, seen="a link out of the workspace", why="leads out of the workspace")
    try:
        mode = place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _finding(eval_, passed=not eval_.exists, seen=False, why="is not there")
    except OSError as error:
        return _finding(eval_, passed=False, seen=None, why=f"cannot be looked at: {error.strerror}")
    return _look_inside(eval_, place, mode)


def _look_inside(eval_: FileEval, place: Path, mode: int) -> Finding:
    """What is to be said of something that is there."""
    if not eval_.exists:
        return _finding(eval_, passed=False, seen=True, why="is there, and should not be")
    if eval_.contains is eval_.matches is eval_.equals is None:
        return _finding(eval_, passed=True, seen=True, why="is there")
    if not stat.S_ISREG(mode):
        return _finding(eval_, passed=False, seen=None, why="is not a file, so it was not opened")
    return _read(eval_, place)


def _place(name: str, folder: Path) -> Path | None:
    """Where a path leads; None where links lead out of the workspace."""
    if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
        raise InputError(f"file.path: {name!r} is not below the workspace; use a path relative to it")
    top = Path(os.path.realpath(folder))
    place = Path(os.path.realpath(top / name))
    return place if place.is_relative_to(top) else None


def _read(eval_: FileEval, place: Path) -> Finding:
    try:
        # What stands there now may be something else than what was looked at.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(LARGEST_FILE + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError as error:
        return _finding(eval_, passed=False, seen=None, why=f"cannot be read: {error.strerror}")
    if len(content) > LARGEST_FILE:
        return _finding(
            eval_, passed=False, seen=None, why=f"is larger than {LARGEST_FILE >> 20} MiB, so it was not read"
        )
    text = content.decode(errors="replace")
    missing = _missing(eval_, content, text)
    seen = cut(Secrets(os.environ).text(text), SHOWN)
    return _finding(eval_, passed=not missing, seen=seen, why=missing or "holds what it should")


def _missing(eval_: FileEval, content: bytes, text: str) -> str:
    if eval_.equals is not None and content != eval_.equals.encode(errors="surrogateescape"):
        return f"is not equal to {cut(eval_.equals, SHOWN)!r}"
    if eval_.contains is not None and eval_.contains not in text:
        return f"does not contain {eval_.contains!r}"
    if eval_.matches is not None and not pattern_found(eval_.matches, text):
        return f"does not match {eval_.matches!r}"
    return ""


def _finding(eval_: FileEval, *, passed: bool, seen: str | bool | None, why: str) -> Finding:
    wanted = {name: value for name in ("equals", "contains", "matches") if (value := getattr(eval_, name)) is not None}
    return Finding(
        passed=passed, detail=SeenDetail(value=seen, expected=wanted or eval_.exists), reason=f"{eval_.path} {why}."
    )
