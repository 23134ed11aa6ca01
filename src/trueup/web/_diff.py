"""A patch as a page shows it: by file, each line with its number and its parts that are drawn alike."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from markupsafe import Markup, escape
from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.process import Command, run

from ._templates import said

# A page shows so much of a patch; the whole of it can be asked for.
MOST_BYTES = 400_000
MOST_LINES_OF_A_FILE = 1500
MOST_LINES = 4000
# Nobody reads those as code, and some patterns take long on them.
LONGEST_COLOURED_LINE = 2000
# A page is not held up for its colours.
COLOURING_SECS = 4.0

_COLOURS = Path(__file__).with_name("_colours.py")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"r": b"\r", b"v": b"\v"}

Kind = Literal["add", "gone", "same", "hunk"]
Part = tuple[str, str]


class Line(Struct):
    """One line of a file's change. `number` is that of the file it is in: after the change, or before it where it is gone."""

    kind: Kind
    text: str
    number: int | None = None
    parts: list[Part] = []


class FileDiff(Struct):
    """What a patch does to one file. `cut` is how many lines of it are not shown, `html` are those that are."""

    name: str
    notes: list[str] = []
    lines: list[Line] = []
    added: int = 0
    removed: int = 0
    cut: int = 0
    html: Markup = Markup("")


class Patch(Struct):
    """A patch, as much of it as a page shows."""

    files: list[FileDiff]
    total_bytes: int
    is_whole: bool

    def place(self, path: str | None, line: int | None) -> str | None:
        """Where on the page a line of a file is; its file where the line is not part of the change."""
        for number, file in enumerate(self.files, 1):
            if file.name == path:
                there = any(each.number == line and each.kind != "gone" for each in file.lines)
                return f"file-{number}-{line}" if line is not None and there else f"file-{number}"
        return None


async def read_patch(patch: bytes) -> Patch:
    """A patch by file, coloured by the languages of its files."""
    shown = await asyncio.to_thread(parse, patch)
    await _colour(shown.files)
    await asyncio.to_thread(_draw, shown.files)
    return shown


def parse(patch: bytes) -> Patch:
    """A patch by file, without colours."""
    text = said(patch[:MOST_BYTES].decode(errors="replace"))
    files = [_file(block) for block in _blocks(text.split("\n"))]
    left = MOST_LINES
    for file in files:
        shown = min(left, MOST_LINES_OF_A_FILE)
        file.cut = max(0, len(file.lines) - shown)
        file.lines = file.lines[:shown]
        left -= len(file.lines)
    whole = len(patch) <= MOST_BYTES and not any(file.cut for file in files)
    return Patch(files, len(patch), whole)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each file. A line of a hunk cannot begin so: it has a sign before it."""
    starts = [number for number, line in enumerate(lines) if line.startswith("diff --git ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start:end]


def _file(block: list[str]) -> FileDiff:
    body = next((number for number, line in enumerate(block) if line.startswith("@@ ")), len(block))
    head = block[1:body]
    lines = list(_lines(block[body:]))
    return FileDiff(
        name=_name(block[0], head),
        notes=list(_notes(head)),
        lines=lines,
        added=sum(line.kind == "add" for line in lines),
        removed=sum(line.kind == "gone" for line in lines),
    )


def _name(first: str, head: list[str]) -> str:
    named = {line[:4]: line[4:] for line in head if line.startswith(("+++ ", "--- "))}
    for sign, folder in (("+++ ", "b/"), ("--- ", "a/")):
        name = _unquoted(named.get(sign, "/dev/null").removesuffix("\t"))
        if name.startswith(folder):
            return name.removeprefix(folder)
    renamed = next((line.removeprefix("rename to ") for line in head if line.startswith("rename to ")), None)
    # Both names are the same here, and git puts nothing but a blank between them.
    both = first.removeprefix("diff --git ")
    return _unquoted(renamed or both[len(both) // 2 + 1 :]).removeprefix("b/")


def _unquoted(name: str) -> str:
    """A file name as it is: git puts those with unusual characters into quotes."""
    if len(name) < 2 or not name[0] == name[-1] == '"':
        return name
    return said(_ESCAPED.sub(_meant, name[1:-1].encode()).decode(errors="replace"))


def _meant(escaped: re.Match[bytes]) -> bytes:
    what = escaped[1]
    return bytes([int(what, 8)]) if len(what) == 3 else _ESCAPES.get(what, what)


def _notes(head: list[str]) -> Iterator[str]:
    for line in head:
        if line.startswith(("GIT binary patch", "Binary files")):
            yield "binary"
        elif line.startswith(("new file", "deleted file", "old mode", "new mode", "rename from", "similarity")):
            yield line


def _lines(body: list[str]) -> Iterator[Line]:
    old = new = 0
    old_left = new_left = 0
    for text in body:
        if old_left <= 0 and new_left <= 0:
            hunk = _HUNK.match(text)
            if hunk is None:
                continue
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            yield Line("hunk", text)
        elif text.startswith("+"):
            yield Line("add", text[1:], new)
            new, new_left = new + 1, new_left - 1
        elif text.startswith("-"):
            yield Line("gone", text[1:], old)
            old, old_left = old + 1, old_left - 1
        elif not text.startswith("\\"):
            yield Line("same", text[1:], new)
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1


def _draw(files: list[FileDiff]) -> None:
    for number, file in enumerate(files, 1):
        file.html = Markup("").join(_drawn(line, number) for line in file.lines)


def _drawn(line: Line, file_number: int) -> Markup:
    """A line with its number. One that is there after the change can be linked to."""
    number = "" if line.number is None else f' data-number="{line.number}"'
    place = "" if line.kind in ("gone", "hunk") else f' id="file-{file_number}-{line.number}"'
    parts = "".join(
        f'<span class="{escape(drawn)}">{escape(text)}</span>' if drawn else escape(text)
        for drawn, text in line.parts or [("", line.text)]
    )
    return Markup(f'<span class="line {line.kind}"{place}{number}>{parts}\n</span>')  # noqa: S704 - escaped above


async def _colour(files: list[FileDiff]) -> None:
    """Give lines their parts, where that is quick. Both sides of a hunk are read as they stood in their file."""
    sides = [_sides(file.lines) for file in files]
    asked = [
        (Path(file.name).name, ["\n".join(line.text for line in side) for side in of_file])
        for file, of_file in zip(files, sides, strict=True)
    ]
    answer = await _coloured(asked)
    for of_file, texts in zip(sides, answer or [], strict=False):
        for side, lines in zip(of_file, texts or [], strict=False):
            for line, parts in zip(side, lines, strict=False):
                line.parts = parts


def _sides(lines: list[Line]) -> list[list[Line]]:
    """What stood together in a file: of every hunk what is gone, then what is there, with the lines around it."""
    if any(len(line.text) > LONGEST_COLOURED_LINE for line in lines):
        return []
    return [
        side
        for hunk in _hunks(lines)
        for side in ([line for line in hunk if line.kind != "add"], [line for line in hunk if line.kind != "gone"])
    ]


def _hunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    hunk: list[Line] = []
    for line in lines:
        if line.kind == "hunk":
            yield hunk
            hunk = []
        else:
            hunk.append(line)
    yield hunk


async def _coloured(asked: list[tuple[str, list[str]]]) -> list[list[list[list[Part]]] | None] | None:
    if not any(any(texts) for _, texts in asked):
        return None
    command = Command(
        argv=(sys.executable, "-P", str(_COLOURS)),
        env=os.environ,
        stdin=msgspec.json.encode(asked),
        timeout_secs=COLOURING_SECS,
        output_limit=64 << 20,
    )
    try:
        finished = await run(command)
        if finished.exit_code != 0 or not finished.stdout.whole:
            return None
        return await asyncio.to_thread(_ANSWER.decode, finished.stdout.data)
    except (TrueupError, msgspec.MsgspecError):
        return None


_ANSWER = msgspec.json.Decoder(list[list[list[list[Part]]] | None])
