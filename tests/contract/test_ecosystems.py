"""Each family of tools is known by its own files, and proposes the commands that its people would type."""

from __future__ import annotations

import json

import pytest

from projects import checks, commands, scripts, write
from trueup.contract._offline import derive_offline

UNITTEST = "import unittest\n\n\nclass Adding(unittest.TestCase):\n    def test_sum(self): ...\n"


# Python


def test_a_stdlib_project_needs_no_setup(tmp_path):
    write(tmp_path, {"calc.py": "", "test_calc.py": UNITTEST})
    contract = derive_offline(tmp_path).contract
    assert (contract.setup, contract.checks[0].command) == ([], "python3 -m unittest discover")


def test_unittest_starts_in_a_test_folder_that_is_no_package(tmp_path):
    write(tmp_path, {"calc.py": "", "tests/test_calc.py": UNITTEST})
    assert commands(derive_offline(tmp_path)) == ["python3 -m unittest discover -s tests"]


def test_unittest_finds_the_code_in_src(tmp_path):
    write(tmp_path, {"src/calc.py": "", "tests/__init__.py": "", "tests/test_calc.py": UNITTEST})
    assert commands(derive_offline(tmp_path)) == ["PYTHONPATH=src python3 -m unittest discover"]


@pytest.mark.parametrize(
    "sign",
    [
        {"pytest.ini": "[pytest]\n"},
        {"setup.cfg": "[tool:pytest]\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        {"requirements-dev.txt": "PyTest>=8  # tests\n", "setup.py": ""},
        {"conftest.py": ""},
        {"tests/unit/test_a.py": "def test_a():\n    assert True\n"},
        {"tests/test_a.py": "import pytest\n"},
    ],
)
def test_pytest_is_seen_by_what_it_leaves_behind(tmp_path, sign):
    write(tmp_path, sign)
    assert commands(derive_offline(tmp_path)) == [".venv/bin/python -m pytest"]


@pytest.mark.parametrize(
    ("lock", "setup", "run"),
    [
        ("uv.lock", "uv sync --frozen", "uv run --no-sync pytest"),
        ("poetry.lock", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install", "poetry run pytest"),
        ("pdm.lock", "pdm sync", "pdm run pytest"),
        ("Pipfile.lock", "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev", "pipenv run pytest"),
    ],
)
def test_the_lock_file_chooses_the_manager(tmp_path, lock, setup, run):
    manifest = '[project]\nname = "x"\ndependencies = ["pytest"]\n'
    contract = derive_offline(write(tmp_path, {"pyproject.toml": manifest, lock: ""})).contract
    assert (contract.setup, contract.checks[-1].command) == ([setup], run)
    assert contract.setup_inputs == ["pyproject.toml", lock]


def test_uv_installs_the_groups_and_extras_with_the_tests(tmp_path):
    manifest = (
        '[project]\nname = "x"\n[project.optional-dependencies]\ntest = ["pytest"]\ngpu = ["torch"]\n'
        '[dependency-groups]\ndev = ["tox"]\nqa = ["ruff"]\ndocs = ["sphinx"]\n'
    )
    contract = derive_offline(write(tmp_path, {"pyproject.toml": manifest, "uv.lock": ""})).contract
    assert contract.setup == ["uv sync --frozen --extra test --group qa"]


def test_without_a_lock_file_pip_fills_a_venv(tmp_path):
    manifest = '[project]\nname = "x"\n[project.optional-dependencies]\ntests = ["pytest"]\ndocs = ["sphinx"]\n'
    write(tmp_path, {"pyproject.toml": manifest, "requirements.txt": "requests\n"})
    contract = derive_offline(tmp_path).contract
    assert contract.setup == [
        "python3 -m venv .venv",
        ".venv/bin/python -m pip install -r requirements.txt -e '.[tests]'",
    ]
    assert contract.setup_inputs == ["pyproject.toml", "requirements.txt"]


def test_a_runner_that_nobody_declared_is_installed_too(tmp_path):
    write(tmp_path, {"requirements.txt": "requests\n", "pytest.ini": ""})
    contract = derive_offline(tmp_path).contract
    assert contract.setup[-1] == ".venv/bin/python -m pip install pytest"


def test_extras_of_an_old_setup_script_are_seen(tmp_path):
    script = "setup(name='x', extras_require={'dev': ['pytest'], 'docs': []})"
    contract = derive_offline(write(tmp_path, {"setup.py": script})).contract
    assert contract.setup[-1] == ".venv/bin/python -m pip install -e '.[dev]'"


def test_dependency_groups_are_installed_by_a_new_pip(tmp_path):
    manifest = '[project]\nname = "x"\n[dependency-groups]\ntest = ["pytest"]\n'
    contract = derive_offline(write(tmp_path, {"pyproject.toml": manifest})).contract
    assert contract.setup[1:] == [
        ".venv/bin/python -m pip install --upgrade pip",
        ".venv/bin/python -m pip install --group test -e .",
    ]


def test_tox_makes_its_environments_in_setup(tmp_path):
    write(tmp_path, {"tox.ini": "[tox]\nenvlist = py311, py312\n[testenv]\ndeps = pytest\ncommands = pytest\n"})
    contract = derive_offline(tmp_path).contract
    assert contract.setup[-1] == ".venv/bin/python -m tox -e py --notest"
    assert contract.checks[0].command == ".venv/bin/python -m tox -e py"


def test_nox_makes_its_environments_in_setup(tmp_path):
    noxfile = "import nox\n\n@nox.session(\n    python=['3.11'])\ndef tests(session):\n    session.run('pytest')\n"
    contract = derive_offline(write(tmp_path, {"noxfile.py": noxfile})).contract
    assert contract.setup[-1] == ".venv/bin/python -m nox --install-only -s tests"
    assert contract.checks[0].command == ".venv/bin/python -m nox -R -s tests"


def test_a_tox_file_beside_a_declared_pytest_is_not_a_second_runner(tmp_path):
    write(tmp_path, {"tox.ini": "[tox]\n", "requirements.txt": "pytest\n"})
    assert commands(derive_offline(tmp_path)) == [".venv/bin/python -m pytest"]


def test_django_tests_are_run_by_its_own_script(tmp_path):
    write(tmp_path, {"manage.py": "import django\n", "requirements.txt": "django\n"})
    assert commands(derive_offline(tmp_path)) == [".venv/bin/python manage.py test"]


def test_configured_linters_come_before_the_tests(tmp_path):
    manifest = '[project]\nname = "x"\ndependencies = ["pytest", "ruff", "mypy"]\n[tool.ruff]\n[tool.mypy]\n'
    write(tmp_path, {"pyproject.toml": manifest, "src/x.py": "", "uv.lock": ""})
    assert commands(derive_offline(tmp_path)) == [
        "uv run --no-sync ruff check .",
        "uv run --no-sync mypy src",
        "uv run --no-sync pytest",
    ]


def test_mypy_that_knows_its_files_gets_none(tmp_path):
    write(tmp_path, {"mypy.ini": "[mypy]\nfiles = lib\n", "pytest.ini": ""})
    assert commands(derive_offline(tmp_path))[0] == ".venv/bin/python -m mypy"


def test_pre_commit_is_a_check_only_where_it_is_a_dependency(tmp_path):
    write(tmp_path, {".pre-commit-config.yaml": "repos: []\n", "requirements.txt": "pytest\n"})
    assert "pre-commit" not in " ".join(commands(derive_offline(tmp_path)))


def test_pre_commit_keeps_its_hooks_in_the_checkout(tmp_path):
    write(tmp_path, {".pre-commit-config.yaml": "repos: []\n", "requirements.txt": "pytest\npre-commit\n"})
    contract = derive_offline(tmp_path).contract
    home = "PRE_COMMIT_HOME=.venv/pre-commit .venv/bin/python -m pre_commit"
    assert (contract.setup[-1], contract.checks[0].command) == (f"{home} install-hooks", f"{home} run --all-files")


# JavaScript


def test_only_scripts_that_exist_are_proposed_from_cheap_to_dear(tmp_path):
    write(tmp_path, {"package.json": scripts(test="jest", build="tsc", start="node .", lint="eslint .")})
    assert commands(derive_offline(tmp_path)) == ["npm run lint", "npm run build", "npm test"]


@pytest.mark.parametrize(
    ("files", "setup", "run"),
    [
        ({}, "npm install", "npm test"),
        ({"package-lock.json": "{}"}, "npm ci", "npm test"),
        ({"pnpm-lock.yaml": ""}, "pnpm install --frozen-lockfile", "pnpm test"),
        ({"yarn.lock": ""}, "yarn install --frozen-lockfile", "yarn test"),
        ({"yarn.lock": "", ".yarnrc.yml": ""}, "yarn install --immutable", "yarn test"),
        ({"bun.lock": ""}, "bun install --frozen-lockfile", "bun run test"),
    ],
)
def test_the_lock_file_chooses_the_package_manager(tmp_path, files, setup, run):
    contract = derive_offline(write(tmp_path, {"package.json": scripts(test="jest"), **files})).contract
    assert (contract.setup, contract.checks[0].command) == ([setup], run)


def test_the_package_manager_field_wins_over_lock_files(tmp_path):
    manifest = json.dumps({"packageManager": "yarn@4.1.0", "scripts": {"test": "jest"}})
    write(tmp_path, {"package.json": manifest, "yarn.lock": "", "package-lock.json": "{}"})
    assert derive_offline(tmp_path).contract.setup == ["yarn install --immutable"]


def test_a_package_without_dependencies_needs_no_install(tmp_path):
    write(tmp_path, {"package.json": json.dumps({"scripts": {"test": "node --test"}})})
    assert derive_offline(tmp_path).contract.setup == []


@pytest.mark.parametrize(
    "body", ['echo "Error: no test specified" && exit 1', "jest --watch", "vitest --watch", "", " "]
)
def test_a_script_that_checks_nothing_is_left_out(tmp_path, body):
    write(tmp_path, {"package.json": scripts(test=body, lint="eslint .")})
    assert commands(derive_offline(tmp_path)) == ["npm run lint"]


@pytest.mark.parametrize("body", ["react-scripts test", "vitest"])
def test_a_runner_that_watches_at_a_terminal_is_told_that_it_is_in_ci(tmp_path, body):
    write(tmp_path, {"package.json": scripts(test=body)})
    assert commands(derive_offline(tmp_path)) == ["CI=true npm test"]


# Compiled languages


def test_cargo_fetches_what_is_locked_and_tests(tmp_path):
    contract = derive_offline(write(tmp_path, {"Cargo.toml": '[package]\nname="x"\n', "Cargo.lock": ""})).contract
    assert (contract.setup, contract.checks[0].command) == (["cargo fetch --locked"], "cargo test")


def test_configured_rust_linters_are_proposed(tmp_path):
    write(tmp_path, {"Cargo.toml": "", "clippy.toml": "", "rustfmt.toml": ""})
    assert commands(derive_offline(tmp_path)) == ["cargo clippy --all-targets", "cargo fmt --all --check", "cargo test"]


def test_go_vets_builds_and_tests(tmp_path):
    contract = derive_offline(write(tmp_path, {"go.mod": "module x\n", "go.sum": ""})).contract
    assert [check.command for check in contract.checks] == ["go vet ./...", "go build ./...", "go test ./..."]
    assert (contract.setup, contract.setup_inputs) == (["go mod download"], ["go.mod", "go.sum"])


def test_vendored_go_needs_no_download(tmp_path):
    assert derive_offline(write(tmp_path, {"go.mod": "", "vendor/modules.txt": ""})).contract.setup == []


@pytest.mark.parametrize(("wrapper", "command"), [({}, "mvn -B test"), ({"mvnw": ""}, "./mvnw -B test")])
def test_maven_is_run_by_its_wrapper_if_there_is_one(tmp_path, wrapper, command):
    assert commands(derive_offline(write(tmp_path, {"pom.xml": "<project/>", **wrapper}))) == [command]


@pytest.mark.parametrize(("wrapper", "program"), [({}, "gradle"), ({"gradlew": ""}, "./gradlew")])
def test_gradle_is_run_by_its_wrapper_if_there_is_one(tmp_path, wrapper, program):
    assert commands(derive_offline(write(tmp_path, {"build.gradle.kts": "", **wrapper}))) == [
        f"{program} --no-daemon test"
    ]


def test_cmake_builds_and_runs_the_tests_it_enables(tmp_path):
    write(tmp_path, {"CMakeLists.txt": "project(x)\nenable_testing()\n"})
    build, tests = commands(derive_offline(tmp_path))
    assert build == "cmake -S . -B build && cmake --build build --parallel 4"
    assert tests.startswith("ctest --test-dir build")


def test_cmake_without_tests_is_only_built(tmp_path):
    write(tmp_path, {"CMakeLists.txt": "project(x)\n# enable_testing()\ninclude(CPack)\n"})
    assert list(checks(derive_offline(tmp_path))) == ["build"]


def test_cmake_does_not_build_into_a_folder_of_the_project(tmp_path):
    write(tmp_path, {"CMakeLists.txt": "", "build/script.sh": ""})
    assert "-B cmake-build-check" in commands(derive_offline(tmp_path))[0]


# Make and just


def test_make_targets_are_really_targets(tmp_path):
    makefile = (
        "test := unit\nlint: FLAGS = -x\n# check: nothing\ndefine HELP\ncheck: run checks\nendef\n"
        ".PHONY: lint check\nall test: build\n\t./run-tests\n"
    )
    assert commands(derive_offline(write(tmp_path, {"Makefile": makefile}))) == ["make test"]


def test_make_lint_and_check_are_proposed(tmp_path):
    write(tmp_path, {"GNUmakefile": "lint:\n\t./lint.sh\ncheck: all\n\t./check.sh\n"})
    assert commands(derive_offline(tmp_path)) == ["make lint", "make check"]


def test_a_check_target_that_includes_the_tests_is_not_proposed_beside_them(tmp_path):
    write(tmp_path, {"Makefile": "check: lint test\nlint:\n\t./lint.sh\ntest:\n\t./test.sh\n"})
    assert commands(derive_offline(tmp_path)) == ["make lint", "make test"]


def test_a_target_that_only_starts_a_known_runner_is_not_a_second_check(tmp_path):
    write(tmp_path, {"Makefile": "test: unit\nunit:\n\t@go test -race ./...\n", "go.mod": ""})
    assert [command for command in commands(derive_offline(tmp_path)) if "make" in command] == []


@pytest.mark.parametrize("name", ["justfile", "Justfile", ".justfile"])
def test_just_recipes_are_read(tmp_path, name):
    justfile = "set shell := ['bash']\ntest := 'x'\nalias t := lint\n@lint *args='': build\n    ./lint {{args}}\nbuild:\n    ./b\n"
    assert commands(derive_offline(write(tmp_path, {name: justfile}))) == ["just lint"]
