"""A failing test that trueup puts in: a check that stays green beside it does not report failures.

Only where the check's own command names a runner whose rules of discovery are known, and only where those rules say
for certain that a new file is collected. In doubt there is no canary: a false alarm would refuse honest work.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from ._model import Check
from ._named_files import Read, Tree, tool_of
from ._pytest_rules import PytestRules, pytest_place
from ._shell_lines import SimpleCommand, simple_commands

_PYTHON = """\
import unittest


class T{token}(unittest.TestCase):
    def test_{token}(self):
        self.fail("{token}")
"""
_NODE = """\
import("node:test").then(({{ test }}) => test("{token}", () => {{ throw new Error("{token}"); }}));
"""


class Canary(Struct, frozen=True):
    """A new file that holds one failing test. `marker` is in the output of a runner that reports the failure."""

    path: str
    content: str
    explain: str
    marker: str


def canary_for(check: Check, base_paths: Iterable[str], tree_read: Read, token: str) -> Canary | None:
    """A file that must turn this check red; None where no new file is sure to be collected.

    `token` names the file and the test, so that nobody can foresee either.
    """
    command = _runner_command(check)
    if command is None:
        return None
    tool, words = tool_of(command)
    tree = Tree(base_paths)
    place, template = _PLACES[tool]
    path = place(command, words, tree, tree_read, token)
    if path is None:
        return None
    explain = f"a failing test put in at {path} must turn `{' '.join(command.words)}` red"
    return Canary(posixpath.normpath(path), template.format(token=token), explain, token)


# Variables by which a runner is given further options, which may pick among its tests.
_OPTIONS_BY_VARIABLE = ("PYTEST_ADDOPTS", "NODE_OPTIONS")
# Around a runner, these can turn its failure into anything.
_DECIDES_ITSELF = re.compile(r"(?:^|[\s;&|(])(?:!|if|while|until|for|case)\s")
_GOES_ON = re.compile(r"[;\n]|\|\||&")


def _runner_command(check: Check) -> SimpleCommand | None:
    """The command whose failure is the check's: the last one, or any where each must succeed."""
    picks = any(name in check.command or name in check.env for name in _OPTIONS_BY_VARIABLE)
    if not check.expect_exit_zero or picks or _DECIDES_ITSELF.search(check.command):
        return None
    commands = simple_commands(check.command, check.cwd)
    each_must_succeed = not _GOES_ON.search(re.sub(r"&&|\d?>&\d", "", check.command))
    candidates = commands if each_must_succeed else commands[-1:]
    return next((command for command in candidates if tool_of(command)[0] in _PLACES), None)


def _pytest_path(command: SimpleCommand, words: list[str], tree: Tree, read: Read, token: str) -> str | None:
    rules = PytestRules.read(command.folder, tree, read)
    return pytest_place(words, command.folder, rules, tree, token) if rules else None


_UNITTEST_FLAGS = re.compile(r"-[vqfbc]+|--(?:verbose|quiet|failfast|buffer|catch|locals)")
_UNITTEST_OPTIONS = {
    "-s": "start",
    "--start-directory": "start",
    "-p": "pattern",
    "--pattern": "pattern",
    "-t": "top",
    "--top-level-directory": "top",
}


def _unittest_path(command: SimpleCommand, words: list[str], tree: Tree, read: Read, token: str) -> str | None:
    options = _unittest_options(words)
    if options is None:
        return None
    start = posixpath.normpath(posixpath.join(command.folder, options.get("start", ".")))
    if start not in tree.folders and re.fullmatch(r"\w+(\.\w+)+", options.get("start", "")):
        start = posixpath.normpath(posixpath.join(command.folder, options["start"].replace(".", "/")))
    top = posixpath.normpath(posixpath.join(command.folder, options["top"])) if "top" in options else start
    package = posixpath.normpath(posixpath.join(start, "__init__.py"))
    name = _filled(options.get("pattern", "test*.py"), token)
    is_reachable = start == "." or start in tree.folders
    is_importable = start == top or package in tree.files
    if name is None or not is_reachable or not is_importable or "load_tests" in (read(package) or ""):
        return None
    return posixpath.join(start, name) if re.fullmatch(r"[A-Za-z_]\w*\.py", name) else None


def _unittest_options(words: list[str]) -> dict[str, str] | None:
    """What discovery is told; None where the command names its tests instead."""
    discovers = words[:1] == ["discover"]
    positions = iter(("start", "pattern", "top") if discovers else ())
    options: dict[str, str] = {}
    words = words[discovers:]
    while words:
        word, *words = words
        option, given, value = word.partition("=")
        if discovers and option in _UNITTEST_OPTIONS and (given or words):
            options[_UNITTEST_OPTIONS[option]] = value if given else words.pop(0)
        elif not word.startswith("-") and (position := next(positions, None)):
            options[position] = word
        elif not _UNITTEST_FLAGS.fullmatch(word):
            return None
    return options


_NODE_VALUES = frozenset(
    "-r --require --import --loader --experimental-loader --test-reporter --test-reporter-destination "
    "--test-concurrency --test-timeout -C --conditions --env-file".split()
)
_NODE_SELECTS = re.compile(r"--test-(?:name-pattern|only|shard|skip-pattern)\b.*|--watch.*|-e|--eval|-p|--print")
_NODE_FINDS = re.compile(r"(?:.*/)?(?:test/.*|test|test-[^/]+|[^/]+[._-]test)\.[cm]?js")


def _node_path(command: SimpleCommand, words: list[str], tree: Tree, read: Read, token: str) -> str | None:
    if any(_NODE_SELECTS.fullmatch(word) for word in command.words):
        return None
    places = [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and before not in _NODE_VALUES
    ]
    if not places:
        return posixpath.join(_beside(_NODE_FINDS, command.folder, tree), f"{token}.test.mjs")
    for place in places:
        path = posixpath.normpath(posixpath.join(command.folder, place))
        if path in tree.folders:
            return posixpath.join(path, f"{token}.test.mjs")
        if found := _matching_glob(path, tree, token):
            return found
    return None


def _beside(pattern: re.Pattern[str], folder: str, tree: Tree) -> str:
    """The folder of the first file here that a runner finds; the folder itself where there is none."""
    inside = (path for path in tree.files if folder == "." or path.startswith(f"{folder}/"))
    found = [path for path in inside if pattern.fullmatch(path) and "node_modules" not in path]
    return posixpath.dirname(min(found, key=lambda path: (path.count("/"), path))) if found else folder


def _matching_glob(glob: str, tree: Tree, token: str) -> str | None:
    # To bash `**` is but a `*`; beside a file that such a pattern finds, it finds a new one however it is read.
    steps = [re.escape(step).replace(r"\*", "[^/]*") for step in glob.replace("**", "*").split("/")]
    found = sorted(path for path in tree.files if re.fullmatch("/".join(steps), path))
    name = _filled(glob.rpartition("/")[2], token)
    if not found or name is None or not name.endswith((".js", ".cjs", ".mjs")):
        return None
    return posixpath.join(posixpath.dirname(found[0]), name)


def _filled(pattern: str, token: str) -> str | None:
    """A new name that a pattern matches, where it leaves room for one."""
    return pattern.replace("*", token) if pattern.count("*") == 1 and not set("?[]{}/") & set(pattern) else None


_Place = Callable[[SimpleCommand, list[str], Tree, Read, str], str | None]
_PLACES: dict[str, tuple[_Place, str]] = {
    "pytest": (_pytest_path, _PYTHON),
    "py.test": (_pytest_path, _PYTHON),
    "unittest": (_unittest_path, _PYTHON),
    "node --test": (_node_path, _NODE),
}
