"""Fixtures of the whole suite, and the rule that it leaves nothing behind."""

from __future__ import annotations

import compileall
import sys
import venv
from pathlib import Path

import pytest

import trueup

sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = ["leftovers"]

# Containers often tell Python to keep no byte code, and then it is made anew for every program that a test starts.
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(trueup.__file__).parent, quiet=2)


def pytest_sessionfinish() -> None:
    if "command_line" in sys.modules:
        sys.modules["command_line"].end_server()


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python that runs the suite without what is installed beside it, some of which loads at every start."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, symlinks=True)
    return folder


@pytest.fixture
def plain_path(bare_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with that Python in front, and no shim that looks for one in the HOME of whoever runs the suite."""
    monkeypatch.setenv("PATH", f"{bare_python}/bin:{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin")


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the settings of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    return home
