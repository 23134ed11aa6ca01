"""Paths in an action, and whether a glob names them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from trueup.core.regex import Searcher, compile_regex

from ._shell import Reading, folder_before_unknown
from ._texts import texts_in

LONGEST_PATH = 4096
# A home that nobody told of is still not the folder of the work.
_SOME_HOME = "/~"
_FILE_URL = re.compile(r"file:(?://[^/]*)?", re.IGNORECASE)
# `-Isecrets`, `-f.env`: a short option and its value in one word.
_SHORT_OPTION = re.compile(r"-[A-Za-z](?=[^-=])")
_PATCH_HEADER = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |(?:---|\+\+\+|rename to|rename from|copy to) |diff --git )"
    r"([^\r\n]{1,4096})",
    re.MULTILINE,
)
_QUOTED_OR_BARE = re.compile(r'"[^"]*"|\S+')
_WILD = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]/]+\]")
_SPELLED = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Place(Struct, frozen=True):
    """Where paths start: the folder of the work and the home as the tool sees them, and how links are followed there."""

    root: str = ""
    home: str = ""
    resolve: Callable[[str], str] | None = None

    def forms(self, path: str, folder: str = "") -> Iterator[str]:
        """A path without `..` and below the root where it is there, as it is written and as it is meant."""
        if _FILE_URL.match(path):
            path = unquote(_FILE_URL.sub("", path))
        if path.startswith("~"):
            yield posixpath.normpath(path)
        whole = posixpath.normpath(posixpath.join(self.root, self._from_home(folder), self._from_home(path)))
        yield self._below(whole)
        if self.resolve is not None and self.root:
            # What no file system can have leads nowhere.
            with suppress(OSError, ValueError):
                yield self._below(self.resolve(whole))

    def _from_home(self, path: str) -> str:
        """With the home written out: `~`, `~/x`, and `~name/x` for whose home it is; `~+` is where one is."""
        first, _, rest = path.partition("/")
        if first == "~+":
            return rest
        if not first.startswith("~") or first[1:] not in ("", posixpath.basename(self.home)):
            return path
        return f"{self.home or _SOME_HOME}/{rest}"

    def _below(self, path: str) -> str:
        # POSIX leaves two slashes at the start as they are.
        path = f"/{path.lstrip('/')}" if path.startswith("//") else path
        root = self.root.rstrip("/")
        if root and (path == root or path.startswith(f"{root}/")):
            return path[len(root) + 1 :] or "."
        home = self.home or _SOME_HOME
        return f"~{path[len(home) :]}" if f"{path}/".startswith(f"{home}/") else path


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
    """Every text that can be a path: of one line and not too long. Blanks around it are often taken away.

    Of a patch, the files that it changes.
    """
    for text in texts_in(value):
        yield from _patched(text)
        bare = text.strip()
        if bare and len(bare) <= LONGEST_PATH and not {"\n", "\0"} & set(bare):
            yield bare
            if text != bare and "\n" not in text:
                yield text


def _patched(text: str) -> Iterator[str]:
    for header in _PATCH_HEADER.finditer(text):
        for path in _QUOTED_OR_BARE.findall(header[1]) if header[0].startswith("diff") else [header[1]]:
            bare = path.partition("\t")[0].strip().strip('"')
            yield bare
            # `a/x` and `b/x` are the two sides of a patch of git's.
            yield bare.partition("/")[2] if bare.startswith(("a/", "b/")) else bare


def paths_run(reading: Reading) -> Iterator[tuple[str, str]]:
    """Paths among the words and redirections of commands, each with a folder that the text changes to."""
    folders = ["", *(folder for word in reading.folders if (folder := folder_before_unknown(word)))]
    words = [*reading.files, *(word for command in reading.commands for word in command.words)]
    for word in words:
        known = folder_before_unknown(word)
        # `--file=x`, `if=x`, curl's `@x`, `HEAD:x` and `-Ix` name files as well.
        parts = {known, *(known.rpartition(sign)[2] for sign in "=@"), known.partition(":")[2], _attached(known)}
        for path in parts - {""}:
            if len(path) <= LONGEST_PATH:
                yield from ((path, folder) for folder in folders)


def _attached(word: str) -> str:
    option = _SHORT_OPTION.match(word)
    return word[option.end() :] if option else ""


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
