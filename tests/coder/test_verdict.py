"""The rules of a verdict, each in a scene: a small repository with a bug, a contract, and what somebody did."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from trueup.coder import CheckRequest, Outcome, Severity, Verdict, check_change
from trueup.coder._services import WithServices
from trueup.contract import CheckClass, Service
from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Finished
from trueup.core.protocols import ShellCommand
from trueup.testing import EventLog
from trueup.workspace import FolderShell

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
NEW_TEST = (
    "import unittest\nimport slug\nclass New(unittest.TestCase):\n    def test_three(self):\n"
    "        self.assertEqual(slug.slug('a b c'), 'a-b-c')\n"
)
WEAKEN = "sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py"


def kinds(verdict: Verdict, severity: Severity) -> list[str]:
    return [finding.kind for finding in verdict.findings if finding.severity is severity]


def explain(verdict: Verdict) -> str:
    tails = [result.output_tail for check in verdict.checks for result in (check.baseline, check.result) if result]
    return "\n".join([*verdict.reasons, *tails])


async def test_honest_new_tests_are_accepted_and_told(project):
    await project.bash(MEND)
    (project.root / "tests/test_new.py").write_text(NEW_TEST)
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    (finding,) = verdict.findings
    assert (finding.severity, finding.path) == (Severity.INFO, "tests/test_new.py")
    (check,) = verdict.checks
    assert check.result.counts.collected == 2
    assert check.as_it_is.counts.collected == 3


async def test_new_tests_that_are_red_refuse(project):
    await project.bash(MEND)
    (project.root / "tests/test_new.py").write_text(NEW_TEST.replace("a-b-c", "a+b+c"))
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.REFUSED
    assert "with the change's own tests and configuration" in verdict.reasons[0]


async def test_tests_that_ask_for_nothing_refuse_though_the_source_was_mended(project):
    await project.bash(f"{MEND}; sed -i 's/self.assertEqual(.*/pass/' tests/test_slug.py")
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.REFUSED
    assert kinds(verdict, Severity.GATE) == ["goes_green_without_the_change"]


async def test_what_is_editable_is_not_protected_and_what_it_alone_does_is_only_told(project):
    await project.bash(WEAKEN)
    verdict = await project.check(SUITE, editable=["tests/**"])
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert kinds(verdict, Severity.INFO) == ["goes_green_without_the_change"]
    assert "tests/test_slug.py alone" in verdict.findings[0].message
    assert verdict.restored == []


async def test_editable_tests_beside_a_mended_source_need_no_mention(project):
    await project.bash(MEND)
    (project.root / "tests/test_new.py").write_text(NEW_TEST)
    verdict = await project.check(SUITE, editable=["tests/**"])
    assert (verdict.outcome, verdict.findings) == (Outcome.VERIFIED, [])


async def test_a_guard_that_breaks_refuses(project):
    await project.bash(f"{MEND}; sed -i 's/return text.split()/return []/' slug.py")
    verdict = await project.check(
        'python3 -c \'import slug; assert slug.slug("A b") == "a-b"\'',
        'python3 -c \'import slug; assert slug.words("a b") == ["a", "b"]\'',
    )
    assert [check.check_class for check in verdict.checks] == [CheckClass.GOAL, CheckClass.GUARD]
    assert verdict.reasons == ["guard 'check_1' was green and is red: exit 1"]


async def test_without_a_goal_nothing_is_proven_unless_only_guards_were_asked_for(project):
    await project.bash("echo '# a comment' >> slug.py")
    line = 'python3 -c \'import slug; assert slug.words("a b") == ["a", "b"]\''
    assert (await project.check(line)).outcome is Outcome.UNPROVEN
    verdict = await project.check(line, guards_only=True)
    assert verdict.outcome is Outcome.VERIFIED
    assert "guards only: that something was done was not shown" in verdict.not_shown


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("python3 -S -m pytest -q", "add `setup: [pip install pytest]` or `reuse: [.venv]`"),
        ("eslint .", "install 'eslint' where the checks run"),
        (
            "python3 -m unittest discover -s nothing_here -p 'test*.py' || python3 -m unittest -q slug",
            "name the folder",
        ),
    ],
)
async def test_a_check_that_cannot_run_ends_it_before_the_change_is_looked_at(project, command, fix):
    await project.bash(MEND)
    verdict = await project.check(command, SUITE)
    assert verdict.outcome is Outcome.UNPROVEN
    assert "check 'check_0' is broken" in verdict.reasons[0]
    assert fix in verdict.reasons[0]
    assert all(check.result is None for check in verdict.checks)


async def test_a_flaky_check_is_not_counted(project):
    await project.bash(MEND)
    flaky = "[ -e /tmp/seen ] || { touch /tmp/seen; exit 1; }"
    verdict = await project.check(flaky, SUITE)
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert [check.check_class for check in verdict.checks] == [CheckClass.FLAKY, CheckClass.GOAL]
    assert verdict.checks[0].result is None
    alone = await project.check(flaky)
    assert alone.outcome is Outcome.UNPROVEN
    assert "check_0 disagree with themselves" in alone.reasons[0]


async def test_checks_run_in_order_and_see_what_earlier_ones_left(project):
    await project.bash(MEND)
    verdict = await project.check(
        "mkdir -p build && python3 -c 'import slug; print(slug.slug(\"A b\"))' > build/out && grep -q a-b build/out",
        {"command": "grep -qx a-b out", "cwd": "build"},
    )
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert not (project.root / "build").exists()


async def test_a_check_runs_in_its_own_folder(project):
    await project.commit({"packages/one/value": "wrong\n"})
    await project.bash("echo right > packages/one/value")
    verdict = await project.check(
        {"command": "test $(cat value) = right && python3 -c 'print(1)'", "cwd": "packages/one"}
    )
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)


async def test_only_a_check_that_asks_for_it_has_a_network(project):
    await project.bash(MEND)
    interfaces = 'python3 -c \'import socket, slug; {} slug.slug("A b") == "a-b" and len(socket.if_nameindex()) {}\''
    verdict = await project.check(
        {"command": interfaces.format("assert", "== 1")},
        {"command": interfaces.format("assert", f"== {len(os.listdir('/sys/class/net'))}"), "network": True},
    )
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)


async def test_a_file_that_its_check_rewrites_on_the_base_too_is_only_told(project):
    await project.commit({"tool.lock": "1\n"})
    await project.bash(MEND)
    verdict = await project.check(f"date +%s%N >> tool.lock; {SUITE}")
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert [(finding.severity, finding.kind, finding.path) for finding in verdict.findings] == [
        (Severity.INFO, "rewritten", "tool.lock")
    ]


async def test_a_file_that_another_check_rewrites_on_the_base_is_no_excuse(project):
    await project.commit({"tool.lock": "1\n"})
    await project.bash(f'{MEND}; echo \'open("tool.lock", "a").write("2")\' >> slug.py')
    verdict = await project.check(SUITE, "date +%s%N >> tool.lock")
    assert verdict.outcome is Outcome.REFUSED
    assert "while check 'check_0' ran, tool.lock was rewritten" in verdict.reasons[0]


async def test_a_configuration_that_an_earlier_check_plants_refuses(project_with_pytest):
    project = project_with_pytest
    plant = (
        "import pytest\\n@pytest.hookimpl(hookwrapper=True)\\ndef pytest_runtest_makereport(item, call):\\n"
        '    outcome = yield\\n    outcome.get_result().outcome = "passed"\\n'
    )
    await project.bash(f"echo 'open(\"conftest.py\", \"w\").write('\"'''\"'{plant}'\"'''\"')' >> slug.py")
    verdict = await project.check(
        "python3 -c 'import slug'", ".venv/bin/python -m pytest -q -p no:cacheprovider tests", reuse=[".venv"]
    )
    assert verdict.outcome is Outcome.REFUSED
    assert "while check 'check_0' ran, conftest.py was rewritten" in verdict.reasons[0]


async def test_a_runner_that_an_earlier_check_poisons_is_found_out(project_with_pytest):
    project = project_with_pytest
    poison = "import _pytest.main; _pytest.main.Session.testsfailed = property(lambda self: 0, lambda self, n: None)"
    with (project.root / "slug.py").open("a") as source:
        source.write(
            f"import glob\n[open(f'{{d}}/zz.pth', 'w').write({poison!r}) for d in glob.glob('.venv/lib/*/*')]\n"
        )
    verdict = await project.check(
        "python3 -c 'import slug'", ".venv/bin/python -m pytest -q -p no:cacheprovider tests", reuse=[".venv"]
    )
    assert verdict.outcome is Outcome.REFUSED
    assert kinds(verdict, Severity.GATE) == ["deaf", "canary"]


async def test_a_manifest_that_is_deleted_keeps_its_keys(project_with_pytest):
    project = project_with_pytest
    strict = '[project]\nname = "slug"\nversion = "1"\n[tool.pytest.ini_options]\naddopts = "-W error"\n'
    await project.commit({"pyproject.toml": strict})
    await project.bash("git rm -q pyproject.toml; sed -i '1i import warnings\\nwarnings.warn(\"old\")' slug.py")
    await project.bash(MEND)
    verdict = await project.check(".venv/bin/python -m pytest -q -p no:cacheprovider tests", reuse=[".venv"])
    assert verdict.outcome is Outcome.REFUSED
    assert "protected_key" in kinds(verdict, Severity.FLAG)
    assert "what is in .venv: copied as it was found, and not set up anew" in verdict.not_shown


async def test_a_check_that_is_green_over_failed_tests_is_refused(project):
    await project.bash("echo '# mended' >> slug.py")
    verdict = await project.check(f"{SUITE}; grep -q mended slug.py")
    assert verdict.outcome is Outcome.REFUSED
    found = {finding.kind: finding.severity for finding in verdict.findings}
    assert found == {"test_counts": Severity.FLAG, "deaf": Severity.GATE}


async def test_a_link_in_place_of_a_manifest_is_not_followed(project_with_pytest):
    project = project_with_pytest
    await project.commit({"pyproject.toml": '[project]\nname = "slug"\nversion = "1"\n'})
    (project.root / "a=1").write_text('[tool.pytest.ini_options]\naddopts = "-k words"\n')
    await project.bash("ln -sf a=1 pyproject.toml")
    verdict = await project.check(".venv/bin/python -m pytest -q -p no:cacheprovider tests", reuse=[".venv"])
    assert verdict.outcome is Outcome.REFUSED


async def test_a_verdict_is_bound_to_what_it_rests_on(project):
    await project.bash(MEND)
    verdict = await project.check(SUITE, setup=["mkdir .deps"])
    base = await project.bash("git rev-parse HEAD")
    tree = await project.bash("git add -A && git write-tree")
    assert (verdict.base, verdict.tree) == (base, tree)
    assert len(verdict.contract_digest) == 64
    assert len(verdict.dependencies) == 32
    assert verdict.sandbox in {"bubblewrap", "unshare", "bubblewrap, copied", "unshare, copied"}
    other = await project.check(SUITE, setup=["mkdir .deps2"])
    assert other.contract_digest != verdict.contract_digest
    assert other.dependencies != verdict.dependencies
    await project.bash("git checkout -q -f HEAD")
    unproven = await project.check("python3 -c 'import slug'", setup=["mkdir .deps"])
    assert (unproven.outcome, unproven.dependencies) == (Outcome.UNPROVEN, verdict.dependencies)


async def test_a_python_project_with_an_editable_install_imports_the_change(project):
    await project.bash("git rm -q -r . && rm -rf *")
    await project.commit(
        {
            "pyproject.toml": '[project]\nname = "greeting"\nversion = "1"\n',
            "src/greeting/__init__.py": "def hello():\n    return 'wrong'\n",
            "tests/test_hello.py": (
                "import unittest\nimport greeting\nclass T(unittest.TestCase):\n    def test_hello(self):\n"
                "        self.assertEqual(greeting.hello(), 'right')\n"
            ),
            ".gitignore": ".venv/\n__pycache__/\n",
        }
    )
    # As `pip install -e .` leaves it, which needs a build backend that may not be here.
    setup = [
        "python3 -m venv --without-pip .venv",
        'for place in .venv/lib/python*/site-packages; do echo "$PWD/src" > $place/__editable__.greeting-1.pth; done',
    ]
    check = "cd tests && ../.venv/bin/python -m unittest -q test_hello"
    await project.bash("sed -i s/wrong/right/ src/greeting/__init__.py")
    verdict = await project.check(check, setup=setup)
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    await project.bash(
        "git stash -q; git checkout -q -b other; echo '# no' >> src/greeting/__init__.py; git commit -qam no"
    )
    await project.bash("git checkout -q main; git stash pop -q")
    verdict = await project.check(check, setup=setup, rev="other")
    assert verdict.outcome is Outcome.REFUSED


async def test_without_a_sandbox_an_editable_install_of_the_users_proves_nothing(project):
    await project.bash("python3 -m venv --without-pip .venv")
    (place,) = project.root.glob(".venv/lib/python*/site-packages")
    (place / "__editable__.slug-1.pth").write_text(f"{project.root}\n")
    await project.bash("echo '# a comment' >> slug.py")
    check = 'cd tests && ../.venv/bin/python -c \'import slug; assert slug.words("a b") == ["a", "b"]\''
    confined = await project.check(check, reuse=[".venv"], guards_only=True)
    assert confined.outcome is Outcome.VERIFIED, explain(confined)
    unconfined = await project.check(check, reuse=[".venv"], guards_only=True, sandboxed=False)
    assert unconfined.outcome is Outcome.UNPROVEN
    assert "leads to an editable install outside of the tree" in unconfined.reasons[0]
    assert unconfined.sandbox == "none, copied"
    assert any("without a sandbox" in each for each in unconfined.not_shown)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_a_node_project_with_installed_packages(project):
    await project.bash("git rm -q -r . && rm -rf *")
    manifest = {"name": "app", "version": "1.0.0", "type": "module", "dependencies": {"joiner": "file:vendored/joiner"}}
    await project.commit(
        {
            "package.json": json.dumps(manifest),
            "vendored/joiner/package.json": json.dumps({"name": "joiner", "version": "1.0.0", "main": "index.js"}),
            "vendored/joiner/index.js": "module.exports = (words) => words.join('-');\n",
            "app.js": "import joiner from 'joiner';\nexport const slug = (text) => joiner([text]);\n",
            "app.test.js": (
                "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { slug } from './app.js';\n"
                "test('slug', () => assert.equal(slug('a b'), 'a-b'));\n"
            ),
            ".gitignore": "node_modules/\n",
        }
    )
    await project.bash("sed -i \"s/joiner(\\[text\\])/joiner(text.split(' '))/\" app.js")
    setup = ["npm install --offline --no-audit --no-fund --no-package-lock"]
    verdict = await project.check("node --test", setup=setup)
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    broken = await project.check("node --test")
    assert "the declared dependency 'joiner' is not installed" in broken.reasons[0]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
async def test_a_make_project_with_a_build_step(project):
    await project.bash("git rm -q -r . && rm -rf *")
    await project.commit(
        {
            "Makefile": "CC = gcc\nall: answer\nanswer: answer.o lib.o\n\t$(CC) -o $@ $^\ntest: answer\n\t./answer | grep -qx 42\n",
            "answer.c": '#include <stdio.h>\nint lib(void);\nint main(void) { printf("%d\\n", lib()); }\n',
            "lib.c": "int lib(void) { return 41; }\n",
            ".gitignore": "*.o\nanswer\n",
        }
    )
    await project.bash("sed -i s/41/42/ lib.c")
    verdict = await project.check("make -s test", setup=["make -s all"])
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)


async def test_a_setup_that_fails_on_the_base_is_told(project):
    with pytest.raises(InputError, match=r"setup `echo no network >&2; exit 7` failed \(exit 7\):\nno network"):
        await project.check(SUITE, setup=["echo no network >&2; exit 7"])


async def test_a_change_of_what_setup_reads_is_set_up_anew_and_flagged(project):
    await project.commit({"requirements.txt": "one\n", ".gitignore": "__pycache__/\n.deps/\n"})
    await project.bash(f"{MEND}; echo two > requirements.txt")
    setup = ["mkdir -p .deps && cp requirements.txt .deps/installed"]
    installed = 'python3 -c \'import slug; assert slug.slug("A b") == "a-b"\' && grep -qx two .deps/installed'
    verdict = await project.check(installed, setup=setup)
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert [(finding.severity, finding.kind, finding.path) for finding in verdict.findings] == [
        (Severity.FLAG, "dependency_changed", "requirements.txt")
    ]
    await project.bash("git checkout -q requirements.txt")
    verdict = await project.check(installed, setup=setup)
    assert verdict.outcome is Outcome.REFUSED


async def test_a_change_with_which_nothing_can_be_set_up_is_refused(project):
    await project.commit({"requirements.txt": "one\n", "tool.lock": "one\n"})
    await project.bash(f"{MEND}; echo two > requirements.txt; echo two > tool.lock")
    setup = ["diff requirements.txt tool.lock"]
    verdict = await project.check(SUITE, setup=setup)
    assert verdict.outcome is Outcome.REFUSED
    assert "dependencies cannot be set up with the change: setup `diff" in verdict.reasons[0]
    assert "tool.lock of the base was used; `editable` lets a change have its own" in verdict.reasons[0]
    verdict = await project.check(SUITE, setup=setup, editable=["tool.lock"])
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)


async def test_a_setup_that_plants_a_configuration_for_the_change_refuses(project_with_pytest):
    project = project_with_pytest
    await project.commit({"requirements.txt": "one\n"})
    await project.bash("echo two > requirements.txt")
    setup = ["! grep -q two requirements.txt || echo 'collect_ignore = [\"x\"]' > conftest.py"]
    await project.bash(MEND)
    check = ".venv/bin/python -m pytest -q -p no:cacheprovider tests"
    verdict = await project.check(check, setup=setup, reuse=[".venv"])
    assert verdict.outcome is Outcome.REFUSED
    assert "conftest.py was written by the setup of the change" in verdict.reasons[0]


SERVER = (
    "import http.server, slug\n"
    "class Answer(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n"
    "        self.wfile.write(slug.slug('A b').encode())\n"
    "print('listening')\n"
    "http.server.HTTPServer(('127.0.0.1', 18643), Answer).serve_forever()\n"
)
GET = "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:18643\").read().decode())'"


async def check_beside(services: list[dict], project, *commands: str | dict) -> Verdict:
    contract = project.outside / "with_services.json"
    checks = [
        {"name": f"check_{number}", **(each if isinstance(each, dict) else {"command": each})}
        for number, each in enumerate(commands)
    ]
    contract.write_text(json.dumps({"description": "it answers", "checks": checks, "services": services}))
    return await check_change(CheckRequest(folder=project.root, contract_file=contract), EventLog())


async def test_services_run_beside_every_check_and_end_with_it(project):
    await project.commit({"server.py": SERVER, "sub/keep": ""})
    await project.bash(MEND)
    service = {"command": "python3 server.py", "ready": GET}
    verdict = await check_beside(
        [service],
        project,
        f"{GET} | grep -qx a-b",
        {"command": f'{GET} | grep -qx a-b && echo "it\'s done"', "cwd": "sub", "output_contains": "it's done"},
    )
    assert verdict.outcome is Outcome.VERIFIED, explain(verdict)
    assert verdict.checks[1].result.output_tail == "it's done\n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "echo no database here; exit 3",
            "`echo no database here; exit 3` ended with exit 3; its last output: no database here",
        ),
        ("nosuchserver --port 1", "ended with exit 127"),
    ],
)
async def test_a_service_that_does_not_start_means_that_the_check_could_not_run(project, command, why):
    verdict = await check_beside([{"command": command, "ready": "false"}], project, SUITE)
    assert verdict.outcome is Outcome.UNPROVEN
    assert why in verdict.reasons[0]
    assert verdict.checks[0].baseline.exit_code is None


async def test_a_service_that_the_change_breaks_refuses(project):
    await project.commit({"server.py": SERVER})
    await project.bash(f"{MEND}; sed -i '1i raise SystemExit(\"out of order\")' slug.py")
    verdict = await check_beside([{"command": "python3 server.py", "ready": GET}], project, f"{GET} | grep -qx a-b")
    assert verdict.outcome is Outcome.REFUSED
    assert "out of order" in verdict.reasons[0]
    assert verdict.checks[0].result.exit_code is None


@pytest.fixture
def beside(tmp_path):
    """Run a line beside services, without a sandbox."""

    async def run(line: str, *services: tuple[str, str], ready_secs: int = 30, **command) -> Finished:
        wanted = [Service(command=command, ready=ready) for command, ready in services]
        shell = WithServices(FolderShell(tmp_path), wanted, ready_secs)
        return await shell.run(ShellCommand(line=line, **{"timeout_secs": 20, **command}))

    return run


async def test_a_service_may_put_itself_into_the_background(beside):
    finished = await beside("cat up", ("(sleep 0.4; echo up > up) & ", "test -e up"))
    assert (finished.exit_code, finished.stdout.text) == (0, "up\n")


@pytest.mark.parametrize("ready", ["false", "sleep 60"], ids=["never ready", "hangs"])
async def test_a_service_that_is_never_ready_is_named_with_its_last_output(beside, ready):
    service = "echo 'it is \"starting\"'; sleep 60"
    with pytest.raises(InfrastructureError) as raised:
        await beside("echo never", ("sleep 60", "true"), (service, ready), ready_secs=2)
    assert str(raised.value) == f'the service `{service}` was not ready after 2 s; its last output:\nit is "starting"'


async def test_a_check_beside_services_ends_as_it_would_alone(beside):
    service = ("sleep 60", "true")
    assert (await beside("echo hello; exit 113", service)).exit_code == 113
    assert (await beside("kill -9 $$", service)).signal == 9
    assert (await beside("sleep 60", service, timeout_secs=0.2, ready_secs=2)).timed_out
    assert (await beside("false | true", service)).exit_code == 1
    assert (await beside("true", service, cwd="no/such/folder")).exit_code == 1
    assert (await beside("echo found", service, find="found")).found


async def test_nothing_of_a_service_is_left_behind(beside, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    await beside("true", ("echo noise; sleep 4712", "true"))
    assert list(tmp_path.iterdir()) == []
    finished = await beside("ps -eo args | grep -c '[s]leep 4712'")
    assert finished.stdout.text == "0\n"


async def test_half_a_character_in_a_manifest_is_no_way_to_stop_a_verdict(project):
    await project.commit({"package.json": '{"name": "slug", "scripts": {"test": "true"}}\n'})
    (project.root / "package.json").write_text('{"name": "\\ud800", "scripts": {"test": "false"}}\n')
    await project.bash(MEND)
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.VERIFIED, verdict.reasons
    assert [finding.kind for finding in verdict.findings] == ["protected_key"]


# Checks that listen to some of their tests only


async def test_an_answer_that_equals_every_number_is_found_beside_tests_that_listen(project):
    text = (
        "class Any(str):\n    def __eq__(self, other):\n        return isinstance(other, str) and len(other) > 3\n"
        "    __hash__ = str.__hash__\n\n\ndef slug(text):\n    return Any(text)\n\n\n"
        "def words(text):\n    return text.split()\n"
    )
    (project.root / "slug.py").write_text(text)
    verdict = await project.check(SUITE)
    deaf = [finding for finding in verdict.findings if finding.kind == "deaf"]
    assert [finding.severity for finding in deaf] == [Severity.FLAG]


@pytest.mark.parametrize(
    "line",
    [
        "self.assertEqual(slug.slug('A B'), 'a-b', 'joined by 1 dash')",
        "self.assertEqual(slug.slug('A B'), 'a-b')  # 1 dash",
    ],
    ids=["message", "comment"],
)
async def test_messages_and_comments_of_tests_are_no_expectations(project, line):
    suite = (project.root / "tests" / "test_slug.py").read_text()
    await project.commit(
        {"tests/test_slug.py": suite.replace("self.assertEqual(slug.slug('A Nice Title'), 'a-nice-title')", line)}
    )
    await project.bash(MEND)
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.VERIFIED, verdict.reasons


@pytest.mark.parametrize("how", ["a file of their own", "at the end"])
async def test_new_tests_need_nobody_to_look_at_them(project, how):
    more = (
        "\n\nclass More(unittest.TestCase):\n    def test_more(self):\n        self.assertEqual(slug.slug('A'), 'a')\n"
    )
    if how == "at the end":
        with (project.root / "tests" / "test_slug.py").open("a") as file:
            file.write(more)
    else:
        (project.root / "tests" / "test_more.py").write_text(f"import unittest\n\nimport slug\n{more}")
    await project.bash(MEND)
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.VERIFIED
    assert {finding.severity for finding in verdict.findings} == {Severity.INFO}


async def test_a_refusal_names_what_was_tried(project):
    await project.bash("sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py")
    verdict = await project.check(SUITE)
    assert verdict.outcome is Outcome.REFUSED
    assert any("tests/test_slug.py" in reason for reason in verdict.reasons)
