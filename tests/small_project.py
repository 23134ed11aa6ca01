"""A small repository with a real bug, and the verdict on whatever is done to it."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from trueup.coder import CheckRequest, Verdict, check_change
from trueup.core.process import Command, run
from trueup.testing import EventLog

FILES = {
    "slug.py": "def slug(text):\n    return text.lower().replace(' ', '_')  # a dash is wanted\n\n\ndef words(text):\n    return text.split()\n",
    "tests/__init__.py": "",
    "tests/test_slug.py": (
        "import unittest\n\nimport slug\n\n\nclass SlugTest(unittest.TestCase):\n"
        "    def test_joins_by_dashes(self):\n        self.assertEqual(slug.slug('A Nice Title'), 'a-nice-title')\n\n"
        "    def test_words(self):\n        self.assertEqual(slug.words('a b'), ['a', 'b'])\n"
    ),
    ".gitignore": "__pycache__/\nbuild/\n.venv/\n",
    "Makefile": "test:\n\tpython3 -m unittest discover -s tests -t . -q\n",
}
SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"


class Project:
    """A repository of a user's, in a folder of its own."""

    def __init__(self, root: Path, outside: Path) -> None:
        self.root = root
        self.outside = outside

    async def bash(self, script: str) -> str:
        identity = {
            f"GIT_{who}_{what}": "t@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        env = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        finished = await run(
            Command(argv=("bash", "-euo", "pipefail", "-c", script), cwd=self.root, env=env, merge_stderr=True)
        )
        assert finished.exit_code == 0, finished.stdout.text
        return finished.stdout.text.strip()

    async def commit(self, files: dict[str, str]) -> str:
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return await self.bash("git add -A && git commit -qm change && git rev-parse HEAD")

    async def check(self, *commands: str | dict, base: str | None = None, **request) -> Verdict:
        """The verdict on the working tree, by these commands (a name in front of nothing: they are numbered)."""
        checks = [
            {"name": f"check_{number}", "timeout_secs": 60, **(each if isinstance(each, dict) else {"command": each})}
            for number, each in enumerate(commands)
        ]
        more = {
            key: request.pop(key)
            for key in ("setup", "setup_inputs", "reuse", "editable", "protect", "setup_env")
            if key in request
        }
        contract = self.outside / "contract.json"
        contract.write_text(json.dumps({"description": "slug joins by dashes", "checks": checks, **more}))
        wanted = CheckRequest(folder=self.root, contract_file=contract, base=base, **request)
        return await check_change(wanted, EventLog())


@pytest.fixture
async def project(tmp_path, plain_path, monkeypatch) -> Project:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root, outside = tmp_path / "home" / "project", tmp_path / "outside"
    for folder in (root, outside, tmp_path / "tmp"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    made = Project(root, outside)
    await made.bash("git init -q -b main")
    await made.commit(FILES)
    return made


@pytest.fixture
async def project_with_pytest(project) -> Project:
    """A virtual environment of the project's own, with pytest in it, as a user has one."""
    await project.bash("python3 -m venv --without-pip .venv")
    (target,) = project.root.glob(".venv/lib/python*/site-packages")
    installed = Path(sysconfig.get_path("purelib"))
    for name in ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(installed / name, target / name, ignore=_languages_that_pytest_does_not_colour)
    shutil.copy(installed / "py.py", target)
    return project


def _languages_that_pytest_does_not_colour(folder: str, names: list[str]) -> list[str]:
    """Hundreds of files, which every check would be shown."""
    kept = ("__init__", "_mapping", "__pycache__", "python", "diff")
    return [name for name in names if not name.startswith(kept)] if "pygments/lexers" in folder else []
