"""A checkout without walls, for whoever says so."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from msgspec.structs import replace

from trueup.core.errors import SpawnError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import ShellCommand

from ._sandbox import Scratch, StackPlan, user_environment
from ._sandbox._disk_watch import watched
from ._sandbox._stack import copy_layers
from ._sandbox._watch import Fingerprint, fingerprints, is_changed


class Checkout(Protocol):
    """A tree to run commands on, that tells whether they rewrote it."""

    async def run(self, command: ShellCommand) -> Finished: ...

    async def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]: ...

    async def rewritten(self, before: dict[str, Fingerprint]) -> list[str]: ...


class PlainCheckout:
    """A copy of the layers in a folder of its own, where commands run as the user, unconfined."""

    def __init__(self, plan: StackPlan, scratch: Scratch, environ: Mapping[str, str] | None = None) -> None:
        self._plan = plan
        self._scratch = scratch
        self._folder = scratch.folder / "upper"
        self._environ = dict(os.environ if environ is None else environ)

    @property
    def folder(self) -> Path:
        """Where the copy is."""
        return self._folder

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(copy_layers, self._plan, self._scratch)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    async def run(self, command: ShellCommand) -> Finished:
        """Run a line of bash in the copy."""
        wanted = Command(
            shell=command.line,
            cwd=command.cwd,
            env=command.env,
            timeout_secs=command.timeout_secs,
            find=command.find,
            merge_stderr=True,
        )
        return await self._finish(wanted)

    async def run_argv(self, argv: tuple[str, ...], **options: Any) -> Finished:
        """Run a program in the copy. Options are those of `Command`."""
        return await self._finish(Command(argv=argv, **options))

    @asynccontextmanager
    async def launch(self, command: Command) -> AsyncIterator[Process]:
        """Start a program in the copy that streams its lines and takes input; leaving ends its whole tree.

        `cwd` is below the copy, `env` is added to the user's own.
        """
        async with watched(self._placed(command), self._scratch, self._plan.disk_mb) as process:
            yield process

    async def find_program(self, name: str, *, cwd: str = ".", env: Mapping[str, str] | None = None) -> str | None:
        """Where a program is that would be started here, or None."""
        try:
            found, _, _ = self._placed(Command(argv=(name,), cwd=cwd, env=env)).encode()
        except SpawnError:
            return None
        return os.fsdecode(found[0]) if os.access(found[0], os.X_OK) else None

    async def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        return await asyncio.to_thread(fingerprints, self._folder, paths)

    async def rewritten(self, before: dict[str, Fingerprint]) -> list[str]:
        now = await self.fingerprints(before)
        suspects = [path for path in before if now[path] != before[path]]
        return await asyncio.to_thread(lambda: [path for path in suspects if self._is_changed(path)])

    async def _finish(self, command: Command) -> Finished:
        async with watched(self._placed(command), self._scratch, self._plan.disk_mb, lines=False) as process:
            return await process.wait()

    def _placed(self, command: Command) -> Command:
        variables = {
            **user_environment(self._environ),
            # Without a .git of its own, git would go on to look for one above.
            "GIT_CEILING_DIRECTORIES": str(self._scratch.folder),
            **self._plan.variables,
            **(command.env or {}),
        }
        return replace(command, cwd=self._folder / command.cwd, env=variables)

    def _is_changed(self, path: str) -> bool:
        originals: list[Path] = [*(change / "files" for change in self._plan.changes), *self._plan.layers]
        return is_changed(self._folder / path, [folder / path for folder in originals])
