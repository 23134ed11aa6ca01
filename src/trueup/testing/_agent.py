"""The scripted agent program, ready to be started."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Literal

from msgspec import Struct

PROGRAM = Path(__file__).with_name("agent.py")
VOICES = Path(__file__).with_name("_agent_voices.py")


class ScriptedAgent(Struct, frozen=True):
    """A program that behaves as an agent by a script; without one it looks for it in its prompt.

    The words of a script are in the documentation. `speak` is how it tells of itself: by trueup's `command:`
    protocol, as Claude Code, or as Codex.
    """

    script: str | None = None
    speak: Literal["trueup", "claude", "codex"] = "trueup"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start it; the script is not among them."""
        return self._words(PROGRAM)

    @property
    def env(self) -> dict[str, str]:
        """The variables that it needs to see."""
        return {} if self.script is None else {"TRUEUP_AGENT_SCRIPT": self.script}

    def install(self, path: Path) -> Path:
        """Make it a program of that name, which can be found on a PATH and takes the arguments of whom it plays.

        All of it is in the folder of that path, so that it also works where little else can be seen.
        """
        parts = path.with_name(f"{path.name}.parts")
        parts.mkdir(parents=True)
        words = self._words(Path(shutil.copy(PROGRAM, parts)))
        shutil.copy(VOICES, parts)
        if self.script is not None:
            (parts / "script").write_text(self.script)
            words += ("--script", str(parts / "script"))
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        path.chmod(0o755)
        return path

    def _words(self, program: Path) -> tuple[str, ...]:
        # The interpreter itself instead of an environment's link to it: nothing of the environment is needed.
        return (str(Path(sys.executable).resolve()), "-I", "-S", str(program), "--speak", self.speak)
