"""What the instructions refer to: files that should be there, and inside of the skill.

A reference that is none costs more trust than one that is missed, so whatever may be an example is left alone: code
blocks, comments, what is called an example, places to fill in, patterns, and paths that begin anywhere but in the skill.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ._model import Remark

_FENCE = re.compile(r" {0,3}(?:[-*+>] +)*(`{3,}|~{3,})(.*)")
_CODE = re.compile("`[^`]*`")
_LINK = re.compile(r"\]\(\s*(<[^<>]*>|[^\s()<>]+(?=[\s)]))")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\[\]]+\]:\s*(<[^<>]*>|[^\s<>]+(?=\s|$))")
_MENTION = re.compile(r"(?<![\w./~$%@:{}<>*\\-])(?:\./)?((?:scripts|references|assets)/[\w./-]+)(?![\w./*{}<>$\[(…-])")
_NEW_THOUGHT = re.compile(r"\s*(?:$|#|[-*+] |\d+[.)] )")
_EXAMPLE = re.compile(r"\bexamples?\b|\be\.g\.|\bfor instance\b|\bsuch as\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TO_FILL_IN = re.compile(r"[<>{}*$…]|\.\.\.")


class _Reference(NamedTuple):
    target: str
    line: int


def reference_remarks(body: str, first_line: int, folder: Path) -> Iterator[Remark]:
    """References that lead nowhere, or out of the folder; each file is told once."""
    seen: set[str] = set()
    for target, line in _references(body, first_line):
        if target in seen:
            continue
        seen.add(target)
        remark = _judge(target, line, folder)
        if remark is not None:
            yield remark


def _judge(target: str, line: int, folder: Path) -> Remark | None:
    inside = os.path.normpath(target)
    if inside.startswith(("/", "../")) or inside == "..":
        return Remark(
            "reference-outside",
            line,
            f"{target!r} is outside of the skill's folder, which is all that an agent is given",
            "move it into the folder",
        )
    try:
        is_there = os.path.lexists(folder / inside)
    except ValueError:
        is_there = False
    if is_there:
        return None
    return Remark("reference-missing", line, f"{target!r} is not there", "add the file, or correct the reference")


def _references(body: str, first_line: int) -> Iterator[_Reference]:
    is_example = False
    for number, line in _prose(body):
        for target in _linked(line):
            yield _Reference(target, first_line + number)
        is_example = is_example and not _NEW_THOUGHT.match(line)
        example = _EXAMPLE.search(line)
        if not (is_example or _SUPPOSED.search(line)):
            for target in _mentioned(line, example.start() if example else len(line)):
                yield _Reference(target, first_line + number)
        is_example = is_example or example is not None


def _linked(line: str) -> Iterator[str]:
    """The files that links of Markdown lead to; in code they are examples."""
    text = _CODE.sub("", line)
    definition = _DEFINITION.match(text)
    links = [found[1] for found in _LINK.finditer(text)] + ([definition[1]] if definition else [])
    yield from (target for link in links if (target := _file_of(link)) is not None)


def _mentioned(line: str, end: int) -> Iterator[str]:
    """The files that a line names by the folders that skills have, up to a place."""
    for mention in _MENTION.finditer(line):
        target = mention[1].rstrip(".")
        # Without an ending it is a folder, or a way of speaking.
        if mention.start() < end and "." in target.rpartition("/")[2]:
            yield target


def _file_of(link: str) -> str | None:
    """The file that a link of Markdown leads to; None where it leads elsewhere, or has a place to fill in."""
    target = link.strip("<>").partition("#")[0].partition("?")[0]
    if not target or _SCHEME.match(target) or target.startswith(("//", "~")) or _TO_FILL_IN.search(target):
        return None
    # A bare word is a link in an example more often than a file.
    return unquote(target) if "/" in target or "." in target else None


def _prose(body: str) -> Iterator[tuple[int, str]]:
    """The lines that are no code block and no comment, with their numbers from 0."""
    fence = ""
    for number, line in enumerate(_without_comments(body).split("\n")):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and "`" not in found[2]:
            fence = found[1]
        elif not line.startswith(("    ", "\t")) or line.lstrip().startswith(("-", "*", "+")):
            yield number, line


def _without_comments(body: str) -> str:
    """The text with its comments blank, on as many lines."""
    kept: list[str] = []
    position = 0
    while True:
        start = body.find("<!--", position)
        end = -1 if start < 0 else body.find("-->", start)
        if end < 0:
            return "".join([*kept, body[position:]])
        kept += [body[position:start], "\n" * body.count("\n", start, end)]
        position = end + len("-->")
