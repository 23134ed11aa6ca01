"""A contract from what the repository says about itself: no model is asked and no command is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from trueup.core.errors import InputError

from ._ecosystems import ECOSYSTEMS, Found, Package, Purpose, Repository, Setup, package_folders, show
from ._model import Check, Contract
from ._workflows import ci_commands

PACKAGES_LIMIT = 10
CHECKS_LIMIT = 8

_DESCRIPTION = "The repository's own checks pass."


class Suggestion(Struct, frozen=True):
    """A command that the repository itself suggests, and why."""

    kind: Literal["check", "setup"]
    command: str
    reason: str
    cwd: str = "."
    name: str = ""


class OfflineDerivation(Struct, frozen=True):
    """A proposed contract, the reason for each of its commands, and what could not be read or was left out."""

    contract: Contract
    suggestions: list[Suggestion]
    notes: list[str]


class Finding(Struct, frozen=True):
    """What was found in one package. `systems` names the tools by language, whether or not they check anything."""

    package: Package
    checks: list[Found]
    setups: list[Setup]
    systems: dict[str, list[str]]


class Survey(Struct, frozen=True):
    """Everything found in a repository, the nearer to its root the earlier."""

    findings: list[Finding]
    repository: Repository


def derive_offline(repo: Path, intent: str = "", *, called: str | None = None) -> OfflineDerivation:
    """Propose a contract from the repository's files, with evidence for each command.

    `called` is what a person knows these files as, where their folder is not one of theirs.
    """
    if not repo.is_dir():
        raise InputError(f"{repo} is not a folder; name the repository whose checks are wanted")
    seen = survey(repo)
    findings = proposed(seen)
    if not findings:
        raise InputError(_nothing_found(called or str(repo), seen.repository.notes))
    suggestions = list(suggestions_of(findings))
    contract = Contract(
        description=intent.strip() or _DESCRIPTION,
        checks=list(_checks(findings, suggestions)),
        setup=_unique(one.command for one in suggestions if one.kind == "setup"),
        setup_inputs=_unique(_inputs(findings)),
    )
    return OfflineDerivation(contract, suggestions, seen.repository.notes)


def survey(repo: Path) -> Survey:
    """Look through the repository's packages; nothing found is an answer too."""
    repository = Repository(repo)
    commands = ci_commands(repository)
    manifests = frozenset(name for ecosystem in ECOSYSTEMS for name in ecosystem.manifests)
    folders = package_folders(repository, manifests)
    packages = [
        Package(
            repository=repository,
            folder=folder,
            ci=tuple(command for command in commands if command.cwd == folder),
            below=tuple(other for other in folders if _is_below(other, folder)),
        )
        for folder in _unique([*folders, *sorted(command.cwd for command in commands)])
    ]
    return Survey([_look_at(package, packages) for package in packages], repository)


def proposed(seen: Survey) -> list[Finding]:
    """The findings with checks, as many as a contract can bear."""
    findings = [finding for finding in seen.findings if finding.checks]
    if len(findings) > PACKAGES_LIMIT:
        seen.repository.note(f"{len(findings)} packages found, the first {PACKAGES_LIMIT} are proposed")
    return findings[:PACKAGES_LIMIT]


def suggestions_of(findings: list[Finding]) -> Iterator[Suggestion]:
    """The commands as a person reads them: each package's setup, then its checks by name."""
    taken: set[str] = set()
    for finding in findings:
        folder = finding.package.folder
        for setup in finding.setups:
            yield Suggestion("setup", _in_folder(folder, setup.command), setup.reason)
        for check in finding.checks:
            name = _free_name(folder, check, taken)
            taken.add(name)
            yield Suggestion("check", check.command, check.reason, folder, name)


def _look_at(package: Package, packages: list[Package]) -> Finding:
    above = [other for other in packages if _is_below(package.folder, other.folder)]
    finding = Finding(package, [], [], {})
    known: set[str] = set()
    spare: list[Setup] = []
    for ecosystem in ECOSYSTEMS:
        found = list(ecosystem.find(package))
        news = list(_news((one for one in found if isinstance(one, Found)), known))
        if any(ecosystem.covers(other, package) for other in above):
            continue
        setups = [one for one in found if isinstance(one, Setup)]
        finding.checks.extend(news)
        (finding.setups if news else spare).extend(setups)
        if ecosystem.starts_others and news:
            finding.setups.extend(spare)
            spare = []
        if ecosystem.language and (found or package.existing(*ecosystem.manifests)):
            tools = [one.tool for one in sorted(found, key=lambda one: isinstance(one, Setup))]
            finding.systems.setdefault(ecosystem.language, []).extend(_unique(tools))
    return Finding(package, _bounded(finding.checks, package), finding.setups, finding.systems)


def _news(found: Iterable[Found], known: set[str]) -> Iterator[Found]:
    """Leave out what only starts runners that are proposed already."""
    for one in found:
        is_known = one.identity in known or (bool(one.runs) and one.runs <= known)
        known |= {one.identity, *one.runs}
        if not is_known:
            yield one


def _bounded(checks: list[Found], package: Package) -> list[Found]:
    """From cheap to dear, and not too many: tests stay before anything else does."""
    tests_first = sorted(checks, key=lambda one: one.purpose is not Purpose.TESTS)
    if len(checks) > CHECKS_LIMIT:
        left_out = ", ".join(f"`{show(one.command)}`" for one in tests_first[CHECKS_LIMIT:])
        where = show(package.folder)
        package.repository.note(
            f"{where}: {len(checks)} checks found, {CHECKS_LIMIT} are proposed; left out: {left_out}"
        )
    return sorted(tests_first[:CHECKS_LIMIT], key=lambda one: one.purpose.rank)


def _checks(findings: list[Finding], suggestions: list[Suggestion]) -> Iterator[Check]:
    found = [check for finding in findings for check in finding.checks]
    for one, suggestion in zip(found, (each for each in suggestions if each.kind == "check"), strict=True):
        yield Check(
            name=suggestion.name,
            command=one.command,
            cwd=suggestion.cwd,
            timeout_secs=one.timeout_secs or one.purpose.timeout_secs,
        )


def _inputs(findings: list[Finding]) -> Iterator[str]:
    for finding in findings:
        yield from (finding.package.path(name) for setup in finding.setups for name in setup.inputs)


def _free_name(folder: str, check: Found, taken: set[str]) -> str:
    where = "" if folder == "." else f"{_slug(folder) or 'package'}_"
    name = f"{where}{check.purpose}"
    if name in taken:
        name = f"{where}{_slug(check.tool)}_{check.purpose}"
    number = 2
    while name in taken:
        name = f"{where}{_slug(check.tool)}_{check.purpose}_{number}"
        number += 1
    return name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _in_folder(folder: str, command: str) -> str:
    if folder == ".":
        return command
    # A folder may be called `-x`, which `cd` would take for a flag.
    target = shlex.quote(f"./{folder}" if folder.startswith("-") else folder)
    grouped = f"({command})" if "||" in command else command
    return f"cd {target} && {grouped}"


def _is_below(folder: str, other: str) -> bool:
    return folder != other and (other == "." or folder.startswith(f"{other}/"))


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _nothing_found(repo: str, notes: list[str]) -> str:
    message = (
        f"no checks were found in {show(repo)}: looked for Python, JavaScript, Rust, Go, Maven, Gradle, CMake, Make "
        "and just projects up to four folders deep, and for commands in CI files. Write a contract by hand with "
        "`checks:`, or let a model propose one (`trueup contract derive --help`)"
    )
    return f"{message} (notes: {'; '.join(notes)})" if notes else message
