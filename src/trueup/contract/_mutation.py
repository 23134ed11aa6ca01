"""Tests that ask for something else than before: a check that stays green beside them does not listen to them.

A failing test that is put in shows whether a runner reports failures at all. A program that knows which assertion it
will meet can still answer just that one: by patching the assertion, by being equal to everything, by leaving the
process with a forged report. So the expectations of the base's own tests are changed where they stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from ._model import Check
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
# Equality alone: what else a line asserts may well hold for a neighbouring value, too.
_EQUALITY = re.compile(
    r"\bassert\w*[( ].*==|\bassertEquals?\(|\bassert_eq!?\(|\.(?:toBe|toEqual|toStrictEqual)\("
    r"|\b(?:assert\.)?(?:deep)?(?:strict|deepStrict)?[eE]qual\(|\bASSERT_EQ\(|\bEXPECT_EQ\("
)
_NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
_TEXT = re.compile(r"""(["'])((?:(?!\1)[^\\\n])+)\1""")
# Flags by which a command picks some of its tests: then nobody knows which lines are run.
_SELECTS = re.compile(r"(^|\s)(-k|-m|--grep|--test-name-pattern|--testNamePattern|--filter|-run)(\s|=)|::")


def files_to_mutate(check: Check, runners: Iterable[str], paths: Iterable[str]) -> list[str]:
    """The test files that a check is sure to run, by the runners that spoke, where it does not pick among them."""
    if _SELECTS.search(check.command.replace("-m unittest", "").replace("-m pytest", "")):
        return []
    endings = tuple(ending for runner in runners for ending in _SOURCES_OF.get(runner, ()))
    tests = (
        [path for path in paths if path.endswith(endings) and known_standard(path) == "test file"] if endings else []
    )
    folders, named = _places(check)
    inside = [path for path in tests if any(folder == "." or path.startswith(f"{folder}/") for folder in folders)]
    chosen = [path for path in inside if any(path == place or path.startswith(f"{place}/") for place in named)]
    return (chosen or inside)[:MOST_FILES]


def mutate(read: Callable[[str], str | None], paths: Iterable[str]) -> dict[str, str]:
    """These files with other expectations; those that compare nothing with a literal are left out."""
    changed = {}
    for path in paths:
        text = read(path) or ""
        other = "".join(_other(line) for line in text.splitlines(keepends=True)) if len(text) <= MOST_BYTES else text
        if other != text:
            changed[path] = other
    return changed


def _places(check: Check) -> tuple[set[str], set[str]]:
    """The folders in which a check's commands start, and the paths that it names."""
    commands = simple_commands(check.command, check.cwd)
    folders = {posixpath.normpath(command.folder) for command in commands}
    words = [(command.folder, word) for command in commands for word in command.words if not word.startswith("-")]
    return folders, {posixpath.normpath(posixpath.join(folder, word)) for folder, word in words} - {"."}


def _other(line: str) -> str:
    """A line whose last literal is another one, where it says that two things are equal."""
    if not _EQUALITY.search(line) or line.lstrip().startswith(("#", "//", "*")):
        return line
    literals = [*_TEXT.finditer(line), *_NUMBER.finditer(line)]
    if not literals:
        return line
    last = max(literals, key=lambda found: (found.end(), -found.start()))
    other = str(int(last[1]) + 1) if last.re is _NUMBER else f"{last[1]}{last[2]}~{last[1]}"
    return line[: last.start()] + other + line[last.end() :]
