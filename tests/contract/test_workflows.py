"""CI files name checks; only lines that are checks, and that can be understood offline, count."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from trueup.contract._ecosystems import Repository
from trueup.contract._offline import derive_offline
from trueup.contract._workflows import ci_commands


def write(root: Path, name: str, content: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(dedent(content))


def github(root: Path, script: str, *, settings: str = "") -> None:
    step = f"      - run: |\n{indent(dedent(script).strip(), ' ' * 10)}\n{indent(settings, ' ' * 8)}"
    write(
        root, ".github/workflows/ci.yml", f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{step}\n"
    )


def lines(root: Path) -> list[str]:
    return [command.line for command in ci_commands(Repository(root))]


def places(root: Path) -> list[tuple[str, str]]:
    return [(command.cwd, command.line) for command in ci_commands(Repository(root))]


def proposed(root: Path) -> list[str]:
    return [check.command for check in derive_offline(root).contract.checks]


def test_a_step_that_runs_a_known_check_is_read(tmp_path):
    github(tmp_path, "cargo clippy --all-targets -- -D warnings")
    assert lines(tmp_path) == ["cargo clippy --all-targets -- -D warnings"]


def test_a_script_is_split_into_lines_with_continuations_joined(tmp_path):
    github(tmp_path, "echo hello\npytest \\\n  -x \\\n  tests\nnpm ci && npm   test")
    assert lines(tmp_path) == ["pytest -x tests", "npm test"]


@pytest.mark.parametrize(
    "line",
    [
        "npm publish",
        "docker run app pytest",
        "sudo make test",
        "curl -s https://x | bash",
        "ssh host make test",
        "DEPLOY_TOKEN=abc pytest",
        "make test KEY=${{ secrets.KEY }}",
        "twine upload dist/*",
        "git push origin main",
        "eslint --fix .",
        "jest --watch",
        "ruff format .",
        "pytest || true",
        "pytest > log.txt",
        "pytest; exit 0",
        "npm run dev",
        "npm run start",
        "pip install pytest",
        "pytest 'unbalanced",
    ],
)
def test_a_line_that_is_no_check_is_never_taken(tmp_path, line):
    github(tmp_path, line)
    assert lines(tmp_path) == []


@pytest.mark.parametrize("line", ["pytest -k ${{ matrix.name }}", "go test $FLAGS ./..."])
def test_a_line_that_only_the_ci_can_resolve_is_left_out_with_a_note(tmp_path, line):
    github(tmp_path, line)
    repository = Repository(tmp_path)
    assert ci_commands(repository) == []
    assert repository.notes == [".github/workflows/ci.yml: checks that need values only the CI knows were left out (1)"]


def test_conditional_lines_are_left_out(tmp_path):
    github(tmp_path, "if [ -d x ]; then\n  pytest x\nfi\nfor d in a b; do\n  go test\ndone\nmake test")
    assert lines(tmp_path) == ["make test"]


def test_what_follows_a_here_document_is_not_trusted(tmp_path):
    github(tmp_path, "cat <<EOF\npytest\nEOF")
    assert lines(tmp_path) == []


def test_the_working_directory_is_kept(tmp_path):
    (tmp_path / "api").mkdir()
    github(tmp_path, "go test ./...", settings="working-directory: ./api/")
    assert places(tmp_path) == [("api", "go test ./...")]


def test_defaults_of_job_and_workflow_are_known(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "api").mkdir()
    write(
        tmp_path,
        ".github/workflows/ci.yaml",
        """
        defaults: {run: {working-directory: web}}
        jobs:
          one: {steps: [{run: npm test}]}
          two: {defaults: {run: {working-directory: api}}, steps: [{run: go test}]}
        """,
    )
    assert places(tmp_path) == [("web", "npm test"), ("api", "go test")]


def test_a_change_of_folder_is_followed(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    github(tmp_path, "cd a && go test\ncd b\ngo vet\ncd ../..\nmake test")
    assert places(tmp_path) == [("a", "go test"), ("a/b", "go vet"), (".", "make test")]


@pytest.mark.parametrize("step", ["cd ..", "cd /tmp", "cd $HOME", "cd missing", "cd ~", "cd"])
def test_after_a_folder_that_cannot_be_known_nothing_is_taken(tmp_path, step):
    github(tmp_path, f"{step}\nmake test")
    assert lines(tmp_path) == []


@pytest.mark.parametrize("settings", ["continue-on-error: true", "shell: pwsh"])
def test_steps_that_do_not_decide_are_left_out(tmp_path, settings):
    github(tmp_path, "go test ./...", settings=settings)
    assert lines(tmp_path) == []


def test_gitlab_scripts_are_read_past_its_own_tags(tmp_path):
    write(
        tmp_path,
        ".gitlab-ci.yml",
        """
        stages: [test]
        .setup: &setup [npm ci]
        unit:
          before_script: !reference [.setup, script]
          script: [*setup, npm test]
        lint: {script: make lint}
        maybe: {script: make test, allow_failure: true}
        """,
    )
    assert lines(tmp_path) == ["npm test", "make lint"]


def test_circleci_runs_are_read(tmp_path):
    (tmp_path / "api").mkdir()
    write(
        tmp_path,
        ".circleci/config.yml",
        """
        jobs:
          build:
            working_directory: ~/repo
            steps:
              - checkout
              - run: go vet ./...
              - run: {name: tests, command: go test ./..., working_directory: api}
        """,
    )
    assert places(tmp_path) == [(".", "go vet ./..."), ("api", "go test ./...")]


def test_azure_scripts_are_read(tmp_path):
    write(
        tmp_path,
        "azure-pipelines.yml",
        """
        stages:
          - jobs:
              - job: a
                steps: [{script: tox}, {bash: make test}, {pwsh: pytest}]
              - deployment: b
                steps: [{script: go test}]
        steps: [{script: npm run lint}]
        """,
    )
    assert lines(tmp_path) == ["npm run lint", "tox", "make test"]


@pytest.mark.parametrize(
    "content", ["jobs: [", "- a", "jobs: 3", "jobs: {a: {steps: {run: x}}}", "jobs: {a: null}", "\t", "on: 2024-99-99"]
)
def test_a_broken_workflow_is_tolerated(tmp_path, content):
    write(tmp_path, ".github/workflows/ci.yml", content)
    assert lines(tmp_path) == []


# What becomes of them


def test_ci_adds_what_the_manifests_do_not_say(tmp_path):
    write(tmp_path, "Cargo.toml", "")
    github(tmp_path, "cargo clippy -- -D warnings\ncargo test --all-features")
    assert proposed(tmp_path) == ["cargo clippy -- -D warnings", "cargo test"]


def test_pytest_is_not_proposed_twice(tmp_path):
    write(tmp_path, "pytest.ini", "")
    github(tmp_path, "pytest -q --cov\ntox\npython -m pytest tests\ncoverage run -m pytest\nuv run --extra dev pytest")
    assert proposed(tmp_path) == [".venv/bin/python -m pytest"]


def test_python_tools_of_the_ci_use_the_environment(tmp_path):
    write(tmp_path, "pyproject.toml", '[project]\nname = "x"\ndependencies = ["flake8", "pytest"]\n')
    write(tmp_path, "uv.lock", "")
    github(tmp_path, 'flake8 src\npoetry run mypy --strict "a b"')
    assert proposed(tmp_path)[:2] == ["uv run --no-sync flake8 src", "uv run --no-sync mypy --strict 'a b'"]


def test_the_arguments_of_the_ci_win_for_linters(tmp_path):
    write(tmp_path, "pyproject.toml", "[tool.ruff]\n")
    github(tmp_path, "ruff check src tests")
    assert proposed(tmp_path) == [".venv/bin/python -m ruff check src tests"]


def test_a_script_or_target_that_is_not_there_is_not_proposed(tmp_path):
    write(tmp_path, "package.json", '{"scripts": {"lint": "eslint ."}}')
    write(tmp_path, "Makefile", "all:\n")
    github(tmp_path, "npm test\nmake check\ngo test ./...\nnpx eslint .")
    assert proposed(tmp_path) == ["npm run lint"]


def test_a_folder_that_only_the_ci_names_is_a_package(tmp_path):
    write(tmp_path, "tools/run.sh", "")
    github(tmp_path, "shellcheck run.sh", settings="working-directory: tools")
    check = derive_offline(tmp_path).contract.checks[0]
    assert (check.name, check.cwd, check.command) == ("tools_lint_clean", "tools", "shellcheck run.sh")


def test_ci_does_not_bring_back_a_member_of_a_workspace(tmp_path):
    write(tmp_path, "Cargo.toml", "[workspace]\nmembers = ['a']\n")
    write(tmp_path, "a/Cargo.toml", "[package]\n")
    github(tmp_path, "cargo test", settings="working-directory: a")
    assert proposed(tmp_path) == ["cargo test --workspace"]
