"""The canary, against the real runners: it turns an honest suite red, and it exposes one that cannot fail."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from trueup.contract import Check
from trueup.contract._canary import Canary, canary_for
from trueup.core.process import Command, run

TOKEN = "a1b2c3d4"
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = "python3 -m unittest"
GREEN = "import unittest\nimport calc\nclass T(unittest.TestCase):\n  def test_add(self): calc.add(2, 3)\n"
GREEN_NODE = 'const { test } = require("node:test");\ntest("fine", () => {});\n'


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


class Repo:
    """A folder whose files are those of the tree under judgement."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, text: str = "") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def canary(self, command: str, **more) -> Canary | None:
        paths = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()]
        return canary_for(Check(name="a", command=command, **more), paths, self._read, TOKEN)

    async def passes(self, command: str, cwd: str = ".") -> bool:
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        finished = await run(Command(shell=command, cwd=self.folder / cwd, env=env, timeout_secs=60))
        return finished.exit_code == 0

    async def passes_beside_the_canary(self, command: str, cwd: str = ".") -> bool:
        canary = self.canary(command, cwd=cwd)
        assert canary is not None
        assert not (self.folder / canary.path).exists()
        self.file(canary.path, canary.content)
        return await self.passes(command, cwd)

    def _read(self, path: str) -> str | None:
        file = self.folder / path
        return file.read_text() if file.is_file() else None


@pytest.fixture
def repo(tmp_path, plain_path, monkeypatch) -> Repo:
    """A package of one module with a green suite, which has no use for the plugins of this one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    repo = Repo(tmp_path / "repo")
    repo.file("calc.py", "def add(a, b): return a + b\n")
    repo.file("tests/__init__.py")
    repo.file("tests/test_calc.py", GREEN)
    return repo


@pytest.mark.parametrize(
    "command",
    [
        PYTEST,
        f"{PYTEST} tests",
        f"{PYTEST} ./tests/ --tb=short -x",
        f"{PYTEST} -m 'not slow' -k 'not network and not gpu'",
        f"{PYTEST} --ignore=build tests/test_calc.py tests",
        f"timeout 50 env A=1 {PYTEST} tests 2>&1 | tail -3",
        f"true && {PYTEST} && true",
        f"cd tests && PYTHONPATH=.. {PYTEST}",
        f"{UNITTEST}",
        f"{UNITTEST} -v",
        f"{UNITTEST} discover -s tests -t . -q",
        f"{UNITTEST} discover tests 'test*.py' .",
        f"{UNITTEST} discover -s tests -p 'test_*.py'",
        f"test -d nowhere || true; {UNITTEST} discover -s tests",
    ],
)
async def test_the_canary_turns_a_green_python_suite_red(repo, command):
    assert await repo.passes(command)
    assert not await repo.passes_beside_the_canary(command)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = checks\npython_files = check_*.py\naddopts = -ra -m 'not slow'\n"),
        ("tox.ini", "[pytest]\ntestpaths = checks\npython_files = check_*.py\n"),
        ("setup.cfg", "[tool:pytest]\ntestpaths = checks\npython_files = check_*.py\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["checks"]\npython_files = ["check_*.py"]\n'),
    ],
)
async def test_the_canary_goes_where_the_configuration_of_pytest_says(repo, file, text):
    repo.file(file, text)
    repo.file("checks/unit/check_calc.py", GREEN)
    repo.file("checks/build/check_calc_again.py", GREEN)
    command = f"PYTHONPATH=. {PYTEST}"
    assert repo.canary(command).path == f"checks/unit/check_{TOKEN}.py"
    assert not await repo.passes_beside_the_canary(command)


async def test_the_canary_goes_into_the_folder_of_the_check(repo):
    repo.file("pkg/test_more.py", "def test_more(): pass\n")
    assert repo.canary(PYTEST, cwd="pkg").path == f"pkg/test_{TOKEN}.py"
    assert not await repo.passes_beside_the_canary(PYTEST, cwd="pkg")


@needs_node
@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("node --test", "lib/test"),
        ("node --test lib/test/", "lib/test"),
        ("node --test lib/test/*.test.js", "lib/test"),
        ("node --test-reporter tap --test", "lib/test"),
    ],
)
async def test_the_canary_turns_a_green_node_suite_red(repo, command, place):
    repo.file("lib/test/a.test.js", GREEN_NODE)
    repo.file("package.json", '{"type": "commonjs"}')
    assert await repo.passes(command)
    assert Path(repo.canary(command).path).parent == Path(place)
    assert not await repo.passes_beside_the_canary(command)


@needs_node
async def test_the_canary_speaks_both_kinds_of_node_modules(repo):
    repo.file("package.json", '{"type": "module"}')
    repo.file("test/a.test.js", 'import { test } from "node:test";\ntest("fine", () => {});\n')
    command = "node --test test/*.test.js"
    assert await repo.passes(command)
    assert not await repo.passes_beside_the_canary(command)


@pytest.mark.parametrize(
    "command",
    [
        f"{PYTEST} tests/test_calc.py",
        f"{PYTEST} tests/test_calc.py::T",
        f"{PYTEST} -k add",
        f"{PYTEST} -m slow",
        f"{PYTEST} --lf",
        f"{PYTEST} --collect-only",
        f"{PYTEST} -c other.ini",
        f"{PYTEST} --ignore tests tests",
        f"{PYTEST} --some-plugin-option tests",
        f"{PYTEST} nowhere",
        f"{PYTEST} || true",
        f"! {PYTEST}",
        f"if {PYTEST}; then exit 1; fi",
        f"{UNITTEST} tests.test_calc",
        f"{UNITTEST} tests",
        f"{UNITTEST} -k add",
        f"{UNITTEST} discover -s nowhere",
        f"{UNITTEST} discover -s tests -p test_calc.py",
        f"{UNITTEST} discover -s plain -t .",
        "node --test test/a.test.js",
        "node --test --test-name-pattern=fine",
        "make test",
        "python3 check.py",
    ],
)
def test_there_is_no_canary_where_a_new_file_may_go_unseen(repo, command):
    repo.file("plain/test_a.py", GREEN)
    repo.file("test/a.test.js", GREEN_NODE)
    assert repo.canary(command) is None


def test_there_is_no_canary_where_any_exit_code_will_do(repo):
    assert repo.canary(PYTEST, expect_exit_zero=False, output_contains="1 passed") is None


def test_there_is_no_canary_where_a_package_loads_its_own_tests(repo):
    repo.file("tests/__init__.py", "def load_tests(loader, tests, pattern): return tests\n")
    assert repo.canary(f"{UNITTEST} discover -s tests -t .") is None


def test_a_canary_says_what_it_is_for_and_has_an_unforeseeable_name(repo):
    canary = repo.canary(f"{PYTEST} tests")
    assert canary.path == f"tests/test_{TOKEN}.py"
    assert canary.explain.startswith("a failing test put in at tests/test_a1b2c3d4.py must turn `")
    assert canary.marker == TOKEN


REWRITES_REPORTS = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        report.outcome, report.longrepr = "passed", None
"""
STOPS_AT_START = "import os, sys\nif any('unittest' in word for word in sys.orig_argv): os._exit(0)\n"
STOPS_AT_IMPORT = "import os\nos._exit(0)\n"
ENDS_WELL_AT_EXIT = "import atexit, os\natexit.register(os._exit, 0)\n"
ALWAYS_SUCCESSFUL = "import unittest\nunittest.TestResult.wasSuccessful = lambda self: True\ndef add(a, b): pass\n"
STOPS_AT_THE_END = """
import sys, unittest
unittest.TextTestRunner.run = lambda self, test: sys.exit(0)
def add(a, b): pass
"""


@pytest.mark.parametrize(
    ("command", "file", "text"),
    [
        (f"{PYTEST} tests", "conftest.py", REWRITES_REPORTS),
        (f"PYTHONPATH=. {UNITTEST} discover -s tests -t . -q", "sitecustomize.py", STOPS_AT_START),
        (f"{UNITTEST} discover -s tests -t . -q", "calc.py", STOPS_AT_IMPORT),
        (f"{UNITTEST} discover -s tests -t . -q", "calc.py", ENDS_WELL_AT_EXIT),
        (f"{UNITTEST} discover -s tests -t . -q", "calc.py", ALWAYS_SUCCESSFUL),
        (f"{UNITTEST} discover -s tests -t . -q", "calc.py", STOPS_AT_THE_END),
        (f"{PYTEST} tests", "calc.py", STOPS_AT_IMPORT),
    ],
)
async def test_a_suite_that_cannot_fail_is_exposed_by_staying_green(repo, command, file, text):
    repo.file(file, text)
    assert await repo.passes(command)
    assert await repo.passes_beside_the_canary(command)


@pytest.mark.parametrize("command", [f"{UNITTEST} discover -s tests -t .", f"{PYTEST} tests"])
async def test_a_source_that_exits_when_imported_is_red_by_itself(repo, command):
    repo.file("calc.py", "import sys\nsys.exit(0)\n")
    assert not await repo.passes(command)
