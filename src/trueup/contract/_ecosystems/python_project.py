"""What a Python package declares: its dependencies, and the manager that installs them."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from .found import Setup, strings, table
from .package import Package

_FOR_TESTS = frozenset({"test", "tests", "testing", "dev", "develop", "development"})
_TOOLS = frozenset({"pytest", "ruff", "mypy", "tox", "nox", "pre-commit"})
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_REQUIREMENTS = (
    "requirements.txt",
    *(f"requirements{mark}{kind}.txt" for kind in ("dev", "test", "tests") for mark in ("-", "_", "/")),
    *(f"{kind}{mark}requirements.txt" for kind in ("dev", "test") for mark in ("-", "_")),
)
_MODULES = {"pre-commit": "pre_commit", "codespell": "codespell_lib", "py.test": "pytest"}


class PythonProject:
    """The declarations of one package, gathered from every place where Python projects put them."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.pyproject = package.toml("pyproject.toml")
        self.pipfile = package.toml("Pipfile")
        self.setup_cfg = self.ini("setup.cfg")
        self.poetry = table(self.pyproject, "tool", "poetry")
        self.requirements = package.existing(*_REQUIREMENTS)

    def ini(self, name: str) -> dict[str, dict[str, str]]:
        """The sections of an INI file; what cannot be read is noted and reads as empty."""
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(self.package.text(name))
            return {section: dict(parser[section]) for section in parser.sections()}
        except (configparser.Error, ValueError, AttributeError):
            self.package.repository.note(f"{self.package.label(name)} is not a valid INI file; it was not read")
            return {}

    def declared_in(self, name: str) -> str:
        """The file that names a declared dependency; "" where none does."""
        if name not in self.declared:
            return ""
        files = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile", *self.requirements)
        return next((self.package.label(file) for file in files if name in self.package.text(file).lower()), "")

    @cached_property
    def extras(self) -> dict[str, set[str]]:
        """Optional dependencies by extra."""
        declared = table(self.pyproject, "project", "optional-dependencies")
        extras = {name: names_of(strings(listed)) for name, listed in declared.items()}
        for name, listed in self.setup_cfg.get("options.extras_require", {}).items():
            extras[name] = names_of(listed.splitlines())
        script = self.package.text("setup.py")
        if "extras_require" in script:
            for name in sorted(_FOR_TESTS):
                if re.search(rf"""["']{name}["']\s*:|\b{name}\s*=\s*\[""", script):
                    extras.setdefault(name, set())
        return extras

    @cached_property
    def groups(self) -> dict[str, set[str]]:
        """Dependency groups by name."""
        declared = table(self.pyproject, "dependency-groups")
        return {name: names_of(strings(listed)) for name, listed in declared.items()}

    @cached_property
    def declared(self) -> set[str]:
        """The names of everything this package asks for, in any group."""
        names = names_of(self._listed()).union(*self.extras.values(), *self.groups.values())
        for section in self._tables():
            names |= {_normalised(name) for name in section}
        script = self.package.text("setup.py")
        return names | {tool for tool in _TOOLS if re.search(rf"""["']{tool}\b""", script)}

    @property
    def needs_install(self) -> bool:
        """Whether anything must be installed before the code can be imported."""
        runtime = self.declared - {"python"}
        return bool(runtime) or (self.is_buildable and self.package.is_folder("src"))

    @property
    def is_buildable(self) -> bool:
        named = table(self.pyproject, "project") or self.pyproject.get("build-system")
        return bool(named) or self.package.exists("setup.py") or "metadata" in self.setup_cfg

    @property
    def test_extras(self) -> list[str]:
        return _wanted(self.extras)

    @property
    def test_groups(self) -> list[str]:
        return _wanted(self.groups)

    def _listed(self) -> Iterator[str]:
        yield from strings(table(self.pyproject, "project").get("dependencies"))
        yield from strings(table(self.pyproject, "tool", "uv").get("dev-dependencies"))
        for listed in table(self.pyproject, "tool", "pdm", "dev-dependencies").values():
            yield from strings(listed)
        options = self.setup_cfg.get("options", {})
        yield from (options.get("install_requires", "") + "\n" + options.get("tests_require", "")).splitlines()
        for name in self.requirements:
            yield from self.package.text(name).splitlines()

    def _tables(self) -> Iterator[dict[str, Any]]:
        yield table(self.poetry, "dependencies")
        yield table(self.poetry, "dev-dependencies")
        for group in table(self.poetry, "group"):
            yield table(self.poetry, "group", group, "dependencies")
        yield table(self.pipfile, "packages")
        yield table(self.pipfile, "dev-packages")


class Environment:
    """How a package's tools are installed and then run: by uv, poetry, pdm, pipenv, or pip in `.venv`."""

    def __init__(self, project: PythonProject) -> None:
        self.project = project
        self.package = project.package
        self.manager = _manager(project)

    def run(self, *words: str) -> str:
        """A command line that uses the environment."""
        if self.manager == "pip":
            module = _MODULES.get(words[0], words[0])
            before = [".venv/bin/python"] if words[0] == "python" else [".venv/bin/python", "-m", module]
            return shlex.join([*before, *words[1:]])
        return shlex.join([*_RUN[self.manager], *words])

    def setups(self, tools: Iterable[str]) -> Iterator[Setup]:
        """Install what is declared, and those of the tools that are not."""
        undeclared = sorted({tool for tool in tools if tool not in self.project.declared})
        match self.manager:
            case "uv":
                yield self._install("uv.lock", " ".join(["uv sync", *self._uv_flags()]))
            case "poetry":
                yield self._install("poetry.lock", " ".join([_POETRY, *self._poetry_flags()]))
            case "pdm":
                yield self._install("pdm.lock", "pdm sync")
            case "pipenv":
                yield self._install("Pipfile.lock", "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev")
            case _:
                yield from self._pip_setups()
        if undeclared:
            reason = f"{' and '.join(undeclared)} {'is' if len(undeclared) == 1 else 'are'} used but not declared"
            yield Setup(tool=self.manager, command=self._adding(undeclared), reason=reason)

    def _adding(self, tools: list[str]) -> str:
        if self.manager == "uv":
            return shlex.join(["uv", "pip", "install", *tools])
        return self.run("python", "-m", "pip", "install", *tools)

    def _install(self, lock: str, command: str) -> Setup:
        inputs = self.package.existing("pyproject.toml", "Pipfile", "setup.py", "setup.cfg", lock)
        evidence = lock if lock in inputs else "pyproject.toml"
        reason = f"{self.package.label(evidence)} is {self.manager}'s"
        return Setup(tool=self.manager, command=command, reason=reason, inputs=tuple(inputs))

    def _uv_flags(self) -> Iterator[str]:
        if self.package.exists("uv.lock"):
            yield "--frozen"
        if table(self.project.pyproject, "tool", "uv", "workspace"):
            yield "--all-packages"
        yield from (f"--extra {shlex.quote(extra)}" for extra in self.project.test_extras)
        # uv installs the group `dev` unasked.
        yield from (f"--group {shlex.quote(group)}" for group in self.project.test_groups if group != "dev")

    def _poetry_flags(self) -> Iterator[str]:
        groups = table(self.project.poetry, "group")
        optional = {name for name in groups if table(groups, name).get("optional") is True}
        yield from (f"--with {shlex.quote(name)}" for name in sorted(optional & _FOR_TESTS))
        extras = {*self.project.test_extras, *(table(self.project.poetry, "extras").keys() & _FOR_TESTS)}
        yield from (f"--extras {shlex.quote(extra)}" for extra in sorted(extras))

    def _pip_setups(self) -> Iterator[Setup]:
        yield Setup(tool="pip", command="python3 -m venv .venv", reason="Python packages are installed in .venv")
        arguments = [word for name in self.project.requirements for word in ("-r", name)]
        groups = self.project.test_groups
        arguments += [word for group in groups for word in ("--group", group)]
        if self.project.is_buildable:
            extras = ",".join(self.project.test_extras)
            arguments += ["-e", f".[{extras}]" if extras else "."]
        if groups:
            upgrade = self.run("pip", "install", "--upgrade", "pip")
            yield Setup(tool="pip", command=upgrade, reason="pip installs dependency groups since 25.1")
        if arguments:
            inputs = self.package.existing("pyproject.toml", "setup.py", "setup.cfg", *self.project.requirements)
            named = " and ".join(self.package.label(name) for name in inputs)
            command = self.run("pip", "install", *arguments)
            yield Setup(tool="pip", command=command, reason=f"{named} without a lock file", inputs=tuple(inputs))


# Elsewhere than in the project the environment would be lost with the scratch home folder that setup runs with.
_POETRY = "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install"
_RUN = {
    "uv": ["uv", "run", "--no-sync"],
    "poetry": ["poetry", "run"],
    "pdm": ["pdm", "run"],
    "pipenv": ["pipenv", "run"],
}


def names_of(requirements: Iterable[str]) -> set[str]:
    """The package names in requirement lines."""
    return {_normalised(match[1]) for line in requirements if (match := _NAME.match(line))}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted(optional: dict[str, set[str]]) -> list[str]:
    named = {name: names for name, names in optional.items() if _NAME.fullmatch(name)}
    return sorted(name for name, names in named.items() if name.lower() in _FOR_TESTS or names & _TOOLS)


def _manager(project: PythonProject) -> str:
    exists = project.package.exists
    if exists("uv.lock"):
        return "uv"
    if exists("poetry.lock") or project.poetry:
        return "poetry"
    if exists("pdm.lock"):
        return "pdm"
    if exists("Pipfile.lock"):
        return "pipenv"
    return "uv" if table(project.pyproject, "tool", "uv") else "pip"
