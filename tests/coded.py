"""A small repository with a bug, engines that mend it or do not, and `trueup code` on it, as a user calls it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import command_line
from checkouts import Checkout
from terminals import Terminal
from trueup.core.process import Command, Finished, Process

TRUEUP = str(Path(sys.executable).with_name("trueup"))
GOAL = "python3 -c 'import calc; assert calc.add(2, 3) == 5'"
CONTRACT = f"description: it adds\nchecks:\n- name: adds\n  command: {GOAL}\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
MEND = "sed -i 's/a - b/a + b/' calc.py"


class User:
    """Somebody with a repository, a contract outside of it, and engines that are scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = Checkout(folder / "user")
        self.checkout.write("calc.py", WRONG)
        self.checkout.commit("the base")
        self.checkout.git("config", "user.name", "Ada")
        self.checkout.git("config", "user.email", "ada@example.org")
        # How long an engine sleeps that does; unlike any other, so that it can be found among all processes.
        self.nap = f"{4000 + os.getpid()}.{time.monotonic_ns()}"
        self.sleep = f'echo \'{{"trueup": "plan", "text": "begun"}}\'; exec sleep {self.nap}\n'
        self.contract = folder / "done.yaml"
        self.contract.write_text(CONTRACT)

    @property
    def head(self) -> str:
        return self.checkout.head

    def engine(self, script: str) -> str:
        """An engine that runs a script of bash."""
        file = self.folder / "engine.sh"
        file.write_text(script)
        return f"command:bash {file}"

    def words(self, script: str = MEND, *more: str, intent: str = "make add() add") -> tuple[str, ...]:
        """The arguments of a session in which an engine runs a script."""
        return ("code", intent, "--engine", self.engine(script), "--contract", str(self.contract), *more)

    async def trueup(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
        return await command_line.call(*arguments, cwd=cwd or self.checkout.root, env={**os.environ, **(env or {})})

    def started(self, *arguments: str) -> Process:
        """The program while it runs."""
        return Process(Command(argv=(TRUEUP, *arguments), cwd=self.checkout.root, timeout_secs=60))

    def at_terminal(self, *arguments: str, **env: str) -> Terminal:
        return Terminal((TRUEUP, *arguments), self.checkout.root, {**os.environ, **env})

    async def session(self) -> dict[str, Any]:
        """The newest session, as `show` tells it."""
        return json.loads((await self.trueup("code", "show", "--json")).stdout.text)


def json_lines(finished: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in finished.stdout.text.splitlines()]


def is_running(argument: str) -> bool:
    """Whether any process of this machine has such an argument."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if argument.encode() in entry.read_bytes().split(b"\0"):
                return True
    return False
