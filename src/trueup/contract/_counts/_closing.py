"""Runners that close with their counts, most of them in one line."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ._statement import Statement, whole_lines

_MEANING = {
    **dict.fromkeys(("passed", "pass", "passing", "xpassed"), "passed"),
    **dict.fromkeys(("failed", "fail", "failing", "failure", "failures", "error", "errors"), "failed"),
    **dict.fromkeys(("cancelled", "timed out", "exec failed", "unexpected successes"), "failed"),
    **dict.fromkeys(("error occurred outside of examples", "errors occurred outside of examples"), "failed"),
    **dict.fromkeys(("skipped", "xfailed", "ignored", "pending", "todo", "incomplete"), "skipped"),
    **dict.fromkeys(("expected failures", "expected fail"), "skipped"),
    **dict.fromkeys(("test", "tests", "tests run", "example", "examples"), "ran"),
}
# What pytest may report in addition to the test itself: a teardown that fails.
_BESIDE_TESTS = frozenset({"error", "errors"})
_NUMBER_FIRST = re.compile(r"(?P<number>[0-9]+) (?P<word>[a-z]+(?: [a-z]+)*)")
_WORD_FIRST = re.compile(r"(?P<word>[A-Za-z]+(?: [a-z]+)*)(?:=|: *| )(?P<number>[0-9]+)")
_ASIDE = re.compile(r"\([^()]*\)")


def tally(closing: re.Match[str]) -> Counter[str]:
    """Add up the group `counts`, written like "3 passed", and the group `labels`, written like "Passed: 3"."""
    said = closing.groupdict()
    counted: Counter[str] = Counter()
    for pattern, phrase in ((_NUMBER_FIRST, said.get("counts")), (_WORD_FIRST, said.get("labels"))):
        for found in pattern.finditer(_ASIDE.sub("", phrase or "")):
            word, number = found["word"].lower(), int(found["number"])
            counted[_MEANING.get(word, "other")] += number
            counted["beside"] += number if word in _BESIDE_TESTS else 0
    if "passed" not in counted:
        # unittest counts every failed subtest, and a broken setUpClass, as a failure, but not as a test.
        counted["failed"] = min(counted["failed"], max(counted["ran"] - counted["skipped"], min(counted["failed"], 1)))
        counted["passed"] = max(0, counted["ran"] - counted["failed"] - counted["skipped"])
    return counted


def _tally_ctest(closing: re.Match[str]) -> Counter[str]:
    failed, ran, idle = int(closing["failed"] or 0), int(closing["ran"] or 0), closing["idle"] or ""
    # Skipped tests are part of ctest's total and of its passed ones; disabled tests are part of neither.
    skipped, disabled = idle.count(" (Skipped)"), idle.count(" (Disabled)")
    return Counter(passed=max(0, ran - failed - skipped), failed=failed, skipped=skipped + disabled)


class Runner(NamedTuple):
    """How a runner opens, where it does, and how it closes."""

    name: str
    closing: re.Pattern[str]
    opening: re.Pattern[str] | None = None
    tally: Callable[[re.Match[str]], Counter[str]] = tally

    def read(self, text: str) -> Iterator[Statement]:
        closings = list(self.closing.finditer(text))
        openings = [match.start() for match in self.opening.finditer(text)] if self.opening and closings else []
        for opened in reversed(openings):
            own = None
            while closings and closings[-1].start() >= opened:
                # Of several closing lines after one opening the last is the runner's own: its tests printed the rest.
                own = own or closings[-1]
                closings.pop()
            if own:
                yield self._statement(own, opened)
        yield from (self._statement(closing, closing.start()) for closing in closings)

    def _statement(self, closing: re.Match[str], start: int) -> Statement:
        counted = self.tally(closing)
        outcomes = (counted["passed"], counted["failed"], counted["skipped"])
        return Statement(self.name, start, closing.end(), *outcomes, counted["beside"] if self.name == "pytest" else 0)


_PYTEST_OUTCOME = "<n> (?:subtests )?(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)"
PYTEST_COUNTS = (
    f"(?P<counts>no tests ran|{_PYTEST_OUTCOME}(?:, {_PYTEST_OUTCOME}){{0,12}})"
    r" in <s>(?:s| seconds)(?: \((?:<n> days?, )?[0-9:]{1,9}\))?"
)
_NODE_COUNTS = (
    "(?P<labels>{0} tests <n>\n{0} suites <n>\n{0} pass <n>\n{0} fail <n>\n{0} cancelled <n>\n"
    "{0} skipped <n>\n{0} todo <n>)\n{0} duration_ms <s>"
)

RUNNERS = (
    Runner(
        name="pytest",
        opening=whole_lines("=+ test session starts =+"),
        closing=whole_lines(f"=+ {PYTEST_COUNTS} =+"),
    ),
    Runner(
        name="unittest",
        closing=whole_lines(
            "-{70}\nRan (?P<counts><n> tests?) in <s>s\n\n"
            r"(?:OK|FAILED|NO TESTS RAN)(?: \((?P<labels>[a-z0-9=, ]{1,200})\))?"
        ),
    ),
    Runner(
        name="cargo",
        opening=whole_lines("running <n> tests?"),
        closing=whole_lines(
            r"test result: (?:ok|FAILED)\. (?P<counts><n> passed; <n> failed; <n> ignored); "
            r"<n> measured; <n> filtered out(?:; finished in <s>s)?"
        ),
    ),
    Runner(
        name="nextest",
        opening=whole_lines(" {1,12}Starting <n> tests? across <n> binar(?:y|ies).*"),
        closing=whole_lines(r" {1,12}Summary \[ {0,9}<s>s\] (?:<n>/)?<n> tests? run: (?P<counts>[a-z0-9, ()]{1,200})"),
    ),
    Runner(
        name="ctest",
        opening=whole_lines("Test project .+"),
        closing=whole_lines(
            "<n>% tests passed, (?P<failed><n>) tests? failed out of (?P<ran><n>)"
            "(?:\n(?:[^\n=]+=.*|(?:Label|Subproject) Time Summary:)?)*"
            "(?:\nThe following tests did not run:(?P<idle>(?:\n\t.*)+))?"
            "|No tests were found!!!"
        ),
        tally=_tally_ctest,
    ),
    Runner(
        name="jest",
        closing=whole_lines(
            "Test Suites: .* total\nTests:       (?P<counts>(?:<n> [a-z]{1,20}, ){0,6}<n> total)"
            "|No tests found, exiting with code [01]"
        ),
    ),
    Runner(
        name="vitest",
        opening=whole_lines(" RUN  v[0-9].*"),
        closing=whole_lines(
            r" Test Files  .*\n      Tests  (?P<counts>no tests|<n> [a-z ]{1,20}(?: \| <n> [a-z ]{1,20}){0,6} \(<n>\))"
            r"|No test files found, exiting with code [01]"
        ),
    ),
    Runner(
        name="mocha",
        closing=whole_lines(r"  (?P<counts><n> passing \(<n>(?:ms|[smhd])\)(?:\n  <n> pending)?(?:\n  <n> failing)?)"),
    ),
    Runner(name="node", closing=whole_lines(_NODE_COUNTS.format("\N{INFORMATION SOURCE}"))),
    Runner(
        name="node",
        # Where the head of its TAP was cut off, all that stands before node's counts is still node's.
        opening=re.compile(r"(?m)\A|^TAP version 13$"),
        closing=whole_lines(_NODE_COUNTS.format("#")),
    ),
    Runner(
        name="surefire",
        opening=whole_lines(r"(?:\[INFO\] )? T E S T S"),
        # Classes report with their time, the module without: only the latter is meant.
        closing=whole_lines(
            r"(?:\[[A-Z]{4,7}\] )?(?P<labels>Tests run: <n>, Failures: <n>, Errors: <n>, Skipped: <n>)"
            r"(?:, Flakes: <n>)?|\[INFO\] No tests to run\."
        ),
    ),
    Runner(
        name="phpunit",
        opening=whole_lines(r"PHPUnit [0-9.]+ by Sebastian Bergmann and contributors\."),
        closing=whole_lines(
            r"OK \((?P<counts><n> tests?), <n> assertions?\)|No tests executed!"
            r"|(?P<labels>Tests: <n>, Assertions: <n>(?:, [A-Za-z ]{1,30}: <n>){0,9})\."
        ),
    ),
    Runner(
        name="rspec",
        closing=whole_lines(
            r"Finished in .*\n(?P<counts><n> examples?, <n> failures?(?:, <n> pending)?"
            r"(?:, <n> errors? occurred outside of examples)?)"
        ),
    ),
    Runner(
        name="dotnet",
        closing=whole_lines(
            r"(?:Passed|Failed|Skipped)! {1,9}- (?P<labels>Failed: {1,9}<n>, Passed: {1,9}<n>, Skipped: {1,9}<n>), "
            r"Total: {1,9}<n>, Duration: .*"
        ),
    ),
)
