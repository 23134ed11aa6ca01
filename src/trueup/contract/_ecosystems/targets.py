"""Make and just: the targets test, check and lint where they really are targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from .commands import recognise, simple_commands
from .found import Ecosystem, Finds, Found, Purpose
from .package import Package

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_PURPOSES = {"lint": Purpose.LINT, "test": Purpose.TESTS, "check": Purpose.TESTS}
# `name: …`, but neither an assignment (`name := …`) nor a variable for one target (`name: VAR = …`).
_MAKE_RULE = re.compile(r"(?P<names>[^\s:#=][^:#=]*):{1,2}(?![:=])(?P<after>[^=#;]*)(?:[;#].*)?")
_JUST_RULE = re.compile(r"@?(?P<names>[A-Za-z_][\w-]*+)[^:]*+:(?!=)(?P<after>.*)")


class _Target(Struct):
    """A target with what it depends on and the commands of its recipe."""

    prerequisites: list[str] = []
    recipe: list[str] = []


Targets = dict[str, _Target]


def find_make(package: Package) -> Finds:
    """`make lint`, `make test`, `make check`."""
    yield from _checks(package, "make", package.first(*_MAKEFILES), make_targets(package))


def find_just(package: Package) -> Finds:
    """`just lint`, `just test`, `just check`."""
    yield from _checks(package, "just", package.first(*_JUSTFILES), just_targets(package))


def make_targets(package: Package) -> Targets:
    name = package.first(*_MAKEFILES)
    text = package.text(name) if name else ""
    return _parsed(_without_definitions(text.replace("\\\n", " ").splitlines()), _MAKE_RULE, "\t")


def just_targets(package: Package) -> Targets:
    name = package.first(*_JUSTFILES)
    return _parsed((package.text(name) if name else "").splitlines(), _JUST_RULE, (" ", "\t"))


def covers_make(package: Package, member: Package) -> bool:
    return _names_folder(package, package.first(*_MAKEFILES), member)


def covers_just(package: Package, member: Package) -> bool:
    return _names_folder(package, package.first(*_JUSTFILES), member)


MAKE = Ecosystem(language="Make", manifests=_MAKEFILES, find=find_make, covers=covers_make, starts_others=True)
JUST = Ecosystem(language="just", manifests=_JUSTFILES, find=find_just, covers=covers_just, starts_others=True)


def _names_folder(package: Package, file: str, member: Package) -> bool:
    """A file of targets that names a folder is taken to run the one in it."""
    folder = re.escape(package.relative(member.folder))
    return bool(file) and re.search(rf"(?<![\w/-]){folder}(?![\w-])", package.text(file)) is not None


def _checks(package: Package, tool: str, file: str, targets: Targets) -> Iterator[Found]:
    for name, purpose in _PURPOSES.items():
        if name in targets and not (name == "check" and _overlap(targets, "check", "test")):
            yield Found(
                purpose=purpose,
                tool=tool,
                command=f"{tool} {name}",
                reason=f"{package.label(file)} has the target {name}",
                identity=f"{tool} {name}",
                runs=frozenset(_runners(targets, name)),
                timeout_secs=300 if purpose is Purpose.LINT else 0,
            )


def _overlap(targets: Targets, one: str, other: str) -> bool:
    return other in _closure(targets, one) or one in _closure(targets, other)


def _runners(targets: Targets, name: str) -> Iterator[str]:
    """The known runners that a target starts, itself or by what it depends on."""
    for line in (line for each in _closure(targets, name) for line in targets[each].recipe):
        for command in simple_commands(line.strip().lstrip("@-+ ")):
            if known := recognise(command):
                yield known.identity


def _closure(targets: Targets, name: str) -> list[str]:
    reached: dict[str, None] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in targets and current not in reached:
            reached[current] = None
            waiting.extend(targets[current].prerequisites)
    return list(reached)


def _without_definitions(lines: Iterable[str]) -> Iterator[str]:
    """Leave out multi-line variables, whose text may look like rules."""
    inside = False
    for line in lines:
        inside = inside or line.startswith("define ")
        if not inside:
            yield line
        inside = inside and not line.startswith("endef")


def _parsed(lines: Iterable[str], rule: re.Pattern[str], indent: str | tuple[str, ...]) -> Targets:
    targets: Targets = {}
    current: list[_Target] = []
    for line in lines:
        if line.startswith(indent):
            for target in current:
                target.recipe.append(line)
        elif match := rule.fullmatch(line.rstrip()):
            current = [targets.setdefault(name, _Target()) for name in match["names"].split()]
            for target in current:
                target.prerequisites.extend(match["after"].split())
        elif line.strip() and not line.startswith("#"):
            current = []
    return targets
