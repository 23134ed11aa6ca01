"""A checkout without walls, for whoever says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from trueup.core.process import Finished
from trueup.core.protocols import ShellCommand

from ._folder_shell import FolderShell
from ._sandbox import Scratch, StackPlan
from ._sandbox._stack import copy_layers
from ._sandbox._watch import Fingerprint, fingerprints, is_changed


class Checkout(Protocol):
    """A tree to run commands on, that tells whether they rewrote it."""

    async def run(self, command: ShellCommand) -> Finished: ...

    async def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]: ...

    async def rewritten(self, before: dict[str, Fingerprint]) -> list[str]: ...


class PlainCheckout:
    """A copy of the layers in a folder of its own, where commands run as the user, unconfined."""

    def __init__(self, plan: StackPlan, scratch: Scratch) -> None:
        self._plan = plan
        self._scratch = scratch
        self._folder = scratch.folder / "upper"
        self._shell = FolderShell(self._folder)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(copy_layers, self._plan, self._scratch)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    async def run(self, command: ShellCommand) -> Finished:
        variables = {**self._plan.variables, **command.env}
        return await self._shell.run(msgspec.structs.replace(command, env=variables))

    async def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        return await asyncio.to_thread(fingerprints, self._folder, paths)

    async def rewritten(self, before: dict[str, Fingerprint]) -> list[str]:
        now = await self.fingerprints(before)
        suspects = [path for path in before if now[path] != before[path]]
        return await asyncio.to_thread(lambda: [path for path in suspects if self._is_changed(path)])

    def _is_changed(self, path: str) -> bool:
        originals: list[Path] = [*(change / "files" for change in self._plan.changes), *self._plan.layers]
        return is_changed(self._folder / path, [folder / path for folder in originals])
