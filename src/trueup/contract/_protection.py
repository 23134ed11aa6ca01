"""Which paths decide a verdict, so that a change to them must not.

Protected is whatever a check executes or reads as its standard: by name (`_standards`), by being named in a command
(`_named_files`), by being used by nothing else (`_leaned_on`), by the contract's `protect`. The contract's `editable` lifts all of it. Manifests that mix the
product with its runners are protected by key (`_manifest_keys`).
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from ._globs import Globs
from ._leaned_on import leaned_on
from ._manifest_keys import is_manifest
from ._model import Contract
from ._named_files import Named, Read, Tree, named_standards
from ._shell_lines import simple_commands
from ._standards import known_setup_input, known_standard

_SHADOWED = sys.stdlib_module_names | frozenset(
    "pytest _pytest pluggy iniconfig xdist pytest_asyncio pytest_cov coverage nose nose2 tox nox ruff mypy flake8 pylint "
    "hypothesis pip setuptools wheel".split()
)


class Reason(Struct, frozen=True):
    """Why a path is protected, in a few words that fit after "it is a"."""

    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Protection:
    """Says of any path, also of one that is new, whether a change may touch it."""

    def __init__(self, contract: Contract, tree: Tree, named: Named) -> None:
        self._tree = tree
        self._named = named.standards
        self._added = Globs(contract.protect)
        self._lifted = Globs(contract.editable)
        self._import_roots = frozenset((*_import_roots(contract), *map(posixpath.dirname, named.scripts)))

    @classmethod
    def of(cls, contract: Contract, base_paths: Iterable[str], read: Read = lambda path: None) -> Protection:
        """Protection for a base commit; with `read`, also of the scripts that manifests and Makefiles start."""
        tree = Tree(base_paths)
        named = named_standards(contract, tree, read)
        more = leaned_on(named.standards, named.scripts, tree, read, contract.description)
        return cls(contract, tree, Named({**more, **named.standards}, named.scripts))

    def covers(self, path: str) -> Reason | None:
        """Why a path is protected as a whole; None where it is free, or is a manifest protected by key."""
        path = posixpath.normpath(path)
        if self._lifted.match(path):
            return None
        if self._added.match(path):
            return Reason("named by `protect`")
        sentence = known_standard(path)
        if sentence is None and not is_manifest(path):
            sentence = self._named_standard(path) or self._shadowing(path) or self._in_place_of_a_standard(path)
        return Reason(sentence) if sentence else None

    def _is_standard(self, path: str) -> bool:
        return bool(known_standard(path) or self._named_standard(path))

    def _in_place_of_a_standard(self, path: str) -> str | None:
        """New Python that is found before a protected module: its folder, its compiled twin, its package's start."""
        if path in self._tree.files:
            return None
        folder, name = posixpath.split(path)
        hidden = [f"{parent}.py" for parent in PurePosixPath(path).parents]
        if name.endswith((".so", ".pyd")):
            hidden.append(posixpath.join(folder, f"{name.partition('.')[0]}.py"))
        for module in hidden:
            if module in self._tree.files and self._is_standard(module):
                return f"new module in place of {module}"
        beside = (file for file in self._tree.files if posixpath.dirname(file) == folder)
        if folder and name == "__init__.py" and any(self._is_standard(file) for file in beside):
            return "start of a package that holds what checks run"
        return None

    def by_key(self, path: str) -> bool:
        """Whether a path is a manifest of which only some keys are protected."""
        return is_manifest(path) and self.covers(path) is None and not self._lifted.match(posixpath.normpath(path))

    def _named_standard(self, path: str) -> str | None:
        while path:
            if path in self._named:
                return self._named[path]
            path = posixpath.dirname(path)
        return None

    def _shadowing(self, path: str) -> str | None:
        """A new module beside the checks that Python would import in place of its own, or of the runner."""
        if path in self._tree.files:
            return None
        folder, name = posixpath.split(path)
        module, _, ending = name.partition(".")
        if module == "__init__":
            folder, module = posixpath.split(folder)
        is_shadow = module in _SHADOWED and ending.endswith(("py", "pyc", "so", "pyd"))
        return f"new module in place of Python's `{module}`" if is_shadow and folder in self._import_roots else None


def _import_roots(contract: Contract) -> Iterator[str]:
    for start in (".", *(check.cwd for check in contract.checks)):
        yield from (_root(start), _root(posixpath.join(start, "src")), _root(posixpath.join(start, "lib")))
    for check in contract.checks:
        yield from _python_path(check.env, check.cwd)
        for command in simple_commands(check.command, check.cwd):
            yield from (_root(command.folder), *_python_path(command.variables, command.folder))


def _python_path(variables: dict[str, str], folder: str) -> Iterator[str]:
    for entry in variables.get("PYTHONPATH", "").split(":"):
        if entry and not entry.startswith("/"):
            yield _root(posixpath.join(folder, entry))


def _root(folder: str) -> str:
    folder = posixpath.normpath(folder)
    return "" if folder == "." else folder


def is_setup_input(path: str, contract: Contract) -> bool:
    """Whether a change to this path means that dependencies must be set up anew."""
    return known_setup_input(path) or Globs(contract.setup_inputs).match(posixpath.normpath(path))
