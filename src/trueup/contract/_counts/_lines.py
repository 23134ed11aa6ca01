"""Runners that have to be followed line by line."""

import re
from collections import Counter
from collections.abc import Iterator

from ._closing import PYTEST_COUNTS, tally
from ._statement import Statement, whole_lines

_QUIET_PYTEST = whole_lines(
    "(?P<captured>-+ Captured [a-z]+ [a-z]+ -+)|(?P<section>(?:=+|_+) .+ (?:=+|_+))|" + PYTEST_COUNTS
)


def read_quiet_pytest(text: str) -> Iterator[Statement]:
    """Read the undecorated closing lines of `pytest -q`, but not what a test printed into its report."""
    captured = False
    for line in _QUIET_PYTEST.finditer(text):
        if line["captured"] or line["section"]:
            captured = bool(line["captured"])
        elif not captured:
            counted = tally(line)
            outcomes = (counted["passed"], counted["failed"], counted["skipped"], counted["beside"])
            yield Statement("pytest", *line.span(), *outcomes)


_GO = whole_lines(
    r"=== RUN   (?P<began>\S+)|--- (?P<ended>PASS|FAIL|SKIP): (?P<test>\S+) \(<s>s\)|"
    r"(?P<none>testing: warning: no tests to run)|"
    r'\{(?:"Time":"[^"\n]*",)?"Action":"(?P<event>pass|fail|skip)","Package":"[^"\n]*"'
    r'(?:,"Test":"(?P<tested>[^"\n]*)")?(?:,"Elapsed":<s>)?\}'
)


def read_go(text: str) -> Iterator[Statement]:
    """Read `go test -v` and `go test -json`. Subtests are part of their test, and plain output carries no counts."""
    running: set[str] = set()
    for line in _GO.finditer(text):
        if line["began"]:
            running.add(line["began"])
        elif line["none"] or line["event"] or line["test"] in running:
            running.discard(line["test"])
            yield _go_statement(line)


def _go_statement(line: re.Match[str]) -> Statement:
    is_a_test = bool(line["test"] or (line["tested"] and "/" not in line["tested"]))
    outcome = (line["ended"] or line["event"] or "").lower() if is_a_test else ""
    return Statement("go", *line.span(), int(outcome == "pass"), int(outcome == "fail"), int(outcome == "skip"))


_TAP = whole_lines(
    r"(?P<version>TAP version 1[0-9])|1\.\.(?P<plan><n>)(?: *#.*)?|(?P<bail>Bail out!.*)|"
    r"(?P<result>(?:not )?ok) <n>(?P<description> .*)?"
)
_TAP_DIRECTIVE = re.compile(r"(?i) # ?(skip|todo)")


def read_tap(text: str) -> list[Statement]:
    """Read the Test Anything Protocol, subtests aside. A planned test that never reported has failed."""
    seen: Counter[str] = Counter()
    plans = []
    for line in _TAP.finditer(text):
        if line["result"]:
            seen[_tap_outcome(line["result"], line["description"] or "")] += 1
        elif line["plan"]:
            plans.append(int(line["plan"]))
        else:
            seen["version" if line["version"] else "bail"] += 1
    results = seen["passed"] + seen["failed"] + seen["skipped"]
    if not (seen["version"] or 0 in plans or (results and (plans or seen["bail"]))):
        return []
    missing = max(sum(plans) - results, min(seen["bail"], 1), 0)
    return [Statement("tap", 0, len(text), seen["passed"], seen["failed"] + missing, seen["skipped"])]


def _tap_outcome(result: str, description: str) -> str:
    directive = _TAP_DIRECTIVE.search(description)
    excuse = directive[1].lower() if directive else ""
    if result == "ok":
        return "skipped" if excuse == "skip" else "passed"
    return "skipped" if excuse == "todo" else "failed"
