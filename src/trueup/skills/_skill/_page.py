"""A SKILL.md, taken apart: frontmatter and instructions, each with its lines in the file."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from trueup.core.documents import MOST_BYTES, Document
from trueup.core.errors import InputError

from ._model import Remark

_SOURCE = "frontmatter"
_PLACE = re.compile(rf"{_SOURCE}(?::(\d+))?(?::\d+)?: (.*)", re.DOTALL)
_ADVICE = {
    "mapping values are not allowed here": "put a value with a colon in it in quotes",
    "found character '\\t' that cannot start any token": "indent with spaces",
}


class Page(NamedTuple):
    """A SKILL.md whose frontmatter is a map."""

    document: Document
    body: str
    body_line: int

    @property
    def keys(self) -> dict[str, object]:
        data: dict[str, object] = self.document.data
        return data

    def line(self, *path: str | int, key: bool = False) -> int | None:
        """The line of a value of the frontmatter, or of its key."""
        found = _PLACE.match(f"{self.document.locate(path, key=key)}: ")
        return int(found[1]) if found and found[1] else None


def read_page(file: Path) -> Page | Remark:
    """Read a SKILL.md, or say why it cannot be one."""
    text = _read(file)
    return text if isinstance(text, Remark) else _take_apart(text)


def _read(file: Path) -> str | Remark:
    try:
        # Opened without blocking: a pipe in place of the file would wait for its writer.
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return Remark("file-unreadable", None, "is not a regular file", "put a text file in its place")
            raw = opened.read(MOST_BYTES + 1)
    except OSError as error:
        return Remark("file-unreadable", None, f"cannot be read: {error.strerror}", "make it a file that you may read")
    if len(raw) > MOST_BYTES:
        return Remark("file-size", None, "is larger than 1 MiB", "move details to files below references/")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        return Remark("file-encoding", line, f"byte 0x{raw[error.start]:02x} is not UTF-8", "save the file as UTF-8")


def _take_apart(text: str) -> Page | Remark:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return Remark(
            "frontmatter-missing",
            1,
            "does not begin with a frontmatter",
            "begin the file with a line ---, then name: and description:, then a line ---",
        )
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return Remark("frontmatter-unclosed", 1, "the frontmatter has no end", "put a line --- below its last key")
    document = _parse(lines[1:end])
    if isinstance(document, Remark):
        return document
    first = next((number for number in range(end + 1, len(lines)) if lines[number].strip()), len(lines))
    return Page(document, "\n".join(lines[first:]).rstrip(), first + 1)


def _parse(lines: list[str]) -> Document | Remark:
    try:
        # An empty line stands for the opening fence, so that every place is one of the file.
        document = Document.parse("\n".join(["", *lines]).encode(), source=_SOURCE, is_json=False)
    except InputError as error:
        found = _PLACE.match(str(error))
        line, what = (int(found[1] or 1), found[2]) if found else (1, str(error))
        what = what.removeprefix("not valid YAML: ")
        return Remark("frontmatter-yaml", line, f"not valid YAML: {what}", _ADVICE.get(what, "correct this line"))
    if not isinstance(document.data, dict):
        return Remark(
            "frontmatter-map", 2, "the frontmatter is no map", "write keys and values, such as name: my-skill"
        )
    return document
