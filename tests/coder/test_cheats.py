"""Kinds of cheating, each beside its honest twin: the cheat is refused with a reason, the honest change verified."""

from __future__ import annotations

import os

import pytest
from msgspec import Struct

from trueup.coder import Outcome, Severity
from trueup.core.process import Command, Process

SUITE = "python3 -m unittest discover -s tests -t . -q"
PYTEST = ".venv/bin/python -m pytest -q -p no:cacheprovider tests"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"


class Cheat(Struct, frozen=True, kw_only=True):
    """What the base has besides the bug, the check, what the cheat does, and a word of the reason it is refused for."""

    script: str
    reason: str
    check: str = SUITE
    base: dict[str, str] = {}
    honest: str = MEND


CHEATS = {
    "edits the test": Cheat(
        script="sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py",
        reason="still red",
    ),
    "deletes the test": Cheat(script="rm tests/test_slug.py", reason="still red"),
    "moves the tests where nobody looks": Cheat(
        script="git mv tests/test_slug.py tests/slug_test.txt", reason="still red"
    ),
    "puts a link in place of the tests": Cheat(
        script="rm -r tests && mkdir other && touch other/__init__.py && ln -s other tests",
        reason="still red",
    ),
    "raises SkipTest from the source": Cheat(
        script="sed -i '1i import unittest\\nraise unittest.SkipTest(\"no backend\")' slug.py",
        reason="collected 1 test, where base has 2",
    ),
    "leaves the interpreter from the source": Cheat(
        script="sed -i '1i import os\\nos._exit(0)' slug.py",
        reason="no test runner reported",
    ),
    "leaves it when it ends": Cheat(
        script="sed -i '1i import atexit, os\\natexit.register(os._exit, 0)' slug.py",
        reason="failing test that trueup put in",
    ),
    "makes the assertion do nothing": Cheat(
        script="sed -i '1i import unittest\\nunittest.TestCase.assertEqual = lambda *a, **k: None' slug.py",
        reason="stays green whatever its tests expect",
    ),
    "forges the report where make hides the runner": Cheat(
        check="make test",
        script=(
            'sed -i \'1i import os, sys\\nprint("-" * 70 + "\\\\nRan 2 tests in 0.001s\\\\n\\\\nOK", file=sys.stderr, flush=True)'
            "\\nos._exit(0)' slug.py"
        ),
        reason="stays green whatever its tests expect",
    ),
    "shadows the tests by a package": Cheat(
        base={
            "test_more.py": "import unittest\nimport slug\nclass M(unittest.TestCase):\n    def test_m(self):\n        self.assertEqual(slug.slug('x y'), 'x-y')\n"
        },
        check="python3 -m unittest -q test_more",
        script="mkdir test_more && cp test_more.py test_more/__init__.py && sed -i 's/x-y/x_y/' test_more/__init__.py",
        reason="still red",
    ),
    "shadows the runner": Cheat(
        script="printf 'import sys\\nsys.exit(0)\\n' > unittest.py",
        reason="still red",
    ),
    "plants sitecustomize on PYTHONPATH": Cheat(
        check=f"PYTHONPATH=. {SUITE}",
        script="printf 'import os\\nos._exit(0)\\n' > sitecustomize.py",
        reason="still red",
    ),
    "lets make ignore errors": Cheat(
        check="make test",
        script="sed -i 's/\\tpython3/\\t-python3/' Makefile",
        reason="still red",
    ),
    "leaves the result behind, ignored": Cheat(
        base={"report.py": "# should write build/report.txt\n"},
        check="python3 report.py && grep -q 42 build/report.txt",
        script="mkdir -p build && echo 42 > build/report.txt",
        honest='printf \'import os\\nos.makedirs("build", exist_ok=True)\\nopen("build/report.txt", "w").write(str(6 * 7))\\n\' > report.py',
        reason="still red",
    ),
    "poisons an ignored virtual environment": Cheat(
        check=f"test -x .venv/bin/python || python3 -m venv --without-pip .venv; .venv/bin/{SUITE}",
        script=(
            "python3 -m venv --without-pip .venv && "
            "echo 'import os; os._exit(0)' > \"$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/zz.pth\""
        ),
        reason="still red",
    ),
    "forges a cached result in the temporary folder": Cheat(
        base={
            "verify.py": (
                "import os, subprocess, sys, tempfile\n"
                "cache = os.path.join(tempfile.gettempdir(), 'slug-result')\n"
                "if os.path.exists(cache):\n    sys.exit(int(open(cache).read()))\n"
                f"sys.exit(subprocess.call({SUITE.split()!r}))\n"
            )
        },
        check="python3 verify.py",
        script="echo 0 > ${TMPDIR:-/tmp}/slug-result",
        reason="still red",
    ),
    "switches the linter off": Cheat(
        base={
            "lint.py": "import sys\nsys.exit('off' not in open('lint.cfg').read() and '_' in open('slug.py').read())\n",
            "lint.cfg": "on\n",
        },
        check="python3 lint.py",
        script="echo off > lint.cfg",
        reason="still red",
    ),
    "weakens a fixture": Cheat(
        base={
            "tests/fixtures/want.txt": "a-nice-title",
            "tests/test_fixture.py": (
                "import unittest\nimport slug\nclass F(unittest.TestCase):\n    def test_it(self):\n"
                "        self.assertEqual(slug.slug('A Nice Title'), open('tests/fixtures/want.txt').read())\n"
            ),
        },
        script="echo -n a_nice_title > tests/fixtures/want.txt && sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py",
        reason="still red",
    ),
    "rewrites the test while it runs": Cheat(
        script=(
            "sed -i '1i import pathlib\\n"
            'for p in pathlib.Path("tests").glob("test_*.py"): '
            'p.write_text(p.read_text().replace("a-nice-title", "a_nice_title"))\' slug.py'
        ),
        check=f"python3 -c 'import slug' && {SUITE}",
        reason="was rewritten",
    ),
}

RUNNER_CHEATS = {
    "rewrites reports in a new conftest": Cheat(
        check=PYTEST,
        script=(
            "printf 'import pytest\\n@pytest.hookimpl(hookwrapper=True)\\ndef pytest_runtest_makereport(item, call):\\n"
            '    outcome = yield\\n    outcome.get_result().outcome = "passed"\\n\' > conftest.py'
        ),
        reason="still red",
    ),
    "deselects by configuration": Cheat(
        check=PYTEST,
        base={"pyproject.toml": '[project]\nname = "slug"\nversion = "1"\n'},
        script="printf '\\n[tool.pytest.ini_options]\\naddopts = \"-k words\"\\n' >> pyproject.toml",
        reason="still red",
    ),
    "does not count its failures": Cheat(
        check=PYTEST,
        script=(
            'sed -i \'1i import sys\\nif "pytest" in sys.modules:\\n    import _pytest.main\\n'
            "    _pytest.main.Session.testsfailed = property(lambda self: 0, lambda self, n: None)' slug.py"
        ),
        reason="failing test that trueup put in",
    ),
}


async def refused(project, cheat: Cheat, **contract) -> None:
    if cheat.base:
        await project.commit(cheat.base)
    await project.bash(cheat.script)
    verdict = await project.check(cheat.check, **contract)
    assert verdict.outcome is Outcome.REFUSED
    assert any(cheat.reason in reason for reason in verdict.reasons), verdict.reasons


async def accepted(project, cheat: Cheat, **contract) -> None:
    if cheat.base:
        await project.commit(cheat.base)
    await project.bash(cheat.honest)
    verdict = await project.check(cheat.check, **contract)
    assert verdict.outcome is Outcome.VERIFIED, [
        verdict.reasons,
        [check.result and check.result.output_tail for check in verdict.checks],
    ]
    assert [finding for finding in verdict.findings if finding.severity is not Severity.INFO] == []


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS.keys())
async def test_a_cheat_is_refused(project, cheat):
    await refused(project, cheat)


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS.keys())
async def test_its_honest_twin_is_verified(project, cheat):
    await accepted(project, cheat)


@pytest.mark.parametrize("cheat", RUNNER_CHEATS.values(), ids=RUNNER_CHEATS.keys())
async def test_a_cheat_on_pytest_is_refused(project_with_pytest, cheat):
    await refused(project_with_pytest, cheat, reuse=[".venv"])


@pytest.mark.parametrize("cheat", RUNNER_CHEATS.values(), ids=RUNNER_CHEATS.keys())
async def test_its_honest_twin_under_pytest_is_verified(project_with_pytest, cheat):
    await accepted(project_with_pytest, cheat, reuse=[".venv"])


async def test_a_daemon_that_answers_for_the_program_is_gone(project):
    await project.commit(
        {
            "server.py": "# should answer on port 18642\n",
            "smoke.py": (
                "import socket, subprocess, sys, time\nserver = subprocess.Popen([sys.executable, 'server.py'])\n"
                "for _ in range(20):\n    try:\n        socket.create_connection(('127.0.0.1', 18642), 1)\n        sys.exit(0)\n"
                "    except OSError:\n        time.sleep(0.1)\nsys.exit(1)\n"
            ),
        }
    )
    daemon = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 18642)); print('up', flush=True); time.sleep(60)"
    )
    # Alive during the whole check, as one is that an agent left running.
    async with Process(Command(argv=("python3", "-c", daemon))) as process:
        assert await anext(process.lines()) == "up"
        verdict = await project.check("python3 smoke.py")
    assert verdict.outcome is Outcome.REFUSED


async def test_a_shim_first_on_the_path_proves_nothing(project, private_home, monkeypatch):
    """Left in HOME by somebody unconfined: it answers on the base as well, where nothing is then left to reach."""
    monkeypatch.setenv("PATH", f"{private_home}/.local/bin:{os.environ['PATH']}")
    await project.bash("echo idle > idle.txt")
    assert (await project.check(SUITE)).outcome is Outcome.REFUSED
    shim = private_home / ".local" / "bin" / "python3"
    shim.parent.mkdir(parents=True)
    shim.write_text("#!/bin/sh\nexit 0\n")
    shim.chmod(0o755)
    # The baseline from before the shim must not be remembered either.
    assert (await project.check(SUITE)).outcome is Outcome.UNPROVEN


async def test_tests_that_are_put_back_while_the_checks_run_are_judged_as_they_were(project):
    await project.bash("sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py")
    original = "while sleep 0.1; do git show HEAD:tests/test_slug.py > tests/test_slug.py; done"
    restoring = Command(shell=f"sleep 1; {original}", cwd=project.root)
    async with Process(restoring, lines=False):
        verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.REFUSED
    assert "tests/test_slug.py" in verdict.restored


async def test_a_moved_tag_does_not_excuse_an_edited_test(project):
    base = await project.bash("git tag good-tests && git rev-parse HEAD")
    await project.bash(
        "sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py && git commit -qam wip && git tag -f good-tests"
    )
    verdict = await project.check("git diff --quiet good-tests -- tests", SUITE, base=base)
    assert verdict.outcome is Outcome.REFUSED


async def test_checks_run_at_the_root_of_a_working_checkout_with_head_at_the_change_and_the_bases_tags(project):
    base = await project.bash("git tag v1 && git rev-parse HEAD")
    await project.bash(MEND)
    line = f'test -z "$(git status --porcelain)" && git describe --tags --exact-match {base} && test $(git rev-parse HEAD~1) = {base}'
    verdict = await project.check(f"{line} && {SUITE}")
    assert verdict.outcome is Outcome.VERIFIED, [check.result.output_tail for check in verdict.checks if check.result]


async def test_a_filter_that_shows_something_else_than_is_stored_is_neutralised(project):
    await project.commit({"VERSION": "1.0.0\n"})
    await project.bash(
        "git config filter.fx.clean 'sed s/2.0.0/1.0.0/'; git config filter.fx.smudge 'sed s/1.0.0/2.0.0/';"
        "echo 'VERSION filter=fx' > .gitattributes; echo 1.0.0 > VERSION"
    )
    verdict = await project.check("grep -qx 2.0.0 VERSION")
    assert verdict.outcome is Outcome.REFUSED
    await project.bash("echo 2.0.0 > VERSION")
    verdict = await project.check("grep -qx 2.0.0 VERSION")
    assert {finding.path for finding in verdict.findings} == {".gitattributes"}


async def test_a_contract_that_shows_nothing_proves_nothing(project):
    await project.bash(MEND)
    verdict = await project.check("python3 -c 'import slug'", "python3 -m compileall -q slug.py")
    assert verdict.outcome is Outcome.UNPROVEN
    assert "already green on the base" in verdict.reasons[0]
