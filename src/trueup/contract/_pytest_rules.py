"""Which files pytest collects, as its configuration and its command line say."""

from __future__ import annotations

import configparser
import posixpath
import re
import shlex
import tomllib
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from ._named_files import Read, Tree

_NEVER_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
_TOML = {"pytest.toml": ("pytest",), ".pytest.toml": ("pytest",), "pyproject.toml": ("tool", "pytest")}
_INI = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_ORDER = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_EVEN_EMPTY = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})

_TAKES_VALUE = frozenset(
    "-p -W --pythonwarnings -n --numprocesses --rootdir --confcutdir --ignore --ignore-glob --deselect --maxfail --tb "
    "--durations --durations-min --junitxml --junit-xml --junit-prefix --import-mode --basetemp --color --dist --tx "
    "--cov --cov-report --cov-config --cov-fail-under --timeout --log-level --log-cli-level --log-file -r --show-capture "
    "--capture --code-highlight --verbosity --reruns --html --asyncio-mode -k -m -c --config-file -o --override-ini".split()
)
_FLAG = re.compile(
    r"-[qvxsl]+|-r[A-Za-z]+|-n\d+|-n=?auto|--(?:quiet|verbose|exitfirst|showlocals|no-header|no-summary|strict|"
    r"strict-markers|strict-config|disable-warnings|disable-pytest-warnings|cache-clear|no-cov|full-trace|ff|failed-first|"
    r"nf|new-first|runxfail|doctest-modules|force-short-summary|cov-append|cov-branch)"
)
_HIDES = frozenset(
    "--lf --last-failed --sw --stepwise --sw-skip --stepwise-skip --collect-only --co --pyargs --fixtures --markers "
    "--help -h --version -V --setup-plan --setup-only --setup-show -c --config-file -o --override-ini".split()
)
_SELECTS_ALL_BUT = re.compile(r"not \w+(?: and not \w+)*")


class PytestRules(Struct, frozen=True):
    """What a configuration file says about collecting; `folder` is where it stands."""

    folder: str
    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    places: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    never_entered: tuple[str, ...] = _NEVER_ENTERED

    @classmethod
    def read(cls, folder: str, tree: Tree, read: Read) -> PytestRules | None:
        """The rules that hold in a folder; None where a file that might hold them cannot be read."""
        here = folder
        while True:
            for name in _ORDER:
                path = posixpath.normpath(posixpath.join(here, name))
                text = read(path) if path in tree.files else None
                try:
                    table = None if text is None else _table(name, text)
                    if table is not None:
                        return cls._of(here, table)
                except (ValueError, configparser.Error):
                    return None
            if here == ".":
                return cls(folder)
            here = posixpath.dirname(here) or "."

    @classmethod
    def _of(cls, folder: str, table: dict[str, Any]) -> PytestRules:
        said = {
            "files": _words(table.get("python_files")),
            "places": _words(table.get("testpaths")),
            "options": _words(table.get("addopts")),
            "never_entered": _words(table.get("norecursedirs")),
        }
        return cls(folder, **{key: words for key, words in said.items() if words})

    def enters(self, folder: str) -> bool:
        steps = [step for step in folder.split("/") if step not in ("", ".")]
        return not any(fnmatchcase(step, pattern) for step in steps for pattern in self.never_entered)


def _table(name: str, text: str) -> dict[str, Any] | None:
    """The runner's table in a file; None where the file is not about pytest."""
    if name in _TOML:
        data: Any = tomllib.loads(text)
        for key in _TOML[name]:
            data = data.get(key) if isinstance(data, dict) else None
        data = data.get("ini_options", data) if isinstance(data, dict) else None
    else:
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        data = dict(parser[_INI[name]]) if parser.has_section(_INI[name]) else None
    return {} if data is None and name in _EVEN_EMPTY else data


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(str, value))
    return tuple(shlex.split(value, comments=True)) if isinstance(value, str) else ()


def pytest_place(words: list[str], folder: str, rules: PytestRules, tree: Tree, token: str) -> str | None:
    """A new file that this command collects; None where none is sure to be."""
    arguments = _arguments([*rules.options, *words])
    name = next((pattern.replace("*", token) for pattern in rules.files if _leaves_room(pattern)), None)
    if arguments is None or name is None:
        return None
    if not arguments.places and rules.places and rules.folder == folder:
        arguments.places.extend(rules.places)
    for place in arguments.places or ["."]:
        start = posixpath.normpath(posixpath.join(folder, place))
        if start != "." and start not in tree.folders:
            continue
        home = _beside_a_test(start, rules, tree)
        ignored = [posixpath.normpath(posixpath.join(folder, path)) for path in arguments.ignored]
        if not any(f"{home}/".startswith(f"{path}/") or path == "." or "*" in path for path in ignored):
            return posixpath.join(home, name)
    return None


class _Arguments(Struct):
    places: list[str]
    ignored: list[str]


def _arguments(words: list[str]) -> _Arguments | None:
    """The places that a command line names; None where it selects tests, or cannot be read for certain."""
    found = _Arguments([], [])
    while words:
        word, *words = words
        option, given, value = word.partition("=")
        if option in _TAKES_VALUE and not given:
            value = words.pop(0) if words else ""
        if option in _HIDES or (option in ("-k", "-m") and not _SELECTS_ALL_BUT.fullmatch(value)):
            return None
        if option in ("--ignore", "--ignore-glob"):
            found.ignored.append(value)
        elif option == "-p" and value.startswith("no:") and value in ("no:unittest", "no:python"):
            return None
        elif not word.startswith("-"):
            found.places.append(word)
        elif not (option in _TAKES_VALUE or given or _FLAG.fullmatch(word)) and words and not words[0].startswith("-"):
            # An option that is not known here may take the next word for its own.
            return None
    return found


def _leaves_room(pattern: str) -> bool:
    return pattern.count("*") == 1 and pattern.endswith(".py") and not set("?[]/") & set(pattern)


def _beside_a_test(start: str, rules: PytestRules, tree: Tree) -> str:
    """The folder of the first test that is collected from here; the start itself where there is none yet."""
    inside = (path for path in tree.files if start == "." or path.startswith(f"{start}/"))
    found = [
        path
        for path in inside
        if any(fnmatchcase(posixpath.basename(path), pattern) for pattern in rules.files)
        and rules.enters(posixpath.dirname(posixpath.relpath(path, start)))
    ]
    return posixpath.dirname(min(found, key=lambda path: (path.count("/"), path))) or "." if found else start
