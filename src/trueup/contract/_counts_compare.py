"""Test counts before and after a change: exit 0 is no evidence of tests."""

from __future__ import annotations

from ._counts import TestCounts


def compare_counts(before: TestCounts | None, after: TestCounts | None) -> str | None:
    """What is wrong with the tests that ran after a change, in a sentence; None where all is well.

    More tests are fine, and so is a runner that starts to speak. Fewer tests than on base, tests that are skipped
    where they were run, and a runner that fell silent are not.
    """
    if before is None or not before.collected:
        return None
    if after is None:
        return f"no test runner reported, where {_names(before)} collected {_tests(before.collected)} on base"
    # What a runner told in addition to its tests may go away with the failure that it told of.
    expected = before.collected - before.beside
    if after.collected < expected:
        return f"{_names(after)} collected {_tests(after.collected)}, where base has {expected}"
    if after.skipped > before.skipped:
        return f"{_tests(after.skipped)} skipped, where base skips {before.skipped}"
    return None


def _names(counts: TestCounts) -> str:
    return " and ".join(counts.runners) or "the runner"


def _tests(number: int) -> str:
    return f"{number} test{'' if number == 1 else 's'}"
