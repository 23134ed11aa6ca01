"""Path patterns as `.gitignore` reads them, less the `!`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache


class Globs:
    """Patterns that a path may match.

    A pattern without a slash matches a name at any depth, one with a slash is meant from the root, `**` stands for
    any folders and `{a,b}` for either. What matches covers everything below it.
    """

    def __init__(self, patterns: Iterable[str], *, ignore_case: bool = False) -> None:
        self._fold = str.lower if ignore_case else str
        self._written = [self._fold(pattern.strip()) for pattern in patterns if pattern.strip().strip("/.")]
        # A commit has many files and few folders.
        self._is_named = lru_cache(maxsize=4096)(self._look_up)

    def match(self, path: str) -> bool:
        if not self._written:
            # Asked of every path of a commit, and most contracts add no patterns of their own.
            return False
        path = self._fold(path)
        return any(map(self._is_named, path.split("/"))) or self._paths.fullmatch(path) is not None

    def _look_up(self, name: str) -> bool:
        return name in self._names or self._wild_names.fullmatch(name) is not None

    # Compiled when first asked for: most commands of trueup never do.
    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(pattern for pattern in self._written if not _SPECIAL.search(pattern))

    @cached_property
    def _wild_names(self) -> re.Pattern[str]:
        return _any_of(_name_regex(one) for one in self._written if "/" not in one and one not in self._names)

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        return _any_of(_path_regex(pattern) for pattern in self._written if "/" in pattern)


_SPECIAL = re.compile(r"[*?\[{/]")


def _any_of(regexes: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(regexes) or r"(?!)", re.DOTALL)


def _path_regex(pattern: str) -> str:
    is_folder = pattern.endswith("/")
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if "/" not in pattern.rstrip("/"):
        steps.insert(0, "**")
    last = steps.pop()
    inner = "".join("(?:[^/]+/)*" if step == "**" else f"{_name_regex(step)}/" for step in steps)
    if last == "**":
        return f"{inner}.+"
    return f"{inner}{_name_regex(last)}{'/.+' if is_folder else '(?:/.*)?'}"


def _name_regex(name: str) -> str:
    return "".join(map(_part_regex, re.split(r"(\*+|\?|\[[^\]]+\]|\{[^{}]*\})", name)))


def _part_regex(part: str) -> str:
    if part.startswith("*"):
        return "[^/]*"
    if part == "?":
        return "[^/]"
    if part.startswith("{") and part.endswith("}"):
        return f"(?:{'|'.join(map(_name_regex, part[1:-1].split(',')))})"
    if part.startswith("[") and part.endswith("]"):
        inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^/{inside[1:]}]" if inside[0] in "!^" else f"(?!/)[{inside}]"
    return re.escape(part)
