"""Tests that ask for something else than before: a check that stays green beside them does not listen to them.

A failing test that is put in shows whether a runner reports failures at all. A program that knows which assertion it
will meet can still answer just that one: by patching the assertion, by being equal to everything, by leaving the
process with a forged report. So the expectations of the base's own tests are changed where they stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable

from ._model import Check
from ._other_expectations import Mutant, other_expectations
from ._shell_lines import simple_commands
from ._standards import known_standard

MOST_FILES = 200
MOST_BYTES = 1 << 20

_SCRIPT = (".js", ".cjs", ".mjs", ".ts", ".tsx", ".jsx")
_SOURCES_OF = {
    **dict.fromkeys(("pytest", "unittest"), (".py",)),
    **dict.fromkeys(("node", "jest", "vitest", "mocha"), _SCRIPT),
    **dict.fromkeys(("cargo", "nextest"), (".rs",)),
    "go": (".go",),
    "surefire": (".java", ".kt"),
}
# Flags by which a command picks some of its tests: then nobody knows which lines are run.
_SELECTS = re.compile(r"(^|\s)(-k|-m|--grep|--test-name-pattern|--testNamePattern|--filter|-run)(\s|=)|::")


def files_to_mutate(check: Check, runners: Iterable[str], paths: Iterable[str]) -> list[str]:
    """The test files that a check is sure to run, by the runners that spoke, where it does not pick among them."""
    said = " ".join((check.command, *check.env.values())).replace("-m unittest", "").replace("-m pytest", "")
    if _SELECTS.search(said):
        return []
    endings = tuple(ending for runner in runners for ending in _SOURCES_OF.get(runner, ()))
    tests = (
        [path for path in paths if path.endswith(endings) and known_standard(path) == "test file"] if endings else []
    )
    folders, named = _places(check)
    inside = [path for path in tests if any(folder == "." or path.startswith(f"{folder}/") for folder in folders)]
    chosen = [path for path in inside if any(path == place or path.startswith(f"{place}/") for place in named)]
    return (chosen or inside)[:MOST_FILES]


def mutate(read: Callable[[str], str | None], paths: Iterable[str], runners: Collection[str] = ()) -> dict[str, Mutant]:
    """These files with other expectations; those in which none is sure to be asked are left out."""
    texts = {path: read(path) or "" for path in paths}
    found = {path: other_expectations(path, text, runners) for path, text in texts.items() if len(text) <= MOST_BYTES}
    return {path: mutant for path, mutant in found.items() if mutant is not None}


def _places(check: Check) -> tuple[set[str], set[str]]:
    """The folders in which a check's commands start, and the paths that it names."""
    commands = simple_commands(check.command, check.cwd)
    folders = {posixpath.normpath(command.folder) for command in commands}
    words = [(command.folder, word) for command in commands for word in command.words if not word.startswith("-")]
    return folders, {posixpath.normpath(posixpath.join(folder, word)) for folder, word in words} - {"."}
