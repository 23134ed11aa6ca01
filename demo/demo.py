"""What trueup does, shown on a sample repository that is made and thrown away here.

Scripted are the repository and the engines that work on it. Every result printed below was found by running something.
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

INTENT = "slug() joins words by dashes"
# Engines: programs that get a prompt and work in a checkout of their own. This one makes the test expect what the code does.
CHEAT = "sed -i s/a-nice-title/a_nice_title/ tests/test_slug.py\n"
# This one gets it wrong, and mends it once it is told what failed.
LEARNER = """\
if grep -q 'not done yet' "$TRUEUP_PROMPT_FILE"; then
  sed -i "s/'+'/'-'/" slug.py
else
  sed -i "s/'_'/'+'/" slug.py
fi
"""


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


class Demo:
    """A repository in a folder of its own, with trueup's cache beside it."""

    def __init__(self, scratch: Path) -> None:
        self.repo = scratch / "repo"
        self.environ = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache"), "XDG_DATA_HOME": str(scratch / "data")}
        (self.repo / "tests").mkdir(parents=True)
        for part in ("AUTHOR", "COMMITTER"):
            self.environ |= {f"GIT_{part}_NAME": "demo", f"GIT_{part}_EMAIL": "demo@example.invalid"}

    def git(self, *arguments: str, shown: bool = False) -> None:
        done = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", *arguments],
            cwd=self.repo,
            env=self.environ,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        )
        if shown:
            print("".join(f"    {line}\n" for line in done.stdout.splitlines() if line), end="", flush=True)

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

    def engine(self, name: str, script: str) -> str:
        """A program beside the repository, as trueup is told of it."""
        (self.repo.parent / name).write_text(script)
        return f"command:bash ../{name}"

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
    sandbox = sandbox_options(demo)

    heading("1. What does done mean here? The repository says so itself; no model is asked.")
    demo.trueup("init", quiet=True)
    demo.git("add", "-A")
    demo.git("commit", "-q", "-m", "Say what done means")

    heading("2. An engine says that it is done. It edited the test.")
    cheat = demo.engine("cheat.sh", CHEAT)
    cheated = demo.trueup("code", INTENT, "--engine", cheat, "--max-iterations", "1", "--yes", *sandbox)

    heading("3. Another one gets it wrong, is told what failed, and repairs it. What is merged is what was verified.")
    learner = demo.engine("learner.sh", LEARNER)
    merged = demo.trueup("code", INTENT, "--engine", learner, "--yes", *sandbox)
    demo.git("--no-pager", "log", "-1", "--stat", "--format=%h %s", shown=True)

    heading("4. The merged commit carries a signed word about that.")
    attested = demo.trueup("attest", "verify", "HEAD")

    heading("5. The same for a change that somebody made by hand. This one broke something.")
    (demo.repo / "slug.py").write_text(CODE.replace(".lower()", ""))
    broken = demo.trueup("check", "--guards-only", *sandbox)

    as_it_should_be = (cheated, merged, attested, broken) == (1, 0, 0, 1)
    heading(
        "The cheat was refused, the repair merged, and the breakage found."
        if as_it_should_be
        else "Something here is not as it should be."
    )
    return as_it_should_be


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="trueup-demo-") as name:
        sys.exit(0 if show(Demo(Path(name))) else 1)
