"""Expectations that are changed where they stand."""

from __future__ import annotations

import pytest

from trueup.contract import Check, files_to_mutate, mutate

PATHS = ["slug.py", "tests/test_slug.py", "tests/unit/test_more.py", "tests/data.json", "web/button.test.js"]


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("self.assertEqual(add(2, 3), 5)", "self.assertEqual(add(2, 3), 6)"),
        ("assert slug('A b') == 'a-b'", "assert slug('A b') == 'a-b~'"),
        ("expect(add(1, 2)).toBe(3);", "expect(add(1, 2)).toBe(4);"),
        ("assert.strictEqual(name(), 'x1');", "assert.strictEqual(name(), 'x1~');"),
        ("assert_eq!(add(1, 2), 3);", "assert_eq!(add(1, 2), 4);"),
        ("self.assertTrue(ready)", None),
        ("self.assertGreater(add(2, 3), 4)", None),
        ("# assert add(2, 3) == 5", None),
        ("total = 5", None),
    ],
)
def test_only_what_says_that_two_things_are_equal_is_changed(line, other):
    assert mutate({"t.py": line}.get, ["t.py"]) == ({} if other is None else {"t.py": other})


@pytest.mark.parametrize(
    ("command", "runner", "files"),
    [
        ("python3 -m unittest discover -s tests -t .", "unittest", ["tests/test_slug.py", "tests/unit/test_more.py"]),
        ("make test", "pytest", ["tests/test_slug.py", "tests/unit/test_more.py"]),
        ("npm test", "jest", ["web/button.test.js"]),
        ("cd web && npm test", "jest", ["web/button.test.js"]),
        ("cd web && pytest", "pytest", []),
        ("pytest tests/unit", "pytest", ["tests/unit/test_more.py"]),
        ("pytest tests/test_slug.py", "pytest", ["tests/test_slug.py"]),
        ("pytest -k words", "pytest", []),
        ("pytest tests/test_slug.py::test_one", "pytest", []),
        ("./run", "tap", []),
    ],
)
def test_only_tests_that_are_sure_to_run_are_changed(command, runner, files):
    assert files_to_mutate(Check(name="a", command=command), (runner,), PATHS) == files
