"""What checks are worth, found out by running them on real folders."""

from __future__ import annotations

import shutil
import sys

import msgspec
import pytest

from trueup.contract import Check, CheckCompleted, Contract, TestCounts
from trueup.contract._baseline import Baseline, CheckClass, estimate, run_baseline
from trueup.contract._counts_compare import compare_counts
from trueup.core.protocols import Action, Decision
from trueup.testing import EventLog
from trueup.workspace import FolderShell

GOAL, GUARD, FLAKY, BROKEN = CheckClass
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n  def test_x(self): self.assertTrue({})\n"


needs_node = pytest.mark.skipif(shutil.which("npm") is None, reason="node is not installed")


class NothingAllowed:
    """A gate that refuses everything."""

    async def decide(self, action: Action) -> Decision:
        return Decision(False, rule="none", reason="nothing is allowed here")


class Repo:
    """A folder whose files are those of the base commit."""

    def __init__(self, folder):
        self.folder = folder
        self.log = EventLog()

    def file(self, name: str, text: str = "") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def baseline(self, *checks: Check, gate=None, **more) -> Baseline:
        paths = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()]
        return await run_baseline(
            Contract(description="d", checks=list(checks), **more),
            FolderShell(self.folder, gate),
            self.log,
            base_paths=paths,
            read=self._read,
        )

    async def classed(self, command: str, gate=None, **more):
        keys = {key: more.pop(key) for key in ("runs", "cwd", "timeout_secs", "parallel") if key in more}
        return (await self.baseline(Check(name="a", command=command, **keys), gate=gate, **more)).checks[0]

    def _read(self, path: str) -> str | None:
        file = self.folder / path
        return file.read_text() if file.is_file() else None


@pytest.fixture
def repo(tmp_path, plain_path, monkeypatch) -> Repo:
    """A folder whose pytest has no use for the plugins of this suite."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Repo(tmp_path)


async def test_a_red_check_is_a_goal_and_a_green_one_a_guard(repo):
    baseline = await repo.baseline(Check(name="red", command="exit 3"), Check(name="green", command="true"))
    assert [check.name for check in baseline.goals] == ["red"]
    assert [check.name for check in baseline.guards] == ["green"]
    assert baseline.check("red").reason == "red on base (exit 3); must turn green"


async def test_a_red_check_is_asked_twice_and_a_green_one_once(repo):
    baseline = await repo.baseline(Check(name="red", command="false"), Check(name="green", command="true"))
    assert [len(check.results) for check in baseline.checks] == [2, 1]
    ran = [event.result.name for event in repo.log.events if isinstance(event, CheckCompleted)]
    assert ran == ["red", "red", "green"]


async def test_a_red_check_that_turns_green_by_itself_is_flaky(repo):
    check = await repo.classed("test -f seen || { touch seen; exit 1; }")
    assert check.check_class is FLAKY
    assert check.reason == "disagrees with itself on base: red, green"


async def test_a_green_check_is_asked_as_often_as_it_says(repo):
    check = await repo.classed('echo x >> seen; test "$(wc -l < seen)" -lt 3', runs=5)
    assert check.check_class is FLAKY
    assert check.reason == "disagrees with itself on base: green, green, red"


async def test_a_check_is_repeated_before_a_later_one_changes_its_world(repo):
    baseline = await repo.baseline(
        Check(name="use", command="grep 42 built"), Check(name="build", command="echo 42 > built")
    )
    assert baseline.check("use").check_class is GOAL


async def test_a_time_out_is_a_goal_and_is_not_waited_for_again(repo):
    check = await repo.classed("sleep 60", timeout_secs=1)
    assert (check.check_class, len(check.results)) == (GOAL, 1)
    assert check.reason == "red on base (timed out after 1 s); must turn green"


async def test_a_refused_check_is_broken(repo):
    check = await repo.classed("true", gate=NothingAllowed())
    assert (check.check_class, check.reason) == (BROKEN, "refused by policy: nothing is allowed here")
    assert "policy" in check.fix


@pytest.mark.parametrize(
    ("command", "reason", "fix"),
    [
        (f"{sys.executable} -S -m pytest -q", "the runner 'pytest' is not installed", "setup: [pip install pytest]"),
        ("PATH=/nowhere; pytest -q", "the runner 'pytest' is not installed", "reuse: [.venv]"),
        ("PATH=/nowhere; cargo test", "the runner 'cargo' is not installed", "install 'cargo'"),
        ("dash -c 'PATH=/nowhere; jest' || sh -c 'PATH=/nowhere; jest'", "the runner 'jest' is not installed", "setup"),
        (".venv/bin/pytest", ".venv/bin/pytest does not exist", "setup"),
        ("echo 'make: pytest: No such file or directory'; exit 2", "the runner 'pytest' is not installed", "setup"),
        ("echo 'error: no such command: `nextest`'; exit 101", "cargo has no command 'nextest'", "cargo-nextest"),
        ("echo 'npm error code EAI_AGAIN'; exit 1", "a package manager could not get what it needs", "setup"),
        (f"{sys.executable} -m pytest --cov-nothing", "pytest does not know '--cov-nothing'", "plugin"),
    ],
)
async def test_a_check_whose_runner_is_missing_is_broken_whatever_it_exits_with(repo, command, reason, fix):
    check = await repo.classed(command)
    assert check.check_class is BROKEN
    assert check.reason.startswith(reason)
    assert fix in check.fix
    assert len(check.results) == 1


@needs_node
async def test_a_missing_npm_script_is_broken_unless_the_change_may_add_it(repo):
    repo.file("package.json", '{"name": "a"}')
    check = await repo.classed("npm run test:unit")
    assert (check.check_class, check.reason) == (BROKEN, "package.json has no script 'test:unit'")
    assert (await repo.classed("npm run test:unit", editable=["package.json"])).check_class is GOAL


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m unittest discover",
        f"{sys.executable} -m pytest -q -p no:cacheprovider",
        pytest.param("node --test --test-reporter=tap", marks=needs_node),
    ],
)
async def test_a_runner_that_collects_nothing_is_broken_also_where_it_exits_with_zero(repo, command):
    check = await repo.classed(command)
    assert check.check_class is BROKEN
    assert check.reason.endswith("collected no tests")


async def test_a_missing_test_file_is_a_goal(repo):
    check = await repo.classed(f"{sys.executable} -m pytest -q -p no:cacheprovider tests/test_new.py")
    assert check.check_class is GOAL


@pytest.mark.parametrize(
    ("manifest", "text", "module"),
    [
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["left-pad-python >= 2"]\n', "left_pad_python"),
        ("pyproject.toml", '[dependency-groups]\ndev = ["absentpkg[extra]~=1.0"]\n', "absentpkg"),
        ("pyproject.toml", '[tool.poetry.group.dev.dependencies]\nabsentpkg = "^1"\n', "absentpkg"),
        ("requirements-dev.txt", "# tools\nabsentpkg==1.2\n", "absentpkg.inner"),
        ("setup.cfg", "[options]\ninstall_requires =\n  absentpkg>1\n", "absentpkg"),
        ("setup.py", "setup(install_requires=['absentpkg>=1'])", "absentpkg"),
    ],
)
async def test_a_declared_dependency_that_is_missing_breaks_a_check(repo, manifest, text, module):
    repo.file(manifest, text)
    check = await repo.classed(f"python3 -c 'import {module}'")
    assert check.check_class is BROKEN
    assert check.reason == f"the declared dependency {module.partition('.')[0]!r} is not installed"


@needs_node
async def test_a_declared_node_package_that_is_missing_breaks_a_check(repo):
    repo.file("package.json", '{"devDependencies": {"@scope/pad": "1"}}')
    check = await repo.classed("""node -e 'require("@scope/pad/deep")'""")
    assert (check.check_class, check.reason) == (BROKEN, "the declared dependency '@scope/pad' is not installed")


async def test_a_src_package_that_nobody_installed_breaks_a_check(repo):
    repo.file("pyproject.toml", '[project]\nname = "mypkg"\n')
    repo.file("src/mypkg/__init__.py")
    check = await repo.classed("python3 -c 'import mypkg'")
    assert check.reason == "the repository's own package 'mypkg' in src/mypkg is not installed"
    assert "pip install -e ." in check.fix


@pytest.mark.parametrize(
    "command",
    [
        "./run.sh",
        "bash ./run.sh",
        "python3 new_tool.py",
        "python3 -c 'import mypkg.newthing'",
        "python3 -c 'import brandnew'",
        "python3 -m brandnew",
        pytest.param("node -e 'require(\"./brandnew\")'", marks=needs_node),
        pytest.param("node -e 'require(\"undeclared\")'", marks=needs_node),
        pytest.param("node brandnew.js", marks=needs_node),
        "cat out.txt",
        "newtool --help",
        "make -f Makefile test",
    ],
)
async def test_what_the_repository_does_not_have_yet_is_a_goal(repo, command):
    repo.file("mypkg/__init__.py")
    repo.file("pyproject.toml", '[project]\nname = "mypkg"\ndependencies = ["mypkg"]\n')
    assert (await repo.classed(command)).check_class is GOAL


async def test_a_folder_that_the_change_has_to_make_is_a_goal(repo):
    assert (await repo.classed("true", cwd="newpkg")).check_class is GOAL


async def test_the_counts_of_a_suite_are_kept(repo):
    repo.file("test_a.py", UNITTEST.format("False"))
    check = await repo.classed("python3 -m unittest -q")
    assert check.check_class is GOAL
    assert check.counts == TestCounts(failed=1, runners=("unittest",))


async def test_goals_that_only_look_at_files_are_weak(repo):
    checks = [
        Check(name="looks", command="test -f x && ! grep -q y x | wc -l"),
        Check(name="runs", command="python3 x.py | grep y"),
    ]
    baseline = await repo.baseline(*checks)
    contract = Contract(description="d", checks=checks)
    assert [goal.name for goal in baseline.weak_goals(contract)] == ["looks"]


async def test_a_baseline_can_be_kept_in_a_cache(repo):
    repo.file("test_a.py", UNITTEST.format("True"))
    baseline = await repo.baseline(Check(name="a", command="python3 -m unittest"), Check(name="b", command="false"))
    assert msgspec.json.decode(msgspec.json.encode(baseline), type=Baseline) == baseline


def test_the_estimate_counts_every_run_there_may_be():
    checks = [Check(name="a", command="true"), Check(name="b", command="true", runs=5)]
    assert estimate(Contract(description="d", checks=checks)) == 7


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, None),
        (None, TestCounts(passed=1)),
        (TestCounts(passed=1, failed=1), TestCounts(passed=2)),
        (TestCounts(passed=2, skipped=1), TestCounts(passed=5, skipped=1)),
        (TestCounts(passed=2, skipped=1), TestCounts(passed=3)),
    ],
)
def test_as_many_tests_or_more_are_fine(before, after):
    assert compare_counts(before, after) is None


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (None, "no test runner reported, where unittest collected 2 tests on base"),
        (TestCounts(passed=1, runners=("unittest",)), "unittest collected 1 test, where base has 2"),
        (TestCounts(runners=("unittest",)), "unittest collected 0 tests, where base has 2"),
        (TestCounts(passed=1, skipped=1, runners=("unittest",)), "1 test skipped, where base skips 0"),
    ],
)
def test_fewer_skipped_or_silent_tests_are_a_finding(after, sentence):
    assert compare_counts(TestCounts(passed=1, failed=1, runners=("unittest",)), after) == sentence
