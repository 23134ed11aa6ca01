"""Expectations that are changed where they stand."""

from __future__ import annotations

import pytest

from trueup.contract import Check, files_to_mutate
from trueup.contract import mutate as mutants

PATHS = ["slug.py", "tests/test_slug.py", "tests/unit/test_more.py", "tests/data.json", "web/button.test.js"]


def mutate(read, paths):
    return {path: mutant.text for path, mutant in mutants(read, paths).items()}


def function(*lines: str) -> str:
    return "def test_it(self):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("self.assertEqual(add(2, 3), 5)", "self.assertEqual(add(2, 3), 6)"),
        ("self.assertEqual(add(2, 3), 5, 'adds 5')", "self.assertEqual(add(2, 3), 6, 'adds 5')"),
        ("assert slug('A b') == 'a-b'", "assert slug('A b') == 'a-b~'"),
        ("assert add(2, 3) == 5, '2 plus 3 is 5'", "assert add(2, 3) == 6, '2 plus 3 is 5'"),
        ("assert add(2, 3) == 5  # 2 plus 3 is 5", "assert add(2, 3) == 6  # 2 plus 3 is 5"),
        ("assert got['sum'] == want.get('sum', 0)", "assert got['sum'] == object()"),
        ("assert grüße('é') == 'ü', 'é'", "assert grüße('é') == 'ü~', 'é'"),
        ("self.assertTrue(ready)", None),
        ("self.assertGreater(add(2, 3), 4)", None),
        ("assert 1 < two() == 2", None),
        ("# assert add(2, 3) == 5", None),
        ("total = 5", None),
    ],
)
def test_only_what_python_says_is_equal_to_something_is_changed(line, other):
    text = function("pass", line)
    assert mutate({"t.py": text}.get, ["t.py"]) == ({} if other is None else {"t.py": function("pass", other)})


@pytest.mark.parametrize(
    "before",
    [
        "if sys.platform == 'win32':\n        pass",
        "return",
        "self.skipTest('not here')",
        "pytest.skip('not here')",
        "try:\n        pass\n    finally:\n        pass",
        "for each in cases:\n        pass",
    ],
)
def test_what_may_never_be_reached_is_left_alone(before):
    text = function(before, "assert add(2, 3) == 5")
    assert mutate({"t.py": text}.get, ["t.py"]) == {}


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\ndef test_it():\n    assert add(2, 3) == 5\n",
        "@unittest.skipIf(old, '')\nclass T(TestCase):\n    def test_it(self):\n        assert add(2, 3) == 5\n",
        "def helper():\n    assert add(2, 3) == 5\n",
        "def test_it():\n    if slow:\n        assert add(2, 3) == 5\n",
        "def test_it():\n    with pytest.raises(AssertionError):\n        assert add(2, 3) == 5\n",
        "def test_it(:\n    assert add(2, 3) == 5\n",
    ],
)
def test_what_may_be_skipped_or_is_no_test_is_left_alone(text):
    assert mutate({"t.py": text}.get, ["t.py"]) == {}


def test_a_test_in_a_class_and_in_a_block_that_is_always_entered_is_changed():
    text = "class T:\n    def test_it(self):\n        with clock():\n            assert add(2, 3) == 5\n"
    assert mutate({"t.py": text}.get, ["t.py"])["t.py"].endswith("== 6\n")


@pytest.mark.parametrize(
    ("path", "line", "other"),
    [
        ("t.js", "expect(add(1, 2)).toBe(3);", 'expect(add(1, 2)).toBe(Symbol("other"));'),
        ("t.js", "assert.strictEqual(f(), 'x1');", 'assert.strictEqual(f(), Symbol("other"));'),
        (
            "t.js",
            "assert.strictEqual(f(a, [1]), 5, 'adds');",
            "assert.strictEqual(f(a, [1]), Symbol(\"other\"), 'adds');",
        ),
        (
            "t.js",
            "test('a', () => { assert.equal(f(), 5, 'x') })",
            "test('a', () => { assert.equal(f(), Symbol(\"other\"), 'x') })",
        ),
        ("t.ts", "expect(f()).toEqual({\n  a: [1, 2],\n})", 'expect(f()).toEqual(Symbol("other"))'),
        ("t.js", "if (win) assert.equal(f(), 5)", None),
        ("t.js", "if (win) {\n  assert.equal(f(), 5)\n}", None),
        ("t.js", "test.skip('a', () => { assert.equal(f(), 5) })", None),
        ("t.js", "// assert.equal(f(), 5)", None),
        ("t.js", "assert.ok(f() > 4)", None),
        ("t.js", "assert.equal(f(), 5", None),
        ("t.rs", "assert_eq!(add(1, 2), 3);", "assert_eq!(add(1, 2), 4);"),
        ("t.rs", 'assert_eq!(name(1), "x", "is x");', 'assert_eq!(name(1), "x~", "is x");'),
        ("t.rs", "assert_eq!(add(1, 2), three(), 3);", None),
        ("T.java", 'assertEquals(5, add(2, 3), "2 plus 3");', 'assertEquals(6, add(2, 3), "2 plus 3");'),
    ],
)
def test_in_other_languages_the_expected_argument_is_changed(path, line, other):
    assert mutate({path: line}.get, [path]) == ({} if other is None else {path: other})


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


TESTS = """
class T(unittest.TestCase):
    def test_one(self):
        self.assertEqual(f(), 1)

    def test_two(self):
        self.assertTrue(f())

class TestMore:
    def test_three(self):
        assert f() == 3

def test_four():
    assert f() == 4

def test_four():
    assert f() == 5
"""


@pytest.mark.parametrize(("runner", "tests", "changed"), [("unittest", 2, 1), ("pytest", 4, 3)])
def test_it_is_known_how_many_tests_must_fail(runner, tests, changed):
    mutant = mutants({"t.py": TESTS}.get, ["t.py"], (runner,))["t.py"]
    assert (mutant.tests, mutant.changed) == (tests, changed)
