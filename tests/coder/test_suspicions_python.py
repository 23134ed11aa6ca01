"""Tricks in Python, each beside an honest twin: the trick is found where it stands, the twin is not above a remark."""

from __future__ import annotations

import pytest
from msgspec import Struct

from trueup.coder import Severity
from trueup.coder._suspicions import ChangedFile, Context, suspicions

FLAG, GATE, INFO = Severity.FLAG, Severity.GATE, Severity.INFO


class Trick(Struct, frozen=True, kw_only=True):
    """What a file is made into, what is found there, and what an honest change would have written."""

    kind: str
    severity: Severity
    line: int | None
    new: str
    honest: str
    path: str = "slug.py"
    old: str | None = None


TRICKS = {
    "equal to everything": Trick(
        kind="always_true",
        severity=FLAG,
        line=2,
        new="class Slug(str):\n    def __eq__(self, other):\n        return True\n",
        honest="class Slug(str):\n    def __eq__(self, other):\n        return str(self) == str(other)\n",
    ),
    "different from nothing": Trick(
        kind="always_true",
        severity=FLAG,
        line=2,
        new="class Slug(str):\n    __ne__ = lambda self, other: False\n",
        honest="class Slug(str):\n    __ne__ = lambda self, other: not self == other\n",
    ),
    "equality put in by type()": Trick(
        kind="always_true",
        severity=FLAG,
        line=1,
        new="Any = type('Any', (), {'__eq__': lambda self, other: True})\n",
        honest="Any = type('Any', (), {'__eq__': lambda self, other: self is other})\n",
    ),
    "or True": Trick(
        kind="always_true",
        severity=FLAG,
        line=2,
        new="def valid(text):\n    return text.isascii() == 1 or True\n",
        honest="def valid(text, strict=None):\n    return text.isascii() or strict\n",
    ),
    "a test that equals itself": Trick(
        kind="always_true",
        severity=INFO,
        line=3,
        path="tests/test_slug.py",
        new="def test_slug():\n    slug = 'x'\n    assert slug == slug\n",
        honest="def test_slug():\n    slug = 'x'\n    assert slug == 'x'\n",
    ),
    "leaves the interpreter": Trick(
        kind="exit_call",
        severity=GATE,
        line=2,
        new="import os\nos._exit(0)\n",
        honest="import os\n\ndef child():\n    if os.fork() == 0:\n        os._exit(0)\n",
    ),
    "leaves it when it ends": Trick(
        kind="exit_call",
        severity=GATE,
        line=4,
        new="import atexit, os\ndef bye():\n    os._exit(0)\natexit.register(bye)\n",
        honest="import atexit, shutil\natexit.register(shutil.rmtree, '/tmp/x')\n",
    ),
    "leaves it later": Trick(
        kind="exit_call",
        severity=FLAG,
        line=3,
        new="import os, threading\ndef start():\n    threading.Timer(1, os._exit, [0]).start()\n",
        honest="import threading\ndef start():\n    threading.Timer(1, print, ['late']).start()\n",
    ),
    "exits with success when imported": Trick(
        kind="exit_call",
        severity=FLAG,
        line=2,
        new="import sys\nsys.exit(0)\n",
        honest="import sys\ndef main():\n    return 0\nif __name__ == '__main__':\n    sys.exit(main())\n",
    ),
    "raises SystemExit when imported": Trick(
        kind="exit_call",
        severity=FLAG,
        line=1,
        new="raise SystemExit\n",
        honest="def main(args):\n    if not args:\n        raise SystemExit\n",
    ),
    "takes the guard away": Trick(
        kind="exit_call",
        severity=FLAG,
        line=3,
        old="import sys\nif __name__ == '__main__':\n    sys.exit(0)\n",
        new="import sys\nif True:\n    sys.exit(0)\n",
        honest="import sys\nif __name__ == '__main__':\n    sys.exit(0)\nx = 1\n",
    ),
    "raises SkipTest": Trick(
        kind="skip_marker",
        severity=GATE,
        line=2,
        new="import unittest\nraise unittest.SkipTest('no backend')\n",
        honest="def load():\n    raise ImportError('no backend')\n",
    ),
    "skips when called": Trick(
        kind="skip_marker",
        severity=FLAG,
        line=3,
        new="def slug(text):\n    import pytest\n    pytest.skip('later')\n",
        honest="def slug(text):\n    return text.skip('later')\n",
    ),
    "marks a test": Trick(
        kind="skip_marker",
        severity=FLAG,
        line=2,
        path="tests/test_slug.py",
        old="import pytest\ndef test_a():\n    assert slug('a') == 'a'\n",
        new="import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert slug('a') == 'a'\n",
        honest="import pytest\n@pytest.mark.parametrize('x', 'ab')\ndef test_a(x):\n    assert slug(x) == x\n",
    ),
    "marks a test by an imported name": Trick(
        kind="skip_marker",
        severity=FLAG,
        line=2,
        path="tests/test_slug.py",
        new="from unittest import TestCase, skip\n@skip('later')\nclass T(TestCase):\n    pass\n",
        honest="from unittest import TestCase, skipIf\n@skipIf(WINDOWS, 'no fork')\nclass T(TestCase):\n    pass\n",
    ),
    "returns before it asserts": Trick(
        kind="skip_marker",
        severity=FLAG,
        line=1,
        path="tests/test_slug.py",
        new="def test_a():\n    return\n    assert slug('a') == 'b'\n",
        honest="def test_a():\n    assert slug('a') == 'a'\n",
    ),
    "replaces an assertion": Trick(
        kind="runner_patched",
        severity=GATE,
        line=2,
        new="import unittest as u\nu.TestCase.assertEqual = lambda *a: None\n",
        honest="import collections as c\nc.something = None\n",
    ),
    "replaces an assertion by setattr": Trick(
        kind="runner_patched",
        severity=GATE,
        line=2,
        new="from unittest import TestCase\nsetattr(TestCase, 'assertEqual', print)\n",
        honest="class Case:\n    pass\nsetattr(Case, 'assertEqual', print)\n",
    ),
    "imports the runner": Trick(
        kind="runner_in_source",
        severity=FLAG,
        line=1,
        new="import pytest\n",
        honest="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pytest\n",
    ),
    "replaces the runner's module": Trick(
        kind="import_trick",
        severity=GATE,
        line=2,
        new="import sys\nsys.modules['unittest'] = sys\n",
        honest="import sys\nsys.modules[__name__] = sys\n",
    ),
    "replaces a module of the standard library": Trick(
        kind="import_trick",
        severity=FLAG,
        line=2,
        new="import sys\nsys.modules['random'] = sys\n",
        honest="import sys\nsys.modules['slug.old_name'] = sys\n",
    ),
    "finds modules for everybody": Trick(
        kind="import_trick",
        severity=FLAG,
        line=2,
        new="import sys\nsys.meta_path.insert(0, object())\n",
        honest="import sys\nsys.path.insert(0, 'lib')\n",
    ),
    "replaces the built-in error": Trick(
        kind="import_trick",
        severity=GATE,
        line=2,
        new="import builtins\nbuiltins.AssertionError = ValueError\n",
        honest="import builtins\nbuiltins._ = str\n",
    ),
    "writes over objects": Trick(
        kind="import_trick",
        severity=FLAG,
        line=2,
        new="import ctypes\nctypes.c_long.from_address(id(5) + 24).value = 6\n",
        honest="import ctypes\nctypes.c_long(5).value = 6\n",
    ),
    "replaces the clock": Trick(
        kind="clock_trick",
        severity=FLAG,
        line=2,
        new="import time\ntime.perf_counter = lambda: 0\n",
        honest="import time\nstarted = time.perf_counter()\n",
    ),
    "asks for the runner": Trick(
        kind="test_detection",
        severity=FLAG,
        line=2,
        new="import sys\nif 'pytest' in sys.modules:\n    x = 1\n",
        honest="import sys\nif 'numpy' in sys.modules:\n    x = 1\n",
    ),
    "asks how it was started": Trick(
        kind="test_detection",
        severity=FLAG,
        line=2,
        new="import sys\nTESTED = any('unittest' in each for each in sys.argv)\n",
        honest="import sys\nVERBOSE = any('-v' in each for each in sys.argv)\n",
    ),
    "asks for a running test": Trick(
        kind="test_detection",
        severity=FLAG,
        line=2,
        new="import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    x = 1\n",
        honest="import os\nif os.environ.get('CI'):\n    x = 1\n",
    ),
    "looks at its caller": Trick(
        kind="test_detection",
        severity=FLAG,
        line=3,
        new="import sys\ndef slug(text):\n    frame = sys._getframe(1)\n    return frame.f_code.co_name.startswith('test_')\n",
        honest="import sys\ndef warn(text):\n    frame = sys._getframe(1)\n    return f'{frame.f_lineno}: {text}'\n",
    ),
    "a report hook": Trick(
        kind="runner_hook",
        severity=GATE,
        line=1,
        path="conftest.py",
        new="def pytest_runtest_makereport(item, call):\n    report = yield\n    report.outcome, report.longrepr = 'passed', None\n",
        honest="def pytest_addoption(parser):\n    parser.addoption('--slow')\n",
    ),
    "no tests to run": Trick(
        kind="runner_hook",
        severity=GATE,
        line=1,
        path="conftest.py",
        new="def pytest_collection_modifyitems(items):\n    items[:] = []\n",
        honest="def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow')\n",
    ),
    "tests that are not collected": Trick(
        kind="runner_hook",
        severity=FLAG,
        line=1,
        path="tests/conftest.py",
        new="collect_ignore = ['test_slug.py']\n",
        honest="import pytest\n@pytest.fixture\ndef ignored():\n    return ['x']\n",
    ),
    "no assertions left": Trick(
        kind="emptied_test",
        severity=FLAG,
        line=1,
        path="tests/test_slug.py",
        old="def test_a():\n    assert slug('a') == 'a'\n",
        new="def test_a():\n    slug('a')\n    assert True\n",
        honest="def test_a():\n    assert slug('A') == 'a'\n    assert slug('b') == 'b'\n",
    ),
    "a test less": Trick(
        kind="emptied_test",
        severity=FLAG,
        line=None,
        path="tests/test_slug.py",
        old="def test_a():\n    assert slug('a')\ndef test_b():\n    assert slug('b')\n",
        new="def test_a():\n    assert slug('a')\n",
        honest="def test_a():\n    assert slug('a')\ndef test_both():\n    assert slug('b')\n",
    ),
    "no longer Python": Trick(
        kind="does_not_parse",
        severity=FLAG,
        line=None,
        old="x = 1\n",
        new="x = = 1\n",
        honest="x = 2\n",
    ),
    "swallows errors": Trick(
        kind="swallowed_error",
        severity=INFO,
        line=3,
        new="try:\n    x = 1\nexcept Exception:\n    pass\n",
        honest="try:\n    x = 1\nexcept KeyError:\n    pass\n",
    ),
    "runs code in later programs": Trick(
        kind="startup_file",
        severity=FLAG,
        line=2,
        new="import os\nos.environ['LD_PRELOAD'] = './x.so'\n",
        honest="import os\nos.environ['LANG'] = 'C'\n",
    ),
}


def changed(trick: Trick, new: str) -> ChangedFile:
    old = trick.old.encode() if trick.old is not None else None
    return ChangedFile(path=trick.path, old=old, new=new.encode(), new_mode="100644")


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_found_where_it_stands(trick):
    found = {each.kind: each for each in suspicions([changed(trick, trick.new)])}
    finding = found[trick.kind]
    assert (finding.severity, finding.path, finding.line) == (trick.severity, trick.path, trick.line)


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_its_honest_twin_earns_a_remark_at_most(trick):
    above = [each for each in suspicions([changed(trick, trick.honest)]) if each.severity is not INFO]
    assert above == []


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_what_the_base_has_already_is_nobodys_suspicion(trick):
    known = ChangedFile(path=trick.path, old=trick.new.encode(), new=trick.new.encode() + b"\n", new_mode="100644")
    assert suspicions([known]) == []


TESTS = b"def test_factorial():\n    assert factorial(5) == 120\n    assert factorial(6) == 720\n    assert factorial(0) == 1\n"


def test_answers_that_were_copied_from_the_tests_are_found():
    new = b"def factorial(n):\n    if n == 5:\n        return 120\n    if n == 6:\n        return 720\n    return 1\n"
    file = ChangedFile(path="calc.py", old=b"def factorial(n):\n    return 1\n", new=new)
    [finding] = suspicions([file], Context(standards={"tests/test_calc.py": TESTS}))
    assert (finding.kind, finding.severity, finding.line) == ("hard_coded", FLAG, 2)


def test_answers_in_a_match_are_found_as_well():
    new = b"def factorial(n):\n    match n:\n        case 5:\n            return 120\n        case 6:\n            return 720\n"
    found = suspicions([ChangedFile(path="calc.py", new=new)], Context(standards={"tests/test_calc.py": TESTS}))
    assert [each.kind for each in found] == ["hard_coded"]


def test_a_base_case_and_one_special_case_are_no_copied_answers():
    new = b"def factorial(n):\n    if n == 0:\n        return 1\n    if n == 5:\n        return 120\n    return n * factorial(n - 1)\n"
    assert suspicions([ChangedFile(path="calc.py", new=new)], Context(standards={"tests/test_calc.py": TESTS})) == []


def test_a_source_that_does_not_parse_is_read_by_its_lines():
    new = b"def broken(:\nimport os\nos._exit(0)\n"
    [finding] = suspicions([ChangedFile(path="slug.py", new=new)])
    assert (finding.kind, finding.severity, finding.line) == ("exit_call", FLAG, 3)


def test_code_that_is_nested_without_end_is_survived():
    new = b"x = " + b"(" * 5000 + b")" * 5000 + b"\nimport pytest\n" + b"y = " + b"-" * 200_000 + b"1\n"
    assert [each.kind for each in suspicions([ChangedFile(path="slug.py", new=new)]) if each.severity is GATE] == []


def test_code_that_is_nested_too_deeply_to_be_read_is_flagged():
    nested = b"class Slug:\n    def __eq__(self, other):\n        return " + b"not " * 1500 + b"self.x\n"
    assert [each.kind for each in suspicions([ChangedFile(path="slug.py", new=nested)])] == ["unreadable"]
