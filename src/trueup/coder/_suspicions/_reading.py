"""One side of a file, read once for all who look at it: its text, its language, and what it is for."""

from __future__ import annotations

import ast
import posixpath
import re
from bisect import bisect_left
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from ._languages import Language, language_of
from ._model import EXECUTABLE, LINK, SUBMODULE, ChangedFile
from ._surroundings import NOTHING_KNOWN, Surroundings

MOST_TEXT_BYTES = 1 << 20
MOST_LINE_CHARS = 20_000
_NUL_SEARCHED = 8192
_WIDE = (b"\xff\xfe", b"\xfe\xff")

_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".markdown", ".org", ".tex", ".html", ".svg", ".po", ".pot", ".ipynb")
_DATA = (".json", ".csv", ".tsv", ".xml", ".lock", ".jsonl", ".ndjson", ".map", ".geojson", ".snap")
_TEST_FOLDERS = frozenset(
    "test tests __tests__ spec specs e2e testdata fixtures __fixtures__ __mocks__ cypress".split()
)
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_tests?|tests?|conftest)\.py|tests?\.[cm]?[jt]sx?|.*_test\.go|.*\.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?"
    r"|.*_(?:test|spec)\.(?:rb|exs?|dart|lua|c|cc|cpp|cxx|rs|php)|(?:test_.*|tests)\.(?:c|cc|cpp|cxx|rs)"
    r"|(?:Test.*|.*(?:Tests?|TestCase|IT|Spec))\.(?:java|kt|kts|groovy|scala|cs|swift|php)"
)
# Code that helps others to test is not a test, and may speak of runners for all that.
_SUPPORT = re.compile(
    r"(?:^|[/_.-])(?:testing|test[_-]?(?:utils?|support|helpers?|tools?)|testlib|pytest|unittest)(?:[/_.-]|$)|(?:^|/)_?mocks?[./]"
)
_SCRIPT_FOLDERS = frozenset(
    "bin script scripts tools examples example demo demos bench benchmarks docs doc hack".split()
)
_SCRIPT_NAMES = frozenset(("__main__.py", "setup.py", "manage.py", "conf.py", "noxfile.py", "fabfile.py", "dodo.py"))


class Role(StrEnum):
    """What a file is for, which decides what may stand in it."""

    SOURCE = "source"
    SUPPORT = "support"
    TEST = "test"


class Reading:
    """The contents of a path on one side of a change."""

    def __init__(
        self,
        path: str,
        raw: bytes,
        *,
        protected: bool = False,
        executable: bool = False,
        around: Surroundings = NOTHING_KNOWN,
    ) -> None:
        self.path = path
        self.raw = raw
        self.role = role_of(path, protected=protected)
        self.is_executable = executable
        self.around = around

    @property
    def name(self) -> str:
        """The file's own name."""
        return posixpath.basename(self.path)

    @property
    def is_test(self) -> bool:
        """Whether it is judged as a test: it may use a runner, and must not go quiet."""
        return self.role is Role.TEST

    @cached_property
    def is_document(self) -> bool:
        """Whether it is written for people, so that code in it is a quotation."""
        return self.path.lower().endswith(_DOCUMENTS)

    @cached_property
    def is_data(self) -> bool:
        """Whether long lines are nothing to remark upon."""
        return self.path.lower().endswith(_DATA)

    @cached_property
    def is_script(self) -> bool:
        """Whether it is started, not imported: then it may well end the process."""
        if self.name in _SCRIPT_NAMES:
            return True
        folders = self.path.split("/")[:-1]
        looks_so = not _SCRIPT_FOLDERS.isdisjoint(folders) or self.raw.startswith(b"#!")
        # A first line is soon written; what tests import is no script for all that.
        return (looks_so or self.around.starts(self.path)) and not self.around.is_loaded_by_tests(self.path)

    @cached_property
    def is_binary(self) -> bool:
        """Whether it is no text; text of two bytes per character is text."""
        return b"\0" in self.raw[:_NUL_SEARCHED] and not self.raw.startswith(_WIDE)

    @property
    def is_readable(self) -> bool:
        """Whether it is text of a size that is worth reading as code."""
        return len(self.raw) <= MOST_TEXT_BYTES and not self.is_binary

    @cached_property
    def text(self) -> str:
        """The contents; what does not decode is replaced."""
        wide = self.raw.startswith(_WIDE)
        return self.raw.decode("utf-16" if wide else "utf-8", errors="replace").replace("\r\n", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """The lines, as git and editors count them."""
        return self.text.split("\n")

    @cached_property
    def language(self) -> Language | None:
        """The language, by the ending of the name."""
        return None if self.is_document else language_of(self.path)

    @cached_property
    def python(self) -> ast.Module | None:
        """The syntax tree of a Python file; None where it does not parse."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def code(self) -> str:
        """The text without comments, every character in its place."""
        return self.language.without_comments(self.plain) if self.language else self.plain

    @cached_property
    def bare(self) -> str:
        """The text without comments and without what is in quotes, every character in its place."""
        return self.language.without_quotes(self.plain) if self.language else self.plain

    @cached_property
    def plain(self) -> str:
        """The text without lines that are too long to be read as code, each of them blank."""
        if len(self.text) <= MOST_LINE_CHARS or all(len(line) <= MOST_LINE_CHARS for line in self.lines):
            return self.text
        return "\n".join(line if len(line) <= MOST_LINE_CHARS else "" for line in self.lines)

    def line_at(self, place: int) -> int:
        """The number of the line that a place in the text is on, in any of its views."""
        return bisect_left(self._ends, place) + 1

    @cached_property
    def _ends(self) -> list[int]:
        return [hit.start() for hit in re.finditer("\n", self.plain)]

    def line_text(self, line: int | None) -> str:
        """A line by its number, without its margins."""
        return self.lines[line - 1].strip() if line is not None and 0 < line <= len(self.lines) else ""


class Sides(NamedTuple):
    """Both readings of a changed file; None where there is nothing, or no contents of its own."""

    path: str
    old: Reading | None
    new: Reading | None

    @classmethod
    def of(cls, file: ChangedFile, around: Surroundings = NOTHING_KNOWN) -> Sides:
        """Read a changed file."""
        old, new = _read(file, file.old, file.old_mode, around), _read(file, file.new, file.new_mode, around)
        return cls(file.path, old, new)


def _read(file: ChangedFile, raw: bytes | None, mode: str | None, around: Surroundings) -> Reading | None:
    if raw is None or mode in (LINK, SUBMODULE):
        return None
    return Reading(file.path, raw, protected=file.protected, executable=mode == EXECUTABLE, around=around)


@lru_cache(maxsize=4096)
def role_of(path: str, *, protected: bool) -> Role:
    """What a file is for, by its place, its name, and whether checks depend on it."""
    folder, name = posixpath.split(path)
    if protected or not _TEST_FOLDERS.isdisjoint(folder.lower().split("/")) or _TEST_NAME.fullmatch(name):
        return Role.TEST
    return Role.SUPPORT if _SUPPORT.search(path.lower()) else Role.SOURCE
