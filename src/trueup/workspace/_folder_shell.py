"""A shell without walls."""

from __future__ import annotations

import os
from pathlib import Path

from trueup.core.errors import PolicyRefusedError
from trueup.core.process import Command, Finished, run
from trueup.core.protocols import Action, Gate, ShellCommand


class FolderShell:
    """Runs commands in a folder as the user, with the user's network and files; a `Gate` may refuse them."""

    def __init__(self, folder: Path, gate: Gate | None = None) -> None:
        self._folder = folder
        self._gate = gate

    async def run(self, command: ShellCommand) -> Finished:
        await self._pass_gate(command)
        return await run(
            Command(
                shell=command.line,
                cwd=self._folder / command.cwd,
                env={**os.environ, **command.env},
                timeout_secs=command.timeout_secs,
                find=command.find,
                merge_stderr=True,
            )
        )

    async def _pass_gate(self, command: ShellCommand) -> None:
        if self._gate is None:
            return
        decision = await self._gate.decide(Action("shell", {"command": command.line, "cwd": command.cwd}))
        if not decision.allowed:
            raise PolicyRefusedError(decision.reason or f"rule {decision.rule}")
