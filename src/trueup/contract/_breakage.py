"""Why a check cannot be judged here, as opposed to being red for a reason that a change can mend.

Exit codes do not tell: a missing pytest exits with 1, make with 2, cargo with 101. So the runner's own words are
read. A file or module *of the repository* that is missing is never a breakage: a change may add it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct

from ._declared import Read, declares_node, declares_python
from ._globs import Globs
from ._model import Check, CheckResult, Contract
from ._named_files import Tree

_PYTHON_RUNNERS = frozenset(
    "pytest unittest nose nose2 tox nox coverage ruff mypy flake8 pylint pyright black isort bandit hypothesis behave "
    "pre_commit build pip".split()
)
_RUNNERS = _PYTHON_RUNNERS | frozenset(
    "py.test basedpyright ty uv uvx poetry pdm hatch pipenv python python3 pre-commit "
    "node npm npx pnpm yarn bun bunx deno jest vitest mocha ava tap jasmine karma playwright cypress eslint prettier "
    "stylelint tsc vue-tsc biome oxlint nyc c8 ts-node tsx cargo rustc rustfmt clippy-driver go gofmt golangci-lint "
    "staticcheck make gmake cmake ctest meson ninja just task gcc g++ cc clang bazel mvn gradle java javac sbt ruby rake "
    "rspec bundle rubocop php phpunit composer phpstan dotnet mix swift stack cabal bats prove shellcheck yamllint "
    "codespell semgrep docker".split()
)
_INSTALLED_IN = re.compile(r"(?:^|/)(?:\.?venv|node_modules|vendor)/")
_INSTALL_PYTHON = "add `setup: [pip install -e .]` (or whatever installs your dependencies) or `reuse: [.venv]`"
_INSTALL_NODE = "add `setup: [npm ci]` or `reuse: [node_modules]`"

_NOT_FOUND = re.compile(
    r"(?m)^(?:\S*(?:sh|env|make|timeout|nice|xargs)(?:\[\d+\])?: )?(?:line \d+: |\d+: )?(?:exec: )?"
    r"['‘\"]?(?P<command>[\w./+-]+)['’\"]?: (?:command not found|not found|No such file or directory)\s*$"
)
_NO_MODULE = re.compile(r"No module named (?P<quote>['\"]?)(?P<module>[\w.]+)(?P=quote)")
_NO_NODE_MODULE = re.compile(r"Cannot find (?:module|package) '(?P<module>[^']+)'")
_NO_SCRIPT = re.compile(
    r"(?im)^.*(?:missing script:? \"?(?P<script>[\w:.-]+)|error command \"(?P<yarn>[\w:.-]+)\" not found)"
)
_NO_CARGO_COMMAND = re.compile(
    r"(?m)^error: (?:no such (?:sub)?command: `(?P<sub>[\w-]+)`|'cargo-(?P<tool>\w+)(?:\.exe)?' is not installed)"
)
_NO_PACKAGES = re.compile(
    r"(?m)^(?:npx canceled due to missing packages|npm (?:ERR!|error) could not determine executable to run|"
    r"npm (?:ERR!|error) code (?:ENOTFOUND|EAI_AGAIN|ENOTCACHED)|error: failed to (?:get|download|fetch) .*|"
    r"error: no matching package named .*|.*proxy\.golang\.org.*: dial tcp.*|.*Could not (?:resolve|transfer) (?:artifact|"
    r"dependencies|all \w+).*|.*Could not find a version that satisfies the requirement.*)$"
)
_PYTEST_MISSES_PATH = re.compile(r"(?m)^ERROR: (?:file or directory )?not found: (?P<path>.+)$")
_PYTEST_OPTION = re.compile(r"(?m)^.*(?:pytest|__main__\.py): error: unrecognized arguments: (?P<words>.+)$")


class Breakage(Struct, frozen=True):
    """Why a check cannot be judged, and what a person can do about it."""

    reason: str
    fix: str


def find_breakage(check: Check, result: CheckResult, contract: Contract, tree: Tree, read: Read) -> Breakage | None:
    """What keeps a check from being judged on this base; None where its result can be taken at its word."""
    if result.exit_code is None and not result.timed_out and result.reason.startswith(("refused", "could not run")):
        return _never_ran(check, result, tree)
    found = None if result.passed else next(_missing(check, result.output_tail, contract, tree, read), None)
    return found or _collected_nothing(result, contract)


def _never_ran(check: Check, result: CheckResult, tree: Tree) -> Breakage | None:
    folder = posixpath.normpath(check.cwd)
    if result.reason.startswith("refused"):
        return Breakage(result.reason, "allow the command in the policy, or check the same thing with another command")
    if folder != "." and folder not in tree.folders:
        return None
    return Breakage(result.reason, "run the command by hand in a fresh checkout and mend what it says")


def _missing(check: Check, output: str, contract: Contract, tree: Tree, read: Read) -> Iterator[Breakage]:
    yield from _missing_commands(output, tree, check)
    yield from _missing_python(output, tree, read)
    yield from _missing_node(output, tree, read)
    yield from _missing_scripts(check, output, contract)
    if match := _NO_CARGO_COMMAND.search(output):
        command = match["sub"] or match["tool"]
        yield Breakage(f"cargo has no command {command!r}", f"install cargo-{command} where the checks run")
    if match := _PYTEST_OPTION.search(output):
        yield Breakage(
            f"pytest does not know {match['words']!r}",
            "its plugin is missing: add it to `setup`, or leave the option out",
        )
    if match := _NO_PACKAGES.search(output):
        yield Breakage(
            f"a package manager could not get what it needs: {match[0].strip()[:120]}",
            "install dependencies in `setup`, which has the network, or copy an installed folder with `reuse`",
        )


def _missing_commands(output: str, tree: Tree, check: Check) -> Iterator[Breakage]:
    for match in _NOT_FOUND.finditer(output):
        command = match["command"]
        if _INSTALLED_IN.search(command):
            yield Breakage(
                f"{command} does not exist", "add the command that makes it to `setup`, or `reuse` its folder"
            )
        elif command in _RUNNERS and tree.file(command, check.cwd) is None:
            yield Breakage(f"the runner {command!r} is not installed", _how_to_install(command))


def _missing_python(output: str, tree: Tree, read: Read) -> Iterator[Breakage]:
    for match in _NO_MODULE.finditer(output):
        module = match["module"].partition(".")[0]
        place = _place_of(module, tree)
        if place in (f"src/{module}", f"lib/{module}") and match["module"] == module and _is_installable(tree):
            yield Breakage(
                f"the repository's own package {module!r} in {place} is not installed",
                "add `setup: [pip install -e .]`, or set PYTHONPATH in the check's `env`",
            )
        elif place is not None:
            continue
        elif module in _PYTHON_RUNNERS or module.startswith("pytest_"):
            yield Breakage(f"the runner {module!r} is not installed", _how_to_install(module.replace("_", "-")))
        elif declares_python(module, tree.files, read):
            yield Breakage(f"the declared dependency {module!r} is not installed", _INSTALL_PYTHON)


def _place_of(module: str, tree: Tree) -> str | None:
    """Where the repository has a module of this name, installed or not."""
    for folder in (".", "src", "lib", "python"):
        if place := tree.module(module, folder):
            return place
    names = (f"/{module}.py", f"/{module}/__init__.py")
    return next((path for path in tree.files if path.endswith(names)), None)


def _is_installable(tree: Tree) -> bool:
    return not tree.files.isdisjoint({"pyproject.toml", "setup.py", "setup.cfg"})


def _missing_node(output: str, tree: Tree, read: Read) -> Iterator[Breakage]:
    for match in _NO_NODE_MODULE.finditer(output):
        module = match["module"].partition("node_modules/")[2] or match["module"]
        if module.startswith((".", "/", "#")):
            continue
        package = "/".join(module.split("/")[: 2 if module.startswith("@") else 1])
        if package in _RUNNERS:
            yield Breakage(f"the runner {package!r} is not installed", _INSTALL_NODE)
        elif declares_node(package, tree.files, read):
            yield Breakage(
                f"the declared dependency {package!r} is not installed",
                _INSTALL_NODE,
            )


def _missing_scripts(check: Check, output: str, contract: Contract) -> Iterator[Breakage]:
    match = _NO_SCRIPT.search(output)
    manifest = posixpath.normpath(posixpath.join(check.cwd, "package.json"))
    if match and not Globs(contract.editable).match(manifest):
        yield Breakage(
            f"package.json has no script {match['script'] or match['yarn']!r}",
            "name another command, or let the change add the script with `editable: [package.json]`",
        )


def _collected_nothing(result: CheckResult, contract: Contract) -> Breakage | None:
    if result.counts is None or result.counts.collected or _PYTEST_MISSES_PATH.search(result.output_tail):
        return None
    if contract.editable and not result.passed:
        return None
    runner = " and ".join(result.counts.runners)
    return Breakage(
        f"{runner} collected no tests", "name the folder of the tests, or let the change add them with `editable`"
    )


def _how_to_install(runner: str) -> str:
    if runner in _PYTHON_RUNNERS:
        return f"add `setup: [pip install {runner}]` or `reuse: [.venv]`"
    return f"install {runner!r} where the checks run, or add the command that installs it to `setup`"
