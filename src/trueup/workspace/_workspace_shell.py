"""What an agent works with in its workspace, and what is refused before it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import ClassVar

from trueup.core.errors import PolicyRefusedError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import Action, Decision, Gate, ShellCommand

from ._plain_checkout import PlainCheckout
from ._sandbox import Profile, Stack


class WorkspaceShell:
    """A `Shell` in a workspace, with a gate before it, and a `Launcher` for the agent itself.

    `root` is where the work is, as programs there see it.
    """

    def __init__(self, stack: Stack | PlainCheckout, root: Path, profile: Profile, gate: Gate | None) -> None:
        self.stack = stack
        self.root = root
        self._shown = {**profile.readable, **profile.writable}
        self._gate = gate or DenyList()

    @property
    def is_confined(self) -> bool:
        """Whether there is a sandbox around it."""
        return isinstance(self.stack, Stack)

    async def run(self, command: ShellCommand) -> Finished:
        """Run a line of bash to its end, if the gate allows it."""
        decision = await self._gate.decide(Action("shell", {"command": command.line, "cwd": command.cwd}))
        if not decision.allowed:
            raise PolicyRefusedError(decision.reason or f"rule {decision.rule}")
        return await self.stack.run(command)

    def launch(self, command: Command) -> AbstractAsyncContextManager[Process]:
        """Start a program and watch it while it runs; leaving ends its whole tree. No gate: it is ours to start.

        `cwd` is below the repository's root, `env` is added to what programs there see anyway. A `SpawnError` where
        there is no such program; an `InfrastructureError` out of the block where it filled the disk.
        """
        return self.stack.launch(command)

    async def find_program(self, name: str, *, cwd: str = ".", env: Mapping[str, str] | None = None) -> str | None:
        """Where a program is that `launch` would start, or None."""
        return await self.stack.find_program(name, cwd=cwd, env=env)

    def seen_at(self, source: str | Path) -> str:
        """Where programs here see a file or folder of the profile: at its target, or where it is without a sandbox."""
        return self._shown[str(source)] if self.is_confined else str(source)


class DenyList:
    """A `Gate` that refuses what no work in a checkout needs. Advice on top of the sandbox, which does not need it."""

    DENIED: ClassVar[dict[str, str]] = {
        r"\bgit\s+(-\S+\s+)*push\b": "pushing is the user's business",
        r"\bsudo\b": "root is not needed in a checkout",
        r"\brm\s+(-\S+\s+)*/(\s|$)": "that removes the whole file system",
        r"\b(shutdown|reboot|mkfs\S*)\b": "that concerns the machine and not the work",
    }

    async def decide(self, action: Action) -> Decision:
        command = str(action.params.get("command", ""))
        for pattern, reason in self.DENIED.items():
            if re.search(pattern, command):
                return Decision(allowed=False, rule=pattern, param="command", reason=reason)
        return Decision(allowed=True)
