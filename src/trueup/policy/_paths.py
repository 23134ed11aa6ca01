"""Paths in an action, and whether a glob names them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ._regex import Searcher, compile_regex
from ._shell import Reading, folder_before_unknown
from ._texts import texts_in

LONGEST_PATH = 4096
_WILD = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]/]+\]")
_SPELLED = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Place(Struct, frozen=True):
    """Where paths start: the folder of the work and the home as the tool sees them, and how links are followed there."""

    root: str = ""
    home: str = ""
    resolve: Callable[[str], str] | None = None

    def forms(self, path: str, folder: str = "") -> Iterator[str]:
        """A path without `..` and below the root where it is there, as it is written and as it is meant."""
        path = path.removeprefix("file://")
        if path.startswith("~"):
            yield posixpath.normpath(path)
            return
        whole = posixpath.normpath(posixpath.join(self.root, folder, path))
        yield self._below(whole)
        if self.resolve is not None and self.root:
            # What no file system can have leads nowhere.
            with suppress(OSError, ValueError):
                yield self._below(self.resolve(whole))

    def _below(self, path: str) -> str:
        # POSIX leaves two slashes at the start as they are.
        path = f"/{path.lstrip('/')}" if path.startswith("//") else path
        root = self.root.rstrip("/")
        if root and (path == root or path.startswith(f"{root}/")):
            return path[len(root) + 1 :] or "."
        return f"~{path[len(self.home) :]}" if self.home and f"{path}/".startswith(f"{self.home}/") else path


class PathGlob:
    """A glob for paths: `*.pem` anywhere, `secrets/**` from the root of the work, `/etc/**` and `~/.ssh` anywhere else.

    What is below a folder that it names is named as well.
    """

    def __init__(self, pattern: str) -> None:
        self._is_name = "/" not in pattern.rstrip("/")
        self._searcher = _compiled(pattern.rstrip("/") or "/", self._is_name)

    def names(self, path: str) -> bool:
        return self._searcher.search(path.encode(errors="replace")) is not None


def paths_in(value: Any) -> Iterator[str]:
    """Every text that can be a path: of one line and not too long."""
    return (
        text for text in texts_in(value) if text and len(text) <= LONGEST_PATH and "\n" not in text and "\0" not in text
    )


def paths_run(reading: Reading) -> Iterator[tuple[str, str]]:
    """Paths among the words and redirections of commands, each with a folder that the text changes to."""
    folders = ["", *(folder for word in reading.folders if (folder := folder_before_unknown(word)))]
    words = [*reading.files, *(word for command in reading.commands for word in command.words)]
    for word in words:
        known = folder_before_unknown(word)
        # `--file=x`, `if=x` and curl's `@x` name files as well.
        for path in {known, known.rpartition("=")[2], known.rpartition("@")[2]} - {""}:
            if len(path) <= LONGEST_PATH:
                yield from ((path, folder) for folder in folders)


def _compiled(pattern: str, is_name: bool) -> Searcher:
    parts: list[str] = []
    position = 0
    for wild in _WILD.finditer(pattern):
        parts.append(re.escape(pattern[position : wild.start()]))
        parts.append(_SPELLED.get(wild[0]) or wild[0].replace("[!", "[^"))
        position = wild.end()
    parts.append(re.escape(pattern[position:]))
    start = "(?:^|/)" if is_name else "^(?:\\./)?"
    return compile_regex(f"(?s){start}{''.join(parts)}(?:/|$)")
