"""A project of skill tests that needs no model, and pytest as its author runs it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from trueup.core.process import Command, Finished, run

PROVIDER = f'[{sys.executable}, "-m", trueup.testing.provider]'
CASE = 'skill: ../skills/{skill}\ninput: Greet Ada.\nevals:\n- {{type: boolean, criterion: "says `{word}`"}}\n'


class Author:
    """Writes skills and cases, and calls pytest in their folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.skill("greeter", "fake-reply: hello Ada\nfake-tool: Bash ls -l")
        self.write("skilltest.yaml", f"provider: {{kind: command, command: {PROVIDER}}}\nmodels: [m]\njudge_model: j\n")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def skill(self, name: str, body: str) -> None:
        self.write(f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: Greets people.\n---\n{body}\n")

    def case(self, name: str, word: str = "hello", skill: str = "greeter") -> Path:
        return self.write(f"cases/{name}.skilltest.yaml", CASE.format(skill=skill, word=word))

    def pytest(self, *arguments: str) -> Finished:
        """Only with the plugins that are named, so that those of whoever runs these tests have no say."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        argv = (
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "trueup.skills.pytest_plugin",
            "-p",
            "no:cacheprovider",
            *arguments,
        )
        env = {**own, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return asyncio.run(run(Command(argv=argv, cwd=self.root, env=env, timeout_secs=60)))


@pytest.fixture
def author(tmp_path) -> Author:
    return Author(tmp_path)
