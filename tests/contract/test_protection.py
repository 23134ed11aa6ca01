"""Which paths a change must not touch, because they decide whether it is right."""

from __future__ import annotations

import pytest

from trueup.contract import Check, Contract, Service
from trueup.contract._protection import Protection, is_setup_input

PRODUCT = ["calc.py", "cli.py", "server.py", "make_report.py", "VERSION", "src/pkg/__init__.py", "src/pkg/core.py"]


def contract(*commands: str, cwd: str = ".", **more) -> Contract:
    checks = [Check(name=f"check{number}", command=command, cwd=cwd) for number, command in enumerate(commands)]
    return Contract(description="d", checks=checks, **more)


def protection(*commands: str, paths: list[str] = (), files: dict[str, str] | None = None, **more) -> Protection:
    files = files or {}
    return Protection.of(contract(*commands, **more), [*PRODUCT, *paths, *files], files.get)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/test_calc.py", "test file"),
        ("pkg/deep/test_new.py", "test file"),
        ("pkg/calc_test.go", "test file"),
        ("web/src/button.test.tsx", "test file"),
        ("web/src/button.spec.js", "test file"),
        ("web/__tests__/button.js", "test file"),
        ("app/src/test/java/com/x/CalcTest.java", "test file"),
        ("Tests/CalcTests/CalcTests.swift", "test file"),
        ("pkg/testdata/in.json", "test file"),
        ("pkg/fixtures/in.json", "test file"),
        ("web/__snapshots__/a.snap", "test file"),
        ("goldens/out.txt", "test file"),
        ("tests", "test file"),
        ("tests/fixtures/package.json", "test file"),
        ("conftest.py", "runner configuration"),
        ("src/pkg/conftest.py", "runner configuration"),
        ("pytest.ini", "runner configuration"),
        ("tox.ini", "runner configuration"),
        (".coveragerc", "runner configuration"),
        ("web/jest.config.ts", "runner configuration"),
        ("vitest.setup.mjs", "runner configuration"),
        ("phpunit.xml.dist", "runner configuration"),
        ("ruff.toml", "lint configuration"),
        (".flake8", "lint configuration"),
        ("lint.cfg", "lint configuration"),
        (".eslintrc.json", "lint configuration"),
        ("eslint.config.mjs", "lint configuration"),
        (".prettierrc.yaml", "lint configuration"),
        ("packages/a/tsconfig.build.json", "lint configuration"),
        (".golangci.yml", "lint configuration"),
        (".pre-commit-config.yaml", "lint configuration"),
        ("src/sitecustomize.py", "start-up file of an interpreter or package manager"),
        ("sitecustomize/__init__.py", "start-up file of an interpreter or package manager"),
        ("deep/down/evil.pth", "start-up file of an interpreter or package manager"),
        (".npmrc", "start-up file of an interpreter or package manager"),
        (".cargo/config.toml", "start-up file of an interpreter or package manager"),
        ("Makefile", "build script"),
        ("sub/makefile", "build script"),
        ("rules.mk", "build script"),
        ("crates/a/build.rs", "build script"),
        ("app/build.gradle.kts", "build script"),
        ("setup.py", "build script"),
        ("Dockerfile.dev", "build script"),
        (".github/workflows/ci.yml", "CI workflow"),
        ("uv.lock", "lock file"),
        ("web/package-lock.json", "lock file"),
        ("go.sum", "lock file"),
        (".venv/lib/python3.11/x.py", "installed or compiled code, which stands in for its source"),
        ("pkg/__pycache__/calc.cpython-311.pyc", "installed or compiled code, which stands in for its source"),
        (".gitmodules", "git's own configuration"),
        ("trueup.yaml", "trueup's own configuration"),
        (".trueup/checks.yaml", "trueup's own configuration"),
    ],
)
def test_what_decides_a_verdict_is_known_by_its_name_even_where_it_is_new(path, reason):
    assert str(protection().covers(path)) == reason


@pytest.mark.parametrize(
    "path",
    [
        *PRODUCT,
        *"README.md docs/testing.md .gitignore .gitattributes .editorconfig .node-version requirements.txt pyproject.toml".split(),
        *"package.json src/contest.py src/latest.ts src/avatar.ts src/tapestry.js src/workspace.py splinter.js".split(),
        *"src/org/gradle/api.java app/tasks.py pkg/testing/parts.py pkg/attest.go src/inspect/spectrum.ts".split(),
    ],
)
def test_the_product_is_free(path):
    assert protection().covers(path) is None


@pytest.mark.parametrize(
    ("command", "standard"),
    [
        ("python3 check.py", "check.py"),
        ("python3 -W error -u check.py --all", "check.py"),
        ("python3 lint.py", "lint.py"),
        ("python3 smoke.py", "smoke.py"),
        ("bash -e scripts/verify.sh", "scripts/verify.sh"),
        ("bash scripts/everything.sh", "scripts/everything.sh"),
        ("./tools/run", "tools/run"),
        ("cd sub && ./check", "sub/check"),
        ("(cd sub; true); ./check", "check"),
        ("timeout 60 env X=1 python3 check.py | tail -1", "check.py"),
        ("bash -c 'python3 check.py && true'", "check.py"),
        ("python3 -m checks", "checks.py"),
        ("python3 -m tools.quality", "tools/quality/__main__.py"),
        ("python3 -m tools.quality", "tools/quality/a_new_rule.py"),
        ("node --import ./scripts/hooks.mjs app.js", "scripts/hooks.mjs"),
        ("pytest acceptance.py::case", "acceptance.py"),
        ("python3 -m unittest suite.Case.test_a", "suite.py"),
        ("mypy --strict --settings=quality.conf src", "quality.conf"),
        ("ruff check --config quality.conf src", "quality.conf"),
        ("python3 cli.py 3 | diff - expected.txt", "expected.txt"),
        ("python3 cli.py < golden-input.txt", "golden-input.txt"),
        ('python3 check.py "an unfinished quote', "check.py"),
    ],
)
def test_a_file_that_a_command_names_as_its_standard_is_protected(command, standard):
    paths = [standard.replace("a_new_rule", "__main__")]
    assert str(protection(command, paths=paths).covers(standard)) == "named in check 'check0'"


@pytest.mark.parametrize(
    ("command", "product"),
    [
        ("python3 make_report.py", "make_report.py"),
        ("python3 cli.py 3", "cli.py"),
        ('python3 -c "import cli"', "cli.py"),
        ("python3 server.py & sleep 1", "server.py"),
        ("grep -qx 2.0.0 VERSION", "VERSION"),
        ("cat out.txt", "out.txt"),
        ("test -f check.txt", "check.txt"),
        ("python3 check.py calc.py", "calc.py"),
        ("ruff check calc.py", "calc.py"),
        ("pytest --doctest-modules calc.py", "calc.py"),
        ("python3 -m doctest calc.py", "calc.py"),
        ("python3 -m src.pkg", "src/pkg/core.py"),
        ("python3 cli.py > check.out", "check.out"),
        ("./run.sh", "run.sh"),
        ("true # python3 check.py", "check.py"),
        ("cargo run", "src/main.rs"),
    ],
)
def test_a_file_that_a_command_merely_uses_may_change(command, product):
    assert protection(command, paths=[product]).covers(product) is None


def test_names_are_looked_up_in_the_folder_of_the_check():
    judged = protection("python3 check.py", paths=["check.py", "pkg/check.py"], cwd="pkg")
    assert judged.covers("pkg/check.py") is not None
    assert judged.covers("check.py") is None


def test_a_script_that_setup_runs_is_a_build_script_whatever_its_name():
    judged = protection("true", setup=["bash bootstrap.sh"], paths=["bootstrap.sh"])
    assert str(judged.covers("bootstrap.sh")) == "named in setup"


def test_a_service_is_the_product_and_its_probe_is_a_standard():
    service = Service(command="python3 server.py", ready="bash check-ready.sh")
    judged = protection("true", services=[service], paths=["check-ready.sh"])
    assert judged.covers("server.py") is None
    assert str(judged.covers("check-ready.sh")) == "named in a service"


def test_a_standard_that_package_json_starts_is_protected():
    files = {"package.json": '{"scripts": {"pretest": "node verify.js", "test": "node app.js"}}'}
    judged = protection("npm test", files=files, paths=["verify.js", "app.js"])
    assert str(judged.covers("verify.js")) == "named in check 'check0' through package.json"
    assert judged.covers("app.js") is None


def test_a_standard_that_a_makefile_and_a_script_start_is_protected():
    files = {"Makefile": "test:\n\t@bash ./verify.sh\n", "verify.sh": "set -e\npython3 sanity.py\n"}
    judged = protection("make test", files=files, paths=["sanity.py"])
    assert str(judged.covers("sanity.py")) == "named in check 'check0' through verify.sh"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("include config.inc", "config.inc"),
        ("-include local.config", "local.config"),
        ("sinclude .env", ".env"),
        ("SETTINGS = my.settings\ninclude $(SETTINGS)", "my.settings"),
        ("include config.inc", "deeper.inc"),
    ],
)
def test_what_a_makefile_includes_is_protected_even_where_it_is_not_there_yet(line, path):
    files = {"Makefile": f"{line}\ntest:\n\tpython3 cli.py\n", "config.inc": "include deeper.inc\n"}
    judged = protection("make test", files=files)
    assert "included in check 'check0' through" in str(judged.covers(path))
    assert judged.covers("cli.py") is None


MAKEFILE = "OUT = test_calc\ncheck: $(OUT)\n\t./$(OUT)\n$(OUT): calc.c\n\tgcc -o $@ $^\nreport:\n\ttouch $@\n"


@pytest.mark.parametrize("path", ["check", "test_calc"])
def test_a_file_in_place_of_what_make_makes_for_the_check_is_protected(path):
    assert str(protection("make check", files={"Makefile": MAKEFILE}).covers(path)).startswith("made in check")


def test_what_make_makes_for_others_or_has_already_or_never_makes_is_free():
    judged = protection("make check", files={"Makefile": MAKEFILE + ".PHONY: check\n"}, paths=["calc.c"])
    assert [judged.covers(path) for path in ("report", "calc.c", "check")] == [None, None, None]
    assert protection("make check", files={"Makefile": MAKEFILE}, paths=["test_calc"]).covers("test_calc") is None


@pytest.mark.parametrize("setting", ["settings.env", ".env", "defaults"])
def test_what_a_script_reads_for_its_variables_is_protected(setting):
    files = {"scripts/test.sh": f". ./{setting}\n$PY -m unittest\n", "defaults": "# ours\nexport PY=python3\n"}
    assert protection("bash scripts/test.sh", files=files).covers(setting)


def test_what_a_script_reads_for_its_functions_is_the_product():
    files = {"tests/run.sh": ". ./slug.sh\n", "slug.sh": "SEPARATOR=-\nslug() { tr ' ' \"$SEPARATOR\"; }\n"}
    assert protection("sh tests/run.sh", files=files).covers("slug.sh") is None


def test_an_environment_file_that_a_command_names_is_protected():
    assert protection("uv run --env-file ci.env pytest").covers("ci.env")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("run_all.py", 'import sys\nimport calc\nif calc.add(2, 3) != 5:\n    sys.exit("add")\n'),
        ("run_all.py", "from calc import add\nassert add(2, 3) == 5\n"),
        ("run_all.py", "import sys\nimport calc\nsys.exit(calc.add(2, 3) != 5)\n"),
        (
            "all.js",
            "const assert = require('assert');\nconst c = require('./calc.js');\nassert.equal(c.add(2, 3), 5);\n",
        ),
        ("all.sh", '[ "$(python3 cli.py 2 3)" = 5 ] || { echo no; exit 1; }\n'),
    ],
)
def test_a_script_that_fails_where_the_product_is_wrong_is_a_standard_whatever_its_name(path, text):
    runs = {"py": "python3", "js": "node", "sh": "bash"}[path.rpartition(".")[2]]
    assert protection(f"{runs} {path}", files={path: text}).covers(path)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app.py", 'import sys\nimport calc\nif len(sys.argv) != 2:\n    sys.exit("usage")\nprint(calc.add(2, 3))\n'),
        ("app.py", "import sys\nassert sys.version_info >= (3, 11)\n"),
        (
            "app.js",
            "const c = require('./calc.js');\nif (!process.argv[2]) process.exit(1);\nconsole.log(c.add(2, 3));\n",
        ),
        ("app.sh", '[ -n "$1" ] || exit 1\npython3 cli.py "$1"\n'),
    ],
)
def test_a_program_that_fails_where_it_is_used_wrongly_is_the_product(path, text):
    runs = {"py": "python3", "js": "node", "sh": "bash"}[path.rpartition(".")[2]]
    assert protection(f"{runs} {path} 3", files={path: text}).covers(path) is None


def test_a_script_that_the_task_is_about_is_the_product():
    files = {"run_all.py": "from calc import add\nassert add(2, 3) == 5\n"}
    task = Contract(description="Fix run_all.py", checks=[Check(name="a", command="python3 run_all.py")])
    assert Protection.of(task, [*PRODUCT, *files], files.get).covers("run_all.py") is None


def test_a_new_module_beside_a_script_is_found_before_pythons_own():
    judged = protection("python3 scripts/check.py", paths=["scripts/check.py"])
    assert "in place of Python's `json`" in str(judged.covers("scripts/json.py"))
    assert judged.covers("scripts/report.py") is None
    assert protection("pytest", paths=["scripts/check.py"]).covers("scripts/json.py") is None


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("calc.py", "calc.py"),
        ("*.sql", "db/migrations/1.sql"),
        ("src/**/*.py", "src/pkg/core.py"),
        ("src/**/*.py", "src/core.py"),
        ("src/pkg", "src/pkg/new/file.txt"),
        ("pkg/", "src/pkg/core.py"),
        ("**/core.py", "src/pkg/core.py"),
        ("src/p?g/c[a-o]re.{py,pyi}", "src/pkg/core.py"),
        ("/VERSION", "VERSION"),
    ],
)
def test_the_contract_adds_paths_by_pattern(pattern, path):
    assert str(protection(protect=[pattern]).covers(path)) == "named by `protect`"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("/VERSION", "sub/VERSION"), ("src/*.py", "src/pkg/core.py"), ("calc.py/", "calc.py"), ("Calc.py", "calc.py")],
)
def test_a_pattern_reaches_no_further_than_it_says(pattern, path):
    assert protection(protect=[pattern]).covers(path) is None


def test_editable_wins_over_everything():
    judged = protection("python3 check.py", paths=["check.py"], protect=["tests"], editable=["tests/unit/", "check.py"])
    assert judged.covers("tests/unit/test_a.py") is None
    assert judged.covers("check.py") is None
    assert judged.covers("tests/test_a.py") is not None


def test_a_manifest_is_protected_by_key_unless_the_contract_says_otherwise():
    assert protection().by_key("packages/a/package.json")
    assert not protection().by_key("calc.py")
    assert not protection(editable=["pyproject.toml"]).by_key("pyproject.toml")
    assert not protection(protect=["pyproject.toml"]).by_key("pyproject.toml")
    assert not protection().by_key("tests/fixtures/pyproject.toml")
    assert protection("mypy --config-file setup.cfg", paths=["setup.cfg"]).by_key("setup.cfg")


@pytest.mark.parametrize("path", ["unittest.py", "unittest/__init__.py", "src/random.py", "lib2/pytest.py"])
def test_a_new_module_in_place_of_pythons_own_is_protected(path):
    judged = protection("PYTHONPATH=lib2 python3 -m unittest")
    assert "in place of Python's" in str(judged.covers(path))


def test_a_module_that_has_such_a_name_already_or_lies_in_a_package_is_the_product():
    judged = protection("pytest", paths=["queue.py"])
    assert judged.covers("queue.py") is None
    assert judged.covers("src/pkg/types.py") is None
    assert judged.covers("logging/notes.md") is None


@pytest.mark.parametrize("path", ["pyproject.toml", "web/package-lock.json", "requirements-dev.txt", "my.deps"])
def test_manifests_and_lock_files_decide_what_is_installed(path):
    assert is_setup_input(path, contract(setup_inputs=["my.deps"]))


def test_a_source_file_does_not_decide_what_is_installed():
    assert not is_setup_input("src/pkg/core.py", contract())


@pytest.mark.parametrize(
    "path", ["qa/check/__main__.py", "qa/check.cpython-311.so", "qa/__init__.py", "test_calc/__init__.py"]
)
def test_new_python_that_would_be_found_before_a_standard_is_protected(path):
    guarded = protection("python3 qa/check.py", paths=["qa/check.py", "test_calc.py"])
    assert guarded.covers(path)


def test_new_python_beside_the_product_is_free():
    assert protection("python3 -m unittest", paths=["tests/test_a.py"]).covers("src/pkg/new/__init__.py") is None
