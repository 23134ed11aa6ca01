"""Manifests that hold the product and its runners in one file: protected by key, and not whole."""

from __future__ import annotations

import configparser
import copy
import io
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from ._toml import dump_toml

Keys = tuple[str, ...]

# Keys in which a runner, a linter or a build is configured; `/` parts the steps. A key covers what is below it.
_PYTHON_TOOLS = (
    "pytest* coverage* ruff* mypy* tox* nox* pylint* pyright* basedpyright* ty flake8* black isort bandit* vulture "
    "interrogate pydocstyle pycodestyle* docformatter codespell typos importlinter deptry mutmut hypothesis* yapf* "
    "semgrep poe* taskipy* doit* invoke* pdm/scripts pdm/build rye/scripts pixi/tasks pixi/feature/*/tasks hatch/env* "
    "hatch/build/hooks hatch/build/targets/*/hooks hatch/metadata/hooks poetry/build poetry/plugins/pytest11 "
    "setuptools/cmdclass"
).split()
# An entry point of such a name would be installed in place of the runner.
_RUNNERS = "pytest py.test tox nox ruff mypy coverage flake8 pylint pyright black isort python python3 pip uv".split()

_PROTECTED = {
    "pyproject.toml": [
        *("build-system", "project/entry-points/pytest11"),
        *(f"project/scripts/{name}" for name in _RUNNERS),
        *(f"tool/{name}" for name in _PYTHON_TOOLS),
    ],
    "package.json": (
        "scripts jest vitest mocha ava tap jasmine cypress playwright eslintConfig eslintIgnore prettier stylelint xo "
        "standard c8 nyc babel husky lint-staged pre-commit wireit nx packageManager"
    ).split(),
    "composer.json": ["scripts"],
    "deno.json": "tasks test lint fmt compilerOptions".split(),
    "cargo.toml": (
        "lints workspace/lints profile* patch* replace test bench package/build package/auto* lib/test lib/doctest "
        "lib/harness lib/bench bin/*/test bin/*/harness"
    ).split(),
    "setup.cfg": (
        "DEFAULT tool:* pytest flake8* mypy* coverage* pylint* isort pydocstyle pycodestyle pep8 yapf* tox* testenv* "
        "nosetests aliases bandit* options.entry_points/pytest11"
    ).split(),
}
_PATTERNS = {name: [tuple(key.split("/")) for key in keys] for name, keys in _PROTECTED.items()}


class Merged(Struct, frozen=True):
    """A manifest with its protected keys as the base has them, and the keys that the change had touched."""

    text: str
    touched: list[str]


def is_manifest(path: str) -> bool:
    """Whether a file is protected by key."""
    return posixpath.basename(path).lower() in _PATTERNS


# Readers of one and the same file disagree about these, so that a section could hide from one of them.
_ODD_LINE_ENDS = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)")


def merge_protected(path: str, base_text: str | None, new_text: str) -> Merged:
    """Put the protected keys of the base into a changed manifest.

    The text is for evaluating, not for keeping: it says the same to every tool, but layout and comments may be gone.
    An absent file reads as an empty one. One that cannot be read is protected whole.
    """
    name = posixpath.basename(path).lower()
    load, dump = _format_of(name)
    try:
        if _ODD_LINE_ENDS.search(new_text) and not _ODD_LINE_ENDS.search(base_text or ""):
            raise ValueError("it has line ends that only some programs see")
        base, new = load(base_text or ""), load(new_text)
    except (ValueError, AttributeError, RecursionError, configparser.Error) as error:
        touched = [] if new_text == base_text else [f"the whole file, which cannot be read ({_first_line(error)})"]
        return Merged(base_text or "", touched)
    before = dict(_protected_parts(base, _PATTERNS[name]))
    after = dict(_protected_parts(new, _PATTERNS[name]))
    touched = [".".join(keys) for keys in _differences(before, after)]
    if not touched:
        return Merged(new_text, [])
    for keys in after:
        _remove(new, keys)
    for keys, value in before.items():
        _put(new, keys, copy.deepcopy(value))
    return Merged(dump(new), touched)


def _protected_parts(data: dict[str, Any], patterns: list[Keys], above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    for key, value in data.items():
        keys = (*above, key)
        if any(_matches(keys, pattern) for pattern in patterns):
            yield keys, value
        elif isinstance(value, dict):
            yield from _protected_parts(value, patterns, keys)


def _matches(keys: Keys, pattern: Keys) -> bool:
    return len(keys) == len(pattern) and all(map(fnmatchcase, keys, pattern))


def _differences(before: dict[Keys, Any], after: dict[Keys, Any]) -> Iterator[Keys]:
    """The innermost keys that differ, each once, those of the base first."""
    for keys in dict.fromkeys((*before, *after)):
        yield from _differing(before.get(keys), after.get(keys), keys)


def _differing(before: Any, after: Any, keys: Keys) -> Iterator[Keys]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differing(before.get(key), after.get(key), (*keys, key))
    elif before != after or type(before) is not type(after):
        yield keys


def _remove(data: dict[str, Any], keys: Keys) -> None:
    for key in keys[:-1]:
        data = data[key]
    del data[keys[-1]]


def _put(data: dict[str, Any], keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        if not isinstance(data.get(key), dict):
            data[key] = {}
        data = data[key]
    data[keys[-1]] = value


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _format_of(name: str) -> tuple[Callable[[str], dict[str, Any]], Callable[[dict[str, Any]], str]]:
    if name == "cargo.toml":
        return _load_cargo, _dump_cargo
    if name.endswith(".toml"):
        return tomllib.loads, dump_toml
    return (_load_json, _dump_json) if name.endswith(".json") else (_load_cfg, _dump_cfg)


def _load_cargo(text: str) -> dict[str, Any]:
    """Cargo's list of programs by name, so that each is compared with its own."""
    data = tomllib.loads(text.removeprefix("\ufeff"))
    programs = data.get("bin")
    if isinstance(programs, list):
        data["bin"] = {str(program.get("name", place)): program for place, program in enumerate(programs)}
        if len(data["bin"]) < len(programs):
            raise ValueError("two programs have the same name")
    return data


def _dump_cargo(data: dict[str, Any]) -> str:
    if isinstance(data.get("bin"), dict):
        # What is left of a program that the change removed is no program.
        data = {**data, "bin": [program for program in data["bin"].values() if "name" in program]}
    return dump_toml(data)


def _load_json(text: str) -> dict[str, Any]:
    data = json.loads(text.removeprefix("\ufeff") or "{}")
    if not isinstance(data, dict):
        raise ValueError("it is not a mapping")
    return data


def _dump_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _parser() -> configparser.RawConfigParser:
    # Tools differ in whether they honour [DEFAULT]; as a section like any other it is compared and put back.
    parser = configparser.RawConfigParser(default_section="\0")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    return parser


def _load_cfg(text: str) -> dict[str, Any]:
    parser = _parser()
    parser.read_string(text)
    return {section: dict(parser[section]) for section in parser.sections()}


def _dump_cfg(data: dict[str, Any]) -> str:
    parser = _parser()
    parser.read_dict(data)
    written = io.StringIO()
    parser.write(written)
    return written.getvalue()
