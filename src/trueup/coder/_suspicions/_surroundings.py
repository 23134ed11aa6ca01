"""What a file's surroundings say about it: who starts it, who loads it, and what the commands are out for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from ._model import ChangedFile, Context

_WORDS = re.compile(r"[\w./+@:-]+")
_CATCHES_EXITS = re.compile(r"\b(?:pytest|py\.test|unittest|nose2?|tox|nox|manage\.py test)\b")
_LOADS = r"(?:\b(?:import|from|require|include|source|use|mod|load)\b|^\s*\.\s)"
_TOOLS = {
    "lint": re.compile(
        r"\b(?:ruff|flake8|pylint|eslint|oxlint|biome|golangci-lint|staticcheck|rubocop|clippy|shellcheck|checkstyle|pmd|"
        r"ktlint|detekt|bandit|semgrep|stylelint|phpstan|psalm|pre-commit|\w*lint\w*)\b"
    ),
    "types": re.compile(r"\b(?:mypy|pyright|basedpyright|ty|pyre|tsc|vue-tsc|type-?check\w*|types?:check)\b"),
    "coverage": re.compile(r"\b(?:coverage|nyc|c8|codecov|tarpaulin|llvm-cov|jacoco\w*)\b|--cov\b|--cov[-=]"),
}


class Surroundings:
    """Everything about a change but the file that is looked at."""

    def __init__(self, context: Context | None = None, files: Iterable[ChangedFile] = ()) -> None:
        self._context = context or Context()
        self._files = tuple(files)

    @property
    def standards(self) -> Mapping[str, bytes]:
        """The base's tests and verifying scripts."""
        return self._context.standards

    @property
    def base_paths(self) -> frozenset[str]:
        """The files of the base, its standards among them."""
        return self._paths

    @cached_property
    def base_names(self) -> frozenset[str]:
        """The names of the base's files, without their folders."""
        return frozenset(map(posixpath.basename, self._paths))

    def starts(self, path: str) -> bool:
        """Whether a command names this file: then it is run, and may end as it likes."""
        name = posixpath.basename(path)
        return any(posixpath.basename(word) == name for word in self._command_words)

    def is_loaded_by_tests(self, path: str) -> bool:
        """Whether a test, or a script that verifies, imports, requires, includes or sources a file of this name."""
        loads = _loading(path)
        return any(loads.search(text) for text in self._standard_texts)

    def is_out_of_reach(self, path: str) -> bool:
        """Whether nobody loads it: the base has no such file, and neither its tests nor the change speak of it."""
        if path in self._paths:
            return False
        name = re.compile(rf"\b{re.escape(posixpath.basename(path).partition('.')[0])}\b")
        others = [file.new.decode(errors="replace") for file in self._files if file.new and file.path != path]
        return bool(self._context.commands) and not any(name.search(text) for text in (*self._standard_texts, *others))

    @cached_property
    def catches_exits(self) -> bool:
        """Whether every command is a runner to which an exit is a failure like any other."""
        commands = self._context.commands
        return bool(commands) and all(_CATCHES_EXITS.search(command) for command in commands)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """What the commands that must become green are out for, besides tests."""
        goals = self._context.commands if self._context.goals is None else self._context.goals
        return frozenset(kind for kind, tools in _TOOLS.items() if any(map(tools.search, goals)))

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset((*self._context.base_paths, *self._context.standards))

    @cached_property
    def _command_words(self) -> frozenset[str]:
        return frozenset(word for command in self._context.commands for word in _WORDS.findall(command))

    @cached_property
    def _standard_texts(self) -> list[str]:
        return [raw.decode(errors="replace") for raw in self._context.standards.values()]


NOTHING_KNOWN = Surroundings()


def _loading(path: str) -> re.Pattern[str]:
    folder, name = posixpath.split(path)
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod"):
        stem = posixpath.basename(folder) or stem
    return re.compile(rf"{_LOADS}[^\n]*\b{re.escape(stem)}\b", re.MULTILINE)
