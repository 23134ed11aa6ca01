"""An agent says that it is done, trueup finds out, and what was repaired is merged: all of it, in less than a minute.

Scripted is the model: a server on this machine that answers over HTTP with the lines of model.txt. (The skill test has
trueup's offline provider in its place.) The agent that asks it, its tools, git, the sandbox, the checks and everything
that is printed as output are real. `--serve` shows the pages afterwards.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from stage import Model, Stage, heading, shown

FOLDER = Path(__file__).parent
INTENT = "slug() joins words by dashes"
FILES = {
    "slug.py": "def slug(text):\n    return text.lower().replace(' ', '_')\n",
    "tests/__init__.py": "",
    "tests/test_slug.py": """\
import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_joins_by_dashes(self):
        self.assertEqual(slug("A Nice Title"), "a-nice-title")

    def test_lowers(self):
        self.assertEqual(slug("ABC"), "abc")
""",
    ".gitignore": "__pycache__/\n",
}
MENDED = FILES["slug.py"].replace("'_'", "'-'")
# What `trueup doctor` calls the parts of it.
SANDBOX = ("sandbox", "overlay")
# For the pages: work that is verified, and not approved yet.
WAITING = "slug() leaves out blanks at both ends"
WAITING_CONTRACT = """\
description: Blanks at both ends are left out.
checks:
- name: trims
  command: python3 -c "from slug import slug; assert slug(' A B ') == 'a-b'"
- name: suite
  command: python3 -m unittest discover
"""


def main() -> int:
    """Play the demo; 0 if everything went as it should."""
    parser = argparse.ArgumentParser(description="What trueup does, on a repository that is made and thrown away.")
    parser.add_argument("--serve", action="store_true", help="show it on pages too, until Ctrl-C")
    wants_pages = parser.parse_args().serve
    if shutil.which("git") is None:
        parser.error("git is needed, and not on PATH")
    print("Scripted here: the model, which says the lines of demo/model.txt over HTTP on this machine, and the one")
    print("of the skill test (6), which answers by markers in the skill. Everything else is real: agent, tools, git,")
    print("checks, verdicts. No key is used, and nothing leaves this machine.")
    try:
        with tempfile.TemporaryDirectory(prefix="trueup-demo-") as scratch:
            stage = Stage(Path(scratch))
            sandbox = sandbox_options(stage)
            went_wrong = play(stage, sandbox)
            if wants_pages:
                with suppress(KeyboardInterrupt):
                    serve(stage, sandbox)
    except KeyboardInterrupt:
        return 130
    return 1 if went_wrong else 0


def play(stage: Stage, sandbox: list[str]) -> list[str]:
    """The whole demo; what was not as it should be."""
    stage.lay_out(FILES)

    heading("1. What does done mean here? The repository says so itself; no model is asked.")
    exits = [stage.play("trueup", "init")]
    stage.commit("Say what done means")

    heading("2. An agent works on it. It edits the test and says that it is done. Is it?")
    with stage.model(FOLDER / "model.txt") as model:
        exits.append(work(stage, model, INTENT, "--yes", *sandbox))
        told = repair_prompts(model)
    heading("3. What the agent was told after the refusal, as its model got it:")
    for line in (told or ["(nothing)"])[0].splitlines():
        shown(line)

    heading("4. What was merged, and the signed word about it.")
    exits += [stage.play("trueup", "code", "diff"), stage.play("git", "log", "-1", "--stat", "--format=%h %s")]
    exits.append(stage.play("trueup", "attest", "verify", "HEAD"))

    session = stage.ask("trueup", "code", "show") or {}
    heading("5. All of it is on record. Here is the refusal; without the options, everything.")
    exits.append(stage.play("trueup", "runs", "show", *around_the_refusal(stage, session.get("id", ""))))

    heading("6. Skills are tested too: with and without the skill, by a provider that needs no model.")
    exits.append(stage.play("trueup", "skill", "init", stage.skills.name, cwd=stage.scratch))
    exits.append(stage.play("trueup", "test", "cases", "--baseline", "--quiet", cwd=stage.skills))

    tree = {name: stage.git("show", f"HEAD:{name}") for name in FILES}
    went_wrong = not_as_it_should_be(session, exits, told, tree)
    heading(verdict(went_wrong))
    return went_wrong


def sandbox_options(stage: Stage) -> list[str]:
    """Nothing where a sandbox works; else the demo goes on without one, and says so."""
    found = stage.ask("trueup", "doctor") or []
    if not any(each["name"].startswith(SANDBOX) and each["required"] and not each["ok"] for each in found):
        return []
    heading("No sandbox can be built here, so agent and checks run without one. What would help:")
    stage.play("trueup", "doctor", cwd=stage.scratch)
    return ["--sandbox", "none"]


def work(stage: Stage, model: Model, intent: str, *options: str) -> int:
    named = f"openai-compatible:scripted@{model.url}/v1"
    return stage.play("trueup", "code", intent, "--engine", "native", "--model", named, *options)


def repair_prompts(model: Model) -> list[str]:
    """Prompts after the first one, each once: every request repeats that of its conversation."""
    each_once = list(dict.fromkeys(model.prompts()))
    return each_once[1:]


def around_the_refusal(stage: Stage, session: str) -> list[str]:
    """The options that show the verdict on the first go, and what came before and after it."""
    run = stage.ask("trueup", "runs", "show", session) or {}
    verdicts = (each["seq"] for each in run.get("records", ()) if each["record"].get("type") == "verdict_reached")
    return [session, "--after", str(next(verdicts, 12) - 12), "--limit", "15"]


def not_as_it_should_be(session: Any, exits: list[int], told: list[str], tree: dict[str, str]) -> list[str]:
    """What this demo says and what did not happen."""
    attempts = [(each.get("verdict") or {}).get("outcome") for each in session.get("attempts", ())]
    claims = {
        "the edited test was refused, and the repair verified": attempts == ["refused", "verified"],
        "the repair was merged": session.get("state") == "merged",
        "the agent was told why": len(told) == 1 and "what was asked for was edited" in told[0],
        "the code is mended and everything else as it was": tree == {**FILES, "slug.py": MENDED},
        "every command succeeded": not any(exits),
    }
    return [claim for claim, holds in claims.items() if not holds]


def verdict(went_wrong: list[str]) -> str:
    if went_wrong:
        return "Something here is not as it should be. This does not hold: " + "; ".join(went_wrong) + "."
    return "The edited test was refused, the repair was verified and merged, and the skill holds."


def serve(stage: Stage, sandbox: list[str]) -> None:
    """The pages, until somebody presses Ctrl-C."""
    contract = stage.scratch / "trims.yaml"
    contract.write_text(WAITING_CONTRACT)
    with stage.model(FOLDER / "waiting.txt") as model:
        heading(
            "7. One more, without --yes: it is verified, and waits for you. Exit 1 says that nothing was delivered."
        )
        work(stage, model, WAITING, "--contract", str(contract), *sandbox)
        heading("8. Everything on pages; approve it there. Ctrl-C ends this, and removes all of it.")
        print("  $ trueup serve --port 0", flush=True)
        with stage.daemon() as daemon:
            for line in daemon.stdout or ():
                shown(line)
                if link := re.search(r"http://[\w.-]+:(\d+)/enter", line):
                    open_browser(stage, link[1])


def open_browser(stage: Stage, port: str) -> None:
    """By a link of its own: the one that was printed works once, and stays for whoever reads it."""
    has_windows = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    page = stage.ask("trueup", "pages", "--port", port) if has_windows and sys.stdout.isatty() else None
    if page is not None:
        webbrowser.open(page["url"])


if __name__ == "__main__":
    sys.exit(main())
