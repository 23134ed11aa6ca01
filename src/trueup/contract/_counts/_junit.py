"""JUnit's XML, wherever it stands in an output."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from xml.parsers.expat import ExpatError, ParserCreate

from ._statement import Statement

_ROOT = re.compile(rb"(?m)(?:^|\?>)[ \t]*+(?P<root><testsuites?(?=[\s/>])(?=[^<]*>))")
_CHUNK_BYTES = 4096
_NEVER_RAN = {"notrun", "disabled", "skipped"}


def read_junit(text: str) -> Iterator[Statement]:
    """Count the test cases of every complete document, however its suites are nested."""
    # One byte per character keeps expat's positions the text's own; what the tests are called does not matter.
    output = text.encode("ascii", "replace")
    position = 0
    while root := _ROOT.search(output, position):
        document = _Document(output, root.start("root"))
        position = max(document.end, root.end())
        if document.is_complete:
            cases = document.cases
            yield Statement("junit", root.start(), position, cases["passed"], cases["failed"], cases["skipped"])


class _Document:
    """One document, parsed from its root on: a DOCTYPE stands before it, so no entity is ever declared."""

    def __init__(self, output: bytes, start: int) -> None:
        self.cases: Counter[str] = Counter()
        self.is_complete = False
        self.end = start
        self._start = start
        self._depth = 0
        self._outcome = "passed"
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._finish
        self._parse(output)

    def _parse(self, output: bytes) -> None:
        with suppress(ExpatError):
            # In small pieces, so that many small documents do not each cost the whole rest of the output.
            for position in range(self._start, len(output), _CHUNK_BYTES):
                self._parser.Parse(output[position : position + _CHUNK_BYTES], position + _CHUNK_BYTES >= len(output))
                if self.is_complete:
                    break
        if not self.is_complete:
            self.end = self._start + self._parser.ErrorByteIndex
        # The parser and this object hold each other, and thousands of such pairs would wait for the collector.
        del self._parser

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if name == "testcase":
            self._outcome = "skipped" if attributes.get("status") in _NEVER_RAN else "passed"
        elif name in {"failure", "error"}:
            self._outcome = "failed"
        elif name == "skipped" and self._outcome == "passed":
            self._outcome = "skipped"

    def _finish(self, name: str) -> None:
        self._depth -= 1
        if name == "testcase":
            self.cases[self._outcome] += 1
        if self._depth == 0:
            self.is_complete = True
            self.end = self._start + self._parser.CurrentByteIndex
