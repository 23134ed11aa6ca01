"""Counting tests from what runners print, and from what programs print to look like runners."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.contract import TestCounts, compare_counts, count_tests

SAMPLES = Path(__file__).parent / "runner_output"
LONG = 1 << 18

RECORDED = {
    "cargo_mixed": TestCounts(3, 1, 1, ("cargo",)),
    "cargo_none": TestCounts(0, 0, 0, ("cargo",)),
    "ctest_mixed": TestCounts(1, 2, 2, ("ctest",)),
    "ctest_none": TestCounts(0, 0, 0, ("ctest",)),
    "ctest_skips": TestCounts(1, 0, 2, ("ctest",)),
    "jest_colours": TestCounts(1, 0, 0, ("jest",)),
    "jest_mixed": TestCounts(3, 1, 2, ("jest",)),
    "jest_none": TestCounts(0, 0, 0, ("jest",)),
    "junit_node": TestCounts(4, 1, 2, ("junit",)),
    "junit_pytest": TestCounts(3, 3, 2, ("junit",)),
    "mocha_mixed": TestCounts(2, 1, 1, ("mocha",)),
    "mocha_none": TestCounts(0, 0, 0, ("mocha",)),
    "mocha_tap": TestCounts(2, 1, 1, ("tap",)),
    "node_green": TestCounts(2, 0, 0, ("node",)),
    "node_spec": TestCounts(4, 1, 2, ("node",)),
    "node_tap": TestCounts(4, 1, 2, ("node",)),
    "pytest_all_deselected": TestCounts(0, 0, 0, ("pytest",)),
    "pytest_collect_only": None,
    "pytest_collection_error": TestCounts(0, 1, 0, ("pytest",), beside=1),
    "pytest_deselected": TestCounts(1, 0, 0, ("pytest",)),
    "pytest_mixed": TestCounts(3, 3, 2, ("pytest",), beside=1),
    "pytest_no_tests": TestCounts(0, 0, 0, ("pytest",)),
    "pytest_quiet": TestCounts(3, 0, 0, ("pytest",)),
    "pytest_quiet_mixed": TestCounts(3, 3, 2, ("pytest",), beside=1),
    "pytest_rerun": TestCounts(1, 0, 0, ("pytest",)),
    "pytest_subtests": TestCounts(1, 3, 0, ("pytest",)),
    "pytest_verbose_colours": TestCounts(3, 3, 2, ("pytest",), beside=1),
    "unittest_broken_setup": TestCounts(0, 1, 0, ("unittest",)),
    "unittest_green": TestCounts(2, 0, 1, ("unittest",)),
    "unittest_mixed": TestCounts(0, 5, 2, ("unittest",)),
    "unittest_no_tests": TestCounts(0, 0, 0, ("unittest",)),
    "vitest_mixed": TestCounts(3, 1, 2, ("vitest",)),
    "vitest_none": TestCounts(0, 0, 0, ("vitest",)),
}

# Written by hand to the runner's format, because the runner was not at hand to record.
WRITTEN = {
    "dotnet_mixed": TestCounts(3, 1, 1, ("dotnet",)),
    "go_json": TestCounts(1, 1, 1, ("go",)),
    "go_none": TestCounts(0, 0, 0, ("go",)),
    "go_plain": None,
    "go_plain_failed": None,
    "go_verbose": TestCounts(1, 1, 1, ("go",)),
    "junit_nested_suites": TestCounts(2, 2, 1, ("junit",)),
    "nextest_mixed": TestCounts(3, 2, 1, ("nextest",)),
    "phpunit_green": TestCounts(3, 0, 0, ("phpunit",)),
    "phpunit_mixed": TestCounts(1, 2, 1, ("phpunit",)),
    "rspec_mixed": TestCounts(1, 1, 1, ("rspec",)),
    "surefire_modules": TestCounts(5, 2, 1, ("surefire",)),
    "tap_mixed": TestCounts(2, 2, 2, ("tap",)),
}

PYTEST_OPENING = "===== test session starts =====\n"
PYTEST_GREEN = "\n===== 3 passed in 0.01s =====\n"
MOCHA_GREEN = "\n  2 passing (5ms)\n\n"
JEST_GREEN = "Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total\nSnapshots:   0 total\n"
VITEST_GREEN = " Test Files  1 passed (1)\n      Tests  5 passed (5)\n"
TAP_GREEN = "TAP version 13\nok 1 - one\nok 2 - two\n1..2\n"
UNITTEST_GREEN = f"..\n{'-' * 70}\nRan 2 tests in 0.000s\n\nOK\n"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "expected"), (RECORDED | WRITTEN).items())
def test_a_runner_is_read_exactly(name, expected):
    assert count_tests(sample(name)) == expected


def test_every_sample_has_its_expected_counts():
    assert {path.stem for path in SAMPLES.iterdir()} == set(RECORDED | WRITTEN)


def test_collected_is_all_that_ran_or_was_to_run():
    assert TestCounts(passed=3, failed=2, skipped=1).collected == 6


def test_silence_is_not_zero_tests():
    assert count_tests("") is None
    assert count_tests("compiled 12 files\n") is None


def test_runners_one_after_the_other_add_up():
    counts = count_tests(PYTEST_OPENING + PYTEST_GREEN + JEST_GREEN + VITEST_GREEN + MOCHA_GREEN + TAP_GREEN)
    assert counts == TestCounts(16, 0, 0, ("pytest", "jest", "vitest", "mocha", "tap"))


@pytest.mark.parametrize(
    "closing",
    [PYTEST_OPENING + PYTEST_GREEN, "3 passed in 0.01s\n", PYTEST_GREEN],
    ids=["in full", "quiet", "with its head cut off"],
)
def test_a_runner_that_ran_twice_is_added_up_and_named_once(closing):
    assert count_tests(closing * 2) == TestCounts(6, 0, 0, ("pytest",))


@pytest.mark.parametrize(
    "name", [name for name, counts in RECORDED.items() if counts and "junit" not in counts.runners]
)
def test_unittest_after_any_runner_counts_too(name):
    assert count_tests(sample(name) + UNITTEST_GREEN).passed == RECORDED[name].passed + 2


@pytest.mark.parametrize(
    "line",
    [
        "the suite said 3 passed in 0.01s",
        "3 passed in 0.01s, as ever",
        "3 passed",
        "3 apples in 0.01s",
        "=== 3 passed ===",
        "log: ===== 3 passed in 0.01s =====",
        "Ran 3 tests in 0.001s",
        "Tests:       3 passed, 3 total",
        "      Tests  3 passed (3)",
        "3 passing (5ms)",
        "info test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "--- PASS: TestNeverStarted (0.00s)",
        "about 100% tests passed, 0 tests failed out of 12",
        "# tests 3\n# pass 3",
        "ok 1 - a test without a plan",
        "1..10",
        "see <testsuite><testcase/></testsuite>",
        "<testcase/>",
        "OK (3 tests, 5 assertions), or so",
    ],
)
def test_words_that_only_resemble_a_closing_line_count_nothing(line):
    assert count_tests(f"starting\n{line}\ndone\n") is None


def test_a_closing_line_that_a_test_printed_gives_way_to_the_runners_own():
    forged = "===== 99 passed in 0.01s =====\n"
    assert count_tests(PYTEST_OPENING + forged + PYTEST_GREEN) == TestCounts(3, 0, 0, ("pytest",))


@pytest.mark.parametrize(
    "inner", [MOCHA_GREEN, JEST_GREEN, VITEST_GREEN, TAP_GREEN, UNITTEST_GREEN, "9 passed in 1s\n"]
)
def test_a_runner_started_by_another_runners_test_is_not_counted(inner):
    assert count_tests(PYTEST_OPENING + inner + PYTEST_GREEN) == TestCounts(3, 0, 0, ("pytest",))


def test_a_report_beside_the_runners_own_words_is_not_counted_again():
    assert count_tests(sample("pytest_quiet_mixed") + sample("junit_pytest")) == RECORDED["pytest_mixed"]


def test_nodes_tap_is_not_counted_as_tap_where_its_head_was_cut_off():
    _, tail = sample("node_tap").split("TAP version 13\n")
    assert count_tests(tail) == RECORDED["node_tap"]


def test_a_progress_line_overwritten_by_the_closing_line_does_not_hide_it():
    assert count_tests("50%\r3 passed in 0.01s\r\n") == TestCounts(3, 0, 0, ("pytest",))


def test_a_long_session_says_its_time_twice():
    assert count_tests("3 passed in 90061.50s (1 day, 1:01:01)\n") == TestCounts(3, 0, 0, ("pytest",))


def test_tap_that_stops_short_of_its_plan_has_failed():
    assert count_tests("1..3\nok 1 - one\n") == TestCounts(1, 2, 0, ("tap",))


def test_tap_that_skips_everything_ran_nothing():
    assert count_tests("1..0 # SKIP no database\n") == TestCounts(0, 0, 0, ("tap",))


def test_an_excuse_does_not_turn_a_failed_skip_green():
    assert count_tests("1..2\nnot ok 1 # SKIP\nok 2 # TODO\n") == TestCounts(1, 1, 0, ("tap",))


def test_go_packages_with_tests_of_the_same_name_add_up():
    package = "=== RUN   TestAdds\n--- PASS: TestAdds (0.00s)\nPASS\nok  \texample.com/a\t0.002s\n"
    assert count_tests(package * 2) == TestCounts(2, 0, 0, ("go",))


def test_xml_that_declares_entities_is_not_expanded():
    bomb = '<!DOCTYPE testsuites [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<testsuites><testcase>&b;</testcase></testsuites>'
    assert count_tests(bomb) is None


def test_xml_that_breaks_off_counts_nothing():
    assert count_tests("<testsuites><testsuite><testcase/></testsuite>\n") is None


def test_a_broken_document_does_not_hide_a_whole_one():
    assert count_tests("<testsuite><testcase></testsuite>\n  <testsuite><testcase/></testsuite>\n") == TestCounts(
        1, 0, 0, ("junit",)
    )


def test_a_document_on_one_long_line_is_counted_to_its_end():
    document = "<testsuites>" + "<testcase name='é'/>" * 5000 + "</testsuites>"
    assert count_tests(document) == TestCounts(5000, 0, 0, ("junit",))


HOSTILE = [
    *("=", "= ", "=\n", " ", " \n", "-", "_ ", "7", "(", "\n", "\r", "\x1b[", "\x1b]", "&x;"),
    *("<testcase", "<testsuite>", "<testsuite \n", "<testsuite/>\n", "<testsuite a='", "?><testsuite"),
    *("1 passed, ", "a = b\n", "ok 1\n", "1..9\n", "=== RUN   x\n", "running 1 test\n", "Test project x\n"),
    *("  2 passing (1ms)\n", "100% tests passed, 0 tests failed out of 1\n", "Test Suites: "),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_long_hostile_text_is_read_in_linear_time(unit):
    started = time.process_time()
    count_tests(unit * (LONG // len(unit)))
    # Quadratic time would be minutes; the bound only has to tell the two apart on a slow machine.
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("100% tests passed, 0 tests failed out of 1\n", "a = b\n"),
        ("<testsuite a='", "x"),
        ("\x1b[", "1"),
        ("= ", " ="),
        (f"{'-' * 70}\nRan 1 test in 0s\n\nOK (", "a "),
    ],
)
def test_long_text_after_a_good_beginning_is_read_in_linear_time(head, unit):
    started = time.process_time()
    count_tests(head + unit * (LONG // len(unit)))
    assert time.process_time() - started < 10


FRAGMENTS = st.sampled_from(
    [line for path in sorted(SAMPLES.iterdir()) for line in path.read_text("utf-8").split("\n")]
)


@given(st.text(st.characters()))
def test_no_text_makes_it_raise(text):
    count_tests(text)


@given(st.lists(FRAGMENTS | st.text(st.characters(), max_size=20), max_size=40).map("\n".join))
def test_no_mixture_of_runners_lines_makes_it_raise_or_count_below_zero(text):
    counts = count_tests(text)
    assert counts is None or min(counts.passed, counts.failed, counts.skipped) >= 0


def test_every_failed_subtest_is_one_and_the_same_test():
    """A test of three failing subtests that is mended must not look like a suite that shrank."""
    line = "-" * 70
    before = count_tests(f"{line}\nRan 1 test in 0.001s\n\nFAILED (failures=3)\n")
    assert (before.failed, before.collected) == (1, 1)


def test_an_error_in_a_teardown_is_not_one_more_test_to_lose():
    before = count_tests("1 passed, 1 error in 0.01s\n")
    after = count_tests("1 passed in 0.01s\n")
    assert compare_counts(before, after) is None
