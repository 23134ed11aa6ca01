"""Scripts and manifests that start the checks: commands that can no longer fail, runners that are told to look away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ._languages import CONFIG, MAKE, SHELL
from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, INFO, apply, rule

_CHECKER = (
    r"(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|playwright|cypress|node --test|(?:npm|pnpm|yarn|bun)(?: run)? [\w:-]*(?:test|lint|check)[\w:-]*"
    r"|go (?:test|vet)|cargo (?:test|clippy|nextest|check)|mvn|gradlew?|ctest|rspec|rake|phpunit|dotnet test|swift test|mix test"
    r"|ruff|mypy|flake8|pylint|pyright|eslint|tsc|biome|clippy|shellcheck|golangci-lint|rubocop|bats|make (?:test|check|lint))"
)
_NEUTRAL = r"(?:\|\|\s*(?:true|:|exit 0|echo\b|/bin/true)|;\s*(?:true|exit 0|:)\s*(?:[\"',]|$))"
_NEUTRALISED = "lets a check fail without anybody noticing"

_COMMANDS = (
    rule(
        "check_neutralised",
        _NEUTRALISED,
        rf"\b{_CHECKER}(?![\w-])[^\n|;]{{0,300}}{_NEUTRAL}",
        "||",
        ";",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule(
        "check_neutralised",
        "lets a check pass that ran no tests",
        r"--pass-?[wW]ith-?[nN]o-?[tT]ests\b|--exit-zero\b|--suppress-no-test-exit-code\b",
        "--pass",
        "--exit-zero",
        "--suppress",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule(
        "check_neutralised",
        "goes on after a failed command (`set +e`)",
        r"^\s*set \+(?:e|o errexit|o pipefail)\b",
        "set +",
        source=INFO,
        test=FLAG,
        view="plain",
    ),
)
_MAKE = (
    *_COMMANDS,
    rule(
        "check_neutralised",
        f"{_NEUTRALISED} (a recipe that begins with `-`)",
        rf"^\t@?-@?[^\n]{{0,300}}\b{_CHECKER}(?![\w-])",
        "\t-",
        "\t@-",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule("check_neutralised", "ignores every failure (`.IGNORE`)", r"^\.IGNORE\s*:", ".IGNORE", source=FLAG, test=FLAG),
    rule(
        "check_neutralised",
        "ignores every failure (`MAKEFLAGS`)",
        r"^[ \t]*+(?:export[ \t]+)?MAKEFLAGS[ \t]*[+:?]?=[^\n]{0,200}?[= \t](?:-[rRsBk]*[int][rRsBkint]*|--ignore-errors|--just-print|--dry-run|--touch)(?=\s|$)",
        "MAKEFLAGS",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "check_neutralised",
        "runs its recipes by something that is no shell",
        r"^\s*SHELL\s*[:?]?=\s*(?![^\n]*(?:sh|SHELL|cmd|env)\b)[^\s\n]",
        "SHELL",
        source=FLAG,
        test=FLAG,
    ),
)
_WORKFLOW = (
    *_COMMANDS,
    rule(
        "check_neutralised",
        "lets a step of CI fail without anybody noticing",
        r"^\s*(?:-\s*)?(?:continue-on-error|allow_failure)\s*:\s*true\b",
        "continue-on-error",
        "allow_failure",
        source=FLAG,
        test=FLAG,
    ),
    rule(
        "check_neutralised",
        "keeps a step of CI from running",
        r"^\s*(?:-\s*)?(?:if|when)\s*:\s*(?:false|never|\$\{\{\s*false\s*\}\})\s*$",
        "false",
        "never",
        source=FLAG,
        test=FLAG,
    ),
)
_PYTHON_CONFIG = (
    rule(
        "runner_hook",
        "brings a plugin into every run of pytest (the entry point `pytest11`)",
        r"\bpytest11\b",
        "pytest11",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    rule(
        "runner_hook",
        "tells pytest to load a plugin or to leave tests out",
        r"\baddopts\b[^\n]{0,400}?(?:\s|[\"'=])(?:-p[ =]?(?!no:cacheprovider)[\w.:]+|--deselect|--ignore(?:-glob)?\b|-k[ =])",
        "addopts",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
    *_COMMANDS,
)
_CARGO = (
    rule(
        "runner_hook",
        "takes Rust's test runner away",
        r"^\[(?:\[test\]\]|lib\]|\[bin\]\])\s*\n(?:(?!\[)[^\n]*\n){0,20}?\s*(?:harness|test|doctest)\s*=\s*false",
        "false",
        source=FLAG,
        test=FLAG,
        view="plain",
    ),
)
_JEST = (
    rule("runner_hook", "runs code before the tests or leaves tests out", r"[\"']?\b(?:setupFiles(?:AfterEnv)?|globalSetup|globalTeardown|testRunner(?![\"\']?\s*:\s*[\"\']node:test)|testPathIgnorePatterns|testResultsProcessor)\b[\"']?\s*:", "setupFiles", "global", "testRunner", "testPath", "testResults", source=FLAG, test=FLAG, view="code"),
)  # fmt: skip

_CI = re.compile(
    r"(?:^|/)(?:\.github/(?:workflows|actions)/|\.circleci/|\.buildkite/|\.gitlab-ci|\.travis\.yml|azure-pipelines|Jenkinsfile|bitbucket-pipelines|\.drone\.|\.woodpecker|appveyor\.yml|\.cirrus)"
)
_RUNNER_CONFIG = re.compile(r"(?:jest|vitest|mocha|playwright|cypress|karma)\.(?:config|conf)[\w.-]*|\.mocharc[\w.]*")
_SCRIPTS = re.compile(r"(?:pre|post)?(?:test|lint|check|typecheck|type-check|build|ci|verify)(?:[:-].*)?")
_DOES_NOTHING = re.compile(r"\s*(?:true|:|exit 0|echo\b(?:(?!exit [1-9])[^\n;&|])*+)\s*(?:&&\s*(?:true|exit 0)\s*)?")
_IGNORES_TESTS = re.compile(
    r"/?(?:\*\*/)?(?:(?:tests?|specs?|__tests__|e2e)(?:/(?:\*\*?)?)*|conftest\.py|(?:tests?/)?(?:test_\*|\*_test|\*\.(?:test|spec))\.[\w*]+|\*\.(?:py|js|ts|go|rs|java|rb))"
)
_TAKES_BUILT = re.compile(
    r"!/?(?:\*\*/)?(?:dist|build|out|target|node_modules|\.venv|venv|__pycache__|bin|obj|\*\.(?:pyc|so|class|jar|o))(?:/\**)*"
)


def look_at_builds(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a script, a manifest, or git's list of what to leave out."""
    name = reading.name.lower()
    if reading.is_document:
        return
    if _CI.search(reading.path):
        yield from apply(_WORKFLOW, reading)
        yield from _workflow_touched(reading)
    elif reading.language is MAKE:
        yield from apply(_MAKE, reading)
    elif reading.language is SHELL or name in ("tox.ini", "taskfile.yml", "noxfile.py", "dockerfile"):
        yield from apply(_COMMANDS, reading)
    elif name == "package.json":
        yield from _package(reading)
    elif name == "cargo.toml":
        yield from apply(_CARGO, reading)
    elif name == ".gitignore":
        yield from _ignore_list(reading)
    elif _RUNNER_CONFIG.fullmatch(name):
        yield from apply(_JEST, reading)
    if reading.language is CONFIG and name in ("pyproject.toml", "setup.cfg", "pytest.ini", "tox.ini", ".pytest.ini"):
        yield from apply(_PYTHON_CONFIG, reading)


def _workflow_touched(reading: Reading) -> Iterator[Suspicion]:
    """Said of every version, told apart by the contents: so it is said of each that changed."""
    what = "decides what continuous integration does"
    yield Suspicion(kind="ci_changed", severity=INFO, what=what, key=reading.text)


def _package(reading: Reading) -> Iterator[Suspicion]:
    yield from apply(_COMMANDS, reading)
    yield from apply(_JEST, reading)
    try:
        manifest = json.loads(reading.text)
    except (ValueError, RecursionError):
        return
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    for name, command in (scripts if isinstance(scripts, dict) else {}).items():
        if isinstance(command, str) and _SCRIPTS.fullmatch(name) and _DOES_NOTHING.fullmatch(command):
            what = f"has a script {name!r} that does nothing and cannot fail"
            yield Suspicion(kind="check_neutralised", severity=FLAG, what=what, line=_line_of(f'"{name}"', reading))


def _line_of(text: str, reading: Reading) -> int | None:
    return next((number for number, line in enumerate(reading.lines, 1) if text in line), None)


def _ignore_list(reading: Reading) -> Iterator[Suspicion]:
    for number, line in enumerate(reading.lines, 1):
        if _IGNORES_TESTS.fullmatch(line.strip()):
            what = f"makes git ignore tests or sources (`{line.strip()}`)"
            yield Suspicion(kind="ignore_list", severity=FLAG, what=what, line=number)
        elif _TAKES_BUILT.fullmatch(line.strip()):
            what = f"makes git take what a build makes (`{line.strip()}`)"
            yield Suspicion(kind="ignore_list", severity=FLAG, what=what, line=number)
