"""How the tools reach the workspace: programs that a `Launcher` starts there, and nothing else."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import cast

from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import Launcher

from ._conversation import HEAD_CHARS, OUTPUT_CHARS, joined, shortened

FILE_SECS = 60.0
KEPT_BYTES = 1 << 18
# Nobody is there to page, or to type a password.
QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb"}


class ToolFailedError(Exception):
    """A tool could not do what it was asked; the model is told so."""


class Hands:
    """Runs programs in the workspace. `root` is where that is, as programs there see it."""

    def __init__(self, launcher: Launcher, root: str, env: Mapping[str, str]) -> None:
        self._launcher = launcher
        self._env = {**QUIET, **env}
        self.root = root

    @classmethod
    async def reach(cls, launcher: Launcher, env: Mapping[str, str]) -> Hands:
        """Find out where the workspace is."""
        try:
            finished = await cls(launcher, "/", env).script("pwd -P")
        except ToolFailedError as error:
            raise InfrastructureError(f"bash cannot be run in the workspace: {error}") from None
        if finished.exit_code != 0:
            why = finished.stderr.tail(500).strip() or f"exit {finished.exit_code}"
            raise InfrastructureError(f"bash cannot be run in the workspace: {why}")
        return cls(launcher, finished.stdout.text.removesuffix("\n"), env)

    def path(self, named: str) -> str:
        """A path as the gate and the programs are given it: without detours, below the workspace where it is there."""
        whole = posixpath.normpath(posixpath.join(self.root, named))
        inside = whole.startswith(f"{self.root.rstrip('/')}/") or whole == self.root
        return posixpath.relpath(whole, self.root) if inside else whole

    async def script(self, script: str, *words: str, stdin: bytes = b"", kept_bytes: int = KEPT_BYTES) -> Finished:
        """Run a small script of our own to its end; `words` are its $1, $2 and so on."""
        argv = ("bash", "--noprofile", "--norc", "-c", script, "trueup", *words)
        command = Command(
            argv=argv, stdin=stdin, env={**self._env, "LC_ALL": "C"}, timeout_secs=FILE_SECS, output_limit=kept_bytes
        )
        async with self._launcher.launch(command) as process:
            finished = await process.wait()
        if finished.timed_out:
            raise ToolFailedError(f"it was not done after {FILE_SECS:g} s, and was ended")
        return finished

    async def line(self, line: str, timeout_secs: float) -> tuple[Finished, str]:
        """Run a line of the model's; what it wrote, long output with its middle left out."""
        command = Command(
            shell=line, env=self._env, timeout_secs=timeout_secs, output_limit=KEPT_BYTES, merge_stderr=True
        )
        async with self._launcher.launch(command) as process:
            head = await _beginning(process)
            finished = await process.wait()
        output = finished.stdout
        if output.whole:
            return finished, shortened(output.text)
        tail = output.text[HEAD_CHARS - OUTPUT_CHARS :]
        return finished, joined(head, tail, f"most of {output.seen} bytes")


async def _beginning(process: Process) -> str:
    """The first lines, since of much output only the end is kept elsewhere."""
    lines: list[str] = []
    chars = 0
    # Closed at once, and not when the garbage is collected: from here on nobody wants lines.
    async with aclosing(cast("AsyncGenerator[str, None]", process.lines())) as coming:
        async for line in coming:
            lines.append(line)
            chars += len(line) + 1
            if chars >= HEAD_CHARS:
                break
    return "\n".join(lines)[:HEAD_CHARS]
