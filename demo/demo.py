"""What trueup does so far, shown on a sample repository that is made and thrown away here.

Nothing is scripted but the repository and its repair: every result printed below was found by running something.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from trueup.contract import Check, CheckCompleted, Contract, evaluate, load_contract
from trueup.core.protocols import Event
from trueup.workspace import FolderShell

TRUEUP = Path(sys.executable).with_name("trueup")

BUGGY = "def add(a, b):\n    return a - b\n"
SUITE = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)

    def test_zero(self):
        self.assertEqual(add(4, 0), 4)
"""


class Screen:
    """A recorder that prints each result as it is found."""

    async def record(self, event: Event) -> None:
        if isinstance(event, CheckCompleted):
            result = event.result
            mark = "green" if result.passed else f"red: {result.reason}"
            counts = f", {result.counts.passed} passed, {result.counts.failed} failed" if result.counts else ""
            print(f"    {result.name}: {mark}{counts} ({result.duration_ms} ms)")


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def trueup(repo: Path, *arguments: str) -> int:
    print(f"  $ trueup {' '.join(arguments)}", flush=True)
    finished = subprocess.run([TRUEUP, *arguments], cwd=repo, check=False, text=True, capture_output=True)
    print("".join(f"    {line}\n" for line in (finished.stdout + finished.stderr).splitlines() if line), end="")
    return finished.returncode


def make_repository(repo: Path) -> None:
    (repo / "tests").mkdir()
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_calc.py").write_text(SUITE)
    (repo / "calc.py").write_text(BUGGY)
    identity = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid")
    for arguments in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "A calculator with a bug")):
        subprocess.run(["git", *arguments], cwd=repo, check=True)


async def show_evaluation(contract: Contract, repo: Path) -> bool:
    results = await evaluate(contract, FolderShell(repo), Screen())
    return all(result.passed for result in results)


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="trueup-demo-") as scratch:
        repo = Path(scratch)
        make_repository(repo)

        heading("1. What does done mean? Ask the repository (no model, nothing is run yet).")
        trueup(repo, "contract", "derive", "make add() correct", "--offline", "-o", "contract.yaml")
        contract = load_contract(repo / "contract.yaml")

        heading("2. Is it done? The condition is executed, not read.")
        red = await show_evaluation(contract, repo)

        heading("3. The bug is mended; the same commands are run again.")
        (repo / "calc.py").write_text(BUGGY.replace("-", "+"))
        green = await show_evaluation(contract, repo)

        heading("4. A contract that could never say no is not accepted silently.")
        (repo / "weak.yaml").write_text("description: d\nchecks:\n- {name: tests, command: pytest || true}\n")
        trueup(repo, "contract", "validate", "weak.yaml")
        (repo / "noop.yaml").write_text("description: d\nchecks:\n- {name: tests, command: python3 --version}\n")
        refused = trueup(repo, "contract", "validate", "noop.yaml")

        heading("5. A check that leaves a daemon behind, or never ends, costs nothing but its own time.")
        tricks = [
            Check(name="daemon", command="setsid sleep 1000 & echo claimed done"),
            Check(name="endless", command="trap '' TERM; while :; do sleep 1; done", timeout_secs=1),
        ]
        await show_evaluation(Contract(description="tricks", checks=tricks), repo)

    as_expected = not red and green and refused == 1
    heading("All as it should be." if as_expected else "Something here is not as it should be.")
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
