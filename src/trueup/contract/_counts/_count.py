"""Counts over every runner that spoke in an output."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from ._closing import RUNNERS
from ._junit import read_junit
from ._lines import read_go, read_quiet_pytest, read_tap
from ._statement import Statement


class TestCounts(Struct, frozen=True):
    """Tests by what came of them, added up over every runner that spoke.

    `beside` is how many of these were perhaps told in addition to a test: an error in its teardown.
    """

    # Keeps pytest from taking the class for a test.
    __test__: ClassVar[bool] = False

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    runners: tuple[str, ...] = ()
    beside: int = 0

    @property
    def collected(self) -> int:
        return self.passed + self.failed + self.skipped


def count_tests(output: str) -> TestCounts | None:
    """Read the closing lines of known test runners; None where none spoke."""
    text = _plain(output)
    said = _outermost(statement for read in _READERS for statement in read(text))
    said += read_tap(_left_over(text, said))
    # A JUnit document repeats what a runner said in words, so it counts only where nobody else spoke.
    said = [statement for statement in said if statement.runner != "junit"] or said
    return _added_up(said) if said else None


_READERS: tuple[Callable[[str], Iterator[Statement]], ...] = (
    *(runner.read for runner in RUNNERS),
    read_quiet_pytest,
    read_go,
    read_junit,
)

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[()][0-9A-Z])")


def _plain(output: str) -> str:
    return _ESCAPE.sub("", output).replace("\r\n", "\n").replace("\r", "\n")


def _outermost(statements: Iterable[Statement]) -> list[Statement]:
    """Drop what was said inside another's stretch: the tests of one runner may run another."""
    kept: list[Statement] = []
    for statement in sorted(statements, key=lambda one: (one.start, -one.end)):
        if not kept or statement.start >= kept[-1].end:
            kept.append(statement)
    return kept


def _left_over(text: str, said: Iterable[Statement]) -> str:
    pieces, position = [], 0
    for statement in said:
        pieces.append(text[position : statement.start])
        position = statement.end
    return "\n".join([*pieces, text[position:]])


def _added_up(said: Sequence[Statement]) -> TestCounts:
    return TestCounts(
        passed=sum(statement.passed for statement in said),
        failed=sum(statement.failed for statement in said),
        skipped=sum(statement.skipped for statement in said),
        runners=tuple(dict.fromkeys(statement.runner for statement in said)),
        beside=sum(statement.beside for statement in said),
    )
