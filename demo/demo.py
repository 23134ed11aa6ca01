"""What trueup does so far, shown on a sample repository that is made and thrown away here.

Scripted are the repository and what "somebody" does to it. Every result printed below was found by running something.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRUEUP = Path(sys.executable).with_name("trueup")
CODE = "def slug(text):\n    return text.lower().replace(' ', '_')\n"
SUITE = """\
import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_joins_by_dashes(self):
        self.assertEqual(slug("A Nice Title"), "a-nice-title")

    def test_lowers(self):
        self.assertEqual(slug("ABC"), "abc")
"""


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


class Demo:
    """A repository in a folder of its own, with trueup's cache beside it."""

    def __init__(self, scratch: Path) -> None:
        self.repo = scratch / "repo"
        self.environ = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache"), "XDG_DATA_HOME": str(scratch / "data")}
        (self.repo / "tests").mkdir(parents=True)

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.repo, check=True, stdout=subprocess.DEVNULL)

    def trueup(self, *arguments: str, quiet: bool = False) -> int:
        """Run trueup and show what it said."""
        print(f"  $ trueup {' '.join(arguments)}", flush=True)
        finished = subprocess.run(
            [TRUEUP, *arguments], cwd=self.repo, env=self.environ, check=False, text=True, capture_output=True
        )
        said = finished.stdout if quiet else finished.stderr + finished.stdout
        print("".join(f"    {line}\n" for line in said.splitlines() if line), end="", flush=True)
        print(f"    exit {finished.returncode}", flush=True)
        return finished.returncode

    def make(self) -> None:
        """A small project with a real bug."""
        (self.repo / "slug.py").write_text(CODE)
        (self.repo / "tests" / "__init__.py").touch()
        (self.repo / "tests" / "test_slug.py").write_text(SUITE)
        (self.repo / ".gitignore").write_text("__pycache__/\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A slug with a bug")


def sandbox_options(demo: Demo) -> list[str]:
    """Nothing where a sandbox works; else the demo runs without one, and says so."""
    found = subprocess.run([TRUEUP, "doctor"], env=demo.environ, check=False, text=True, capture_output=True)
    if found.returncode == 0:
        return []
    heading("No sandbox can be built here, so the checks run without one (`trueup doctor` says what would help):")
    print(found.stdout)
    return ["--sandbox", "none"]


def show(demo: Demo) -> bool:
    """The whole demo; true if all went as it should."""
    demo.make()
    check = ["check", *sandbox_options(demo)]

    heading("1. What does done mean here? The repository says so itself; no model is asked.")
    demo.trueup("init", quiet=True)
    demo.git("add", "-A")
    demo.git("commit", "-q", "-m", "Say what done means")

    heading("2. Somebody claims that slug() joins by dashes now. They edited the test.")
    test = demo.repo / "tests" / "test_slug.py"
    test.write_text(SUITE.replace("a-nice-title", "a_nice_title"))
    cheated = demo.trueup(*check)

    heading("3. The test is put back, and the code is mended.")
    test.write_text(SUITE)
    (demo.repo / "slug.py").write_text(CODE.replace("'_'", "'-'"))
    honest = demo.trueup(*check)

    heading("4. A contract that could never say no shows nothing, and says so.")
    (demo.repo.parent / "weak.yaml").write_text(
        "description: d\nchecks:\n- {name: runs, command: python3 -c 'import slug'}\n"
    )
    weak = demo.trueup(*check, "--contract", "../weak.yaml")

    as_it_should_be = (cheated, honest, weak) == (1, 0, 1)
    heading(
        "The cheat was refused, the repair verified." if as_it_should_be else "Something here is not as it should be."
    )
    return as_it_should_be


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="trueup-demo-") as name:
        sys.exit(0 if show(Demo(Path(name))) else 1)
