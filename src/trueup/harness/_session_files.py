"""Where a conversation with an agent began, by the files in which the agent keeps it.

Asked to go on with one from another folder, codex works in the old folder without a word, and Claude Code takes what
it knows of the old one for true of the new.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

# The folder is told in the first lines, of which one may hold a long prompt.
LINES_READ = 20
LONGEST_LINE = 8 << 20


class _Meta(Struct):
    cwd: str | None = None


class _Line(Struct):
    cwd: str | None = None
    payload: _Meta | None = None


_LINE = msgspec.json.Decoder(_Line)


def began_in(home: Path, pattern: str, session: str) -> str | None:
    """The folder of a session whose file has this pattern below an agent's folder; None where that cannot be told."""
    if not re.fullmatch(r"[\w-]+", session):
        return None
    for file in home.glob(pattern.format(session)):
        try:
            return next(_folders(file), None)
        except OSError:
            continue
    return None


def is_elsewhere(folder: str, other: str) -> bool:
    """Whether two folders are different ones, however they are named."""
    return os.path.realpath(folder) != os.path.realpath(other)


def _folders(file: Path) -> Iterator[str]:
    with file.open("rb") as lines:
        for _ in range(LINES_READ):
            try:
                told = _LINE.decode(lines.readline(LONGEST_LINE))
            except (msgspec.MsgspecError, RecursionError):
                continue
            found = told.cwd or (told.payload and told.payload.cwd)
            if found:
                yield found
