"""What an ecosystem finds in a package: checks to propose, and the setup that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from .package import Package


class Purpose(StrEnum):
    """What a check is for, from cheap to dear; the value is its name in a contract."""

    LINT = "lint_clean"
    FORMAT = "format_clean"
    TYPES = "type_check"
    BUILD = "build"
    TESTS = "tests_pass"

    @property
    def rank(self) -> int:
        return list(Purpose).index(self)

    @property
    def timeout_secs(self) -> int:
        return _TIMEOUTS[self]


_TIMEOUTS = {Purpose.LINT: 120, Purpose.FORMAT: 120, Purpose.TYPES: 300, Purpose.BUILD: 900, Purpose.TESTS: 600}


class Found(Struct, frozen=True, kw_only=True):
    """A check that a package seems to want.

    `identity` says which runner it is, however it is spelled; `runs` names the runners that it starts in turn, so
    that `make test` is not proposed beside the pytest that it calls. `timeout_secs` 0 leaves it to the purpose.
    """

    purpose: Purpose
    tool: str
    command: str
    reason: str
    identity: str
    runs: frozenset[str] = frozenset()
    timeout_secs: int = 0


class Setup(Struct, frozen=True, kw_only=True):
    """A command that prepares a package, and the files (relative to it) that decide when it must run again."""

    tool: str
    command: str
    reason: str
    inputs: tuple[str, ...] = ()


Finds = Iterator[Found | Setup]


def covers_nothing(package: Package, member: Package) -> bool:
    """For ecosystems without workspaces."""
    return False


class Ecosystem(Struct, frozen=True, kw_only=True):
    """A family of tools: the manifests that announce it, and how to read them.

    `covers` says whether the commands of one package already cover another one below it, as in a workspace;
    `starts_others`, that its commands use what other ecosystems have set up.
    """

    language: str
    manifests: tuple[str, ...]
    find: Callable[[Package], Finds]
    covers: Callable[[Package, Package], bool] = covers_nothing
    starts_others: bool = False


def table(data: Any, *keys: str) -> dict[str, Any]:
    """The mapping under nested keys; an empty one where the way there is missing or is something else."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def strings(value: Any) -> list[str]:
    """The strings of a list that may hold anything, or may be no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def matches_any(folder: str, patterns: list[str]) -> bool:
    """Whether a folder is among a workspace's members; a pattern with `!` takes it out again."""
    included = False
    for pattern in patterns:
        steps = [step for step in pattern.removeprefix("!").split("/") if step not in ("", ".")]
        if _matches(folder.split("/"), steps):
            included = not pattern.startswith("!")
    return included


def _matches(folder: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not folder
    if pattern[0] == "**":
        return _matches(folder, pattern[1:]) or (bool(folder) and _matches(folder[1:], pattern))
    return bool(folder) and fnmatchcase(folder[0], pattern[0]) and _matches(folder[1:], pattern[1:])
