"""Makefiles, read for what decides a run besides their recipes: what they include, and which files would stop them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INCLUDE = re.compile(r"^ *[-s]?include[ \t]+([^\n#]+)", re.MULTILINE)
_VARIABLE = re.compile(r"^ *(?:export +)?([\w.-]+)[ \t]*(?::{1,3}|\?|)=[ \t]*([^\n#]*)", re.MULTILINE)
_RULE = re.compile(r"^([^\s#:=][^:=#\n]*?)[ \t]*::?(?![=:])([^=;#\n]*)(?:[;#][^\n]*)?$", re.MULTILINE)
_USE = re.compile(r"\$[({]([\w.-]+)[)}]")
_DEEPEST = 4


class Makefile:
    """What a Makefile says, as far as it can be told without running it; what depends on functions is left out."""

    def __init__(self, text: str) -> None:
        text = text.replace("\\\n", " ")
        self._text = text
        self._variables = {hit[1]: hit[2].strip() for hit in _VARIABLE.finditer(text)}
        self._needs: dict[str, list[str]] = {}
        for hit in _RULE.finditer(text):
            for target in self._words(hit[1]):
                self._needs.setdefault(target, []).extend(self._words(hit[2].replace("|", " ")))

    def included(self) -> Iterator[str]:
        """The files whose text is read as if it stood here, also those that are not there yet."""
        for hit in _INCLUDE.finditer(self._text):
            yield from self._words(hit[1])

    def recipes(self) -> Iterator[str]:
        """The command lines of all recipes."""
        for line in self._text.splitlines():
            if line[:1].isspace() and line.strip():
                yield line.strip().lstrip("@-+ ")

    def made_for(self, goals: list[str]) -> set[str]:
        """Targets on the way to the goals that are files: where such a file is there, its recipe may never run."""
        first = next((target for target in self._needs if not target.startswith(".")), None)
        waiting = list(goals) or [target for target in [first] if target]
        made: set[str] = set()
        while waiting:
            target = waiting.pop()
            if target in self._needs and target not in made:
                made.add(target)
                waiting += self._needs[target]
        return made.difference(self._needs.get(".PHONY", ()))

    def _words(self, text: str) -> list[str]:
        for _ in range(_DEEPEST):
            text = _USE.sub(lambda use: self._variables.get(use[1], use[0]), text)
        return [word for word in text.split() if not set(word) & set("$%*()")]
