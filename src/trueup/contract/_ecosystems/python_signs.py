"""The traces that Python's test runners leave in a package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from .commands import PYTHON_TESTS, recognise
from .found import table
from .package import Package
from .python_project import PythonProject

_TEST_FOLDERS = ("tests", "test", "")
_TEST_FILE = re.compile(r"(test.*|.*_test)\.py")
_TEST_FILES_LIMIT = 20
_FOLDERS_LIMIT = 20
_USES_PYTEST = re.compile(r"^[ \t]*(import pytest|from pytest\b)|^(async )?def test_", re.MULTILINE)
_USES_UNITTEST = re.compile(r"^[ \t]*(import unittest|from unittest\b)", re.MULTILINE)
_NOX_FUNCTION = re.compile(r"def (\w+)\(")


def pytest_sign(project: PythonProject) -> str:
    """The first trace of pytest, as a sentence; "" where there is none."""
    return next(_pytest_signs(project), "")


def uses_unittest(package: Package) -> str:
    """Which test file uses unittest, as a sentence."""
    return next((f"{package.label(name)} uses unittest" for name in _matching(package, _USES_UNITTEST)), "")


def first_test_folder(package: Package) -> str | None:
    """The folder that holds test files, "" for the package's own; None where there are none."""
    return next((name.split("/")[0] if "/" in name else "" for name in _test_files(package)), None)


def nox_session(noxfile: str) -> str:
    """The session that runs tests; "" for nox's own choice."""
    sessions = set()
    decorated = False
    for line in noxfile.splitlines():
        decorated = decorated or line.startswith(("@nox.session", "@session"))
        if decorated and (match := _NOX_FUNCTION.match(line)):
            sessions.add(match[1])
            decorated = False
    return next((name for name in ("tests", "test", "unit", "unit_tests", "pytest") if name in sessions), "")


def tox_environment(project: PythonProject) -> tuple[str, str]:
    """Where tox is configured, and the environment to run; "" for all that it lists."""
    package = project.package
    if package.exists("tox.ini"):
        # A tox.ini may hold nothing but other tools' sections.
        sections = project.ini("tox.ini")
        settings = sections.get("tox") or sections.get("testenv")
        sign = f"{package.label('tox.ini')} configures tox" if settings is not None else ""
        listed = (settings or {}).get("envlist") or (settings or {}).get("env_list", "")
    elif tox := table(project.pyproject, "tool", "tox"):
        sign = f"{package.label('pyproject.toml')} has [tool.tox]"
        listed = str(tox.get("env_list") or tox.get("legacy_tox_ini") or "")
    else:
        return "", ""
    # `py` is tox's name for the interpreter at hand; a list of versions would need every one of them.
    return sign, "py" if not listed or re.search(r"\bpy(thon)?[\d{3.]", listed) else ""


def _pytest_signs(project: PythonProject) -> Iterator[str]:
    package = project.package
    for name in package.existing("pytest.ini", ".pytest.ini"):
        yield f"{package.label(name)} is there"
    tools = table(project.pyproject, "tool", "pytest")
    if tools:
        section = "tool.pytest.ini_options" if "ini_options" in tools else "tool.pytest"
        yield f"{package.label('pyproject.toml')} has [{section}]"
    for name, section in (("setup.cfg", "tool:pytest"), ("tox.ini", "pytest")):
        if section in project.ini(name):
            yield f"{package.label(name)} has [{section}]"
    for name in package.existing("conftest.py", "tests/conftest.py", "test/conftest.py"):
        yield f"{package.label(name)} is there"
    if file := project.declared_in("pytest"):
        yield f"{file} names pytest"
    for command in package.ci:
        known = recognise(command.line)
        if known and known.identity == PYTHON_TESTS and known.tool in ("pytest", "py.test"):
            yield f"{command.file} runs pytest"
    yield from (f"{package.label(name)} has tests for pytest" for name in _matching(package, _USES_PYTEST))


def _matching(package: Package, pattern: re.Pattern[str]) -> Iterator[str]:
    for name in islice(_test_files(package), _TEST_FILES_LIMIT):
        if pattern.search(package.text(name)):
            yield name


def _test_files(package: Package) -> Iterator[str]:
    for folder in _TEST_FOLDERS:
        names = package.names(folder)
        yield from (_joined(folder, name) for name in names if _TEST_FILE.fullmatch(name))
        if folder:
            yield from _test_files_below(package, folder, names)


def _test_files_below(package: Package, folder: str, names: list[str]) -> Iterator[str]:
    subfolders = (name for name in names if package.is_folder(f"{folder}/{name}"))
    for subfolder in islice(subfolders, _FOLDERS_LIMIT):
        for name in package.names(f"{folder}/{subfolder}"):
            if _TEST_FILE.fullmatch(name):
                yield f"{folder}/{subfolder}/{name}"


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
