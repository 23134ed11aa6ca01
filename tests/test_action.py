"""The GitHub Action: its shell steps, run as a runner runs them, on changes that are done and on one that cheats."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from checkouts import Checkout
from trueup.core.process import Command, run

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TRUEUP = str(Path(sys.executable).with_name("trueup"))
SUITE = "python3 -m unittest discover -s tests -t . -q"
CONTRACT = f"contract:\n  description: it adds\n  checks:\n  - {{name: suite, command: {SUITE}}}\n"
TEST = "import unittest, calc\n\n\nclass Adds(unittest.TestCase):\n    def test(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"


class Ran(Struct):
    """How the action ended: the exit code of the step that failed, or 0."""

    exit_code: int
    log: str
    verdict: str
    summary: str


class Runner:
    """As much of GitHub's runner as this action needs: expressions, conditions, variables, and bash."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self._temp = folder / "temp"
        self._temp.mkdir()
        self._repository = repository
        self._files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}

    async def run(self, base: str = "", **given: str) -> Ran:
        """The action with these inputs; `base` is the base of the pull request."""
        inputs = {name: spec["default"] for name, spec in ACTION["inputs"].items()}
        inputs |= {"program": TRUEUP, **{name.replace("_", "-"): value for name, value in given.items()}}
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known["github.event.pull_request.base.sha"] = base
        for file in self._files.values():
            file.write_text("")
        code, log = 0, ""
        for step in ACTION["runs"]["steps"]:
            if "run" in step and _holds(step.get("if", "'x' != ''"), known):
                code, said = await self._step(step, known)
                log += said
            if code:
                break
        outputs = dict(line.split("=", 1) for line in self._files["GITHUB_OUTPUT"].read_text().splitlines())
        return Ran(code, log, outputs.get("verdict", "(none)"), self._files["GITHUB_STEP_SUMMARY"].read_text())

    async def _step(self, step: dict[str, Any], known: dict[str, str]) -> tuple[int, str]:
        script = self._temp / "script.sh"
        script.write_text(step["run"])
        env = {name: _written(value, known) for name, value in step.get("env", {}).items()}
        finished = await run(
            Command(
                argv=("bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)),
                cwd=self._repository / _written(step.get("working-directory", "."), known),
                env={
                    **os.environ,
                    **{name: str(file) for name, file in self._files.items()},
                    "GITHUB_ACTIONS": "true",
                    "GITHUB_ACTION_PATH": str(ROOT),
                    "RUNNER_TEMP": str(self._temp),
                    "RUNNER_ENVIRONMENT": "self-hosted",
                    **env,
                },
                merge_stderr=True,
                timeout_secs=300,
            )
        )
        assert finished.exit_code is not None
        return finished.exit_code, finished.stdout.text


def _written(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{(.+?)\}\}", lambda found: _value(found[1], known), text)


def _value(expression: str, known: dict[str, str]) -> str:
    """`a || 'b'`: the first that says something. An unknown name is a mistake in the action."""
    values = [
        word.strip("'") if word.startswith("'") else known[word] for word in re.split(r"\s*\|\|\s*", expression.strip())
    ]
    return next((value for value in values if value), "")


def _holds(condition: str, known: dict[str, str]) -> bool:
    parts = [re.fullmatch(r"(\S+) (==|!=) ('.*')", part) for part in condition.split(" && ")]
    return all((_value(part[1], known) == part[3].strip("'")) is (part[2] == "==") for part in parts if part)


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def repository(tmp_path) -> Checkout:
    """A repository with a bug; its commit is the base of every pull request here."""
    checkout = Checkout(tmp_path / "repository")
    for name, content in {"calc.py": WRONG, "tests/__init__.py": "", "tests/test_calc.py": TEST}.items():
        checkout.write(name, content)
    checkout.write("trueup.yaml", CONTRACT)
    checkout.commit("the base")
    return checkout


@pytest.fixture
def runner(tmp_path, repository) -> Runner:
    return Runner(tmp_path, repository.root)


async def test_an_honest_change_is_verified(repository, runner):
    base = repository.head
    repository.write("calc.py", RIGHT)
    repository.commit("mended")
    repository.write("left_by_another_step.py", "not part of the change")
    ran = await runner.run(base)
    assert (ran.exit_code, ran.verdict) == (0, "verified"), ran.log
    assert "## trueup: verified" in ran.summary


async def test_a_cheat_is_refused_and_annotated(repository, runner):
    base = repository.head
    repository.write("tests/test_calc.py", TEST.replace("5)", "-1)"))
    repository.commit("it is done")
    ran = await runner.run(base)
    assert (ran.exit_code, ran.verdict) == (1, "refused"), ran.log
    assert "::error" in ran.log
    assert "file=tests/test_calc.py" in ran.log


async def test_what_an_input_says_is_not_run(repository, runner, tmp_path):
    ran = await runner.run(base=f"$(touch {tmp_path}/ran)", arguments=f"--guards-only ; touch {tmp_path}/ran")
    assert (ran.exit_code, ran.verdict) == (2, ""), ran.log
    assert not (tmp_path / "ran").exists()


async def test_trust_is_in_what_the_base_says_and_not_in_what_the_change_makes_of_it(repository, runner):
    asks = CONTRACT + "  setup: [touch made-by-setup]\n"
    repository.write("trueup.yaml", asks)
    repository.commit("with a setup")
    base = repository.head
    repository.write("calc.py", RIGHT)
    repository.write("trueup.yaml", asks.replace("made-by-setup", "something-else"))
    repository.commit("mended")
    without = await runner.run(base)
    assert (without.exit_code, without.verdict) == (2, ""), without.log
    trusted = await runner.run(base, trust="true")
    assert "setup: touch made-by-setup" in trusted.log
    assert trusted.verdict == "verified", trusted.log
    assert "something-else" not in trusted.log


async def test_trust_without_a_base_is_refused(repository, runner):
    ran = await runner.run(trust="true")
    assert (ran.exit_code, "trust needs a base" in ran.log) == (2, True), ran.log


def test_every_step_of_the_action_has_a_shell_or_an_action():
    for step in ACTION["runs"]["steps"]:
        assert ("run" in step and step["shell"] == "bash") or "@" in step["uses"]
        assert "${{" not in step.get("run", ""), "an input would become part of the script"
