"""A stack: layers mounted at the repository's own path, entered once per command."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import ShellCommand

from ._backend import Backend, SandboxError
from ._holder import apply_change
from ._scratch import Scratch
from ._view import Profile, sandbox_environment, view_steps
from ._watch import Fingerprint, fingerprints, is_changed

POLL_SECS = 1.0
BASH = ("bash", "--noprofile", "--norc", "-o", "pipefail", "-c")


class StackPlan(Struct, frozen=True, kw_only=True):
    """What to mount: the repository's path, its layers (uppermost first), the change laid over them, the limits.

    `home` is a layer below the scratch HOME. `upper` and `work` replace the scratch's own where the top is to be kept.
    """

    repo: Path
    layers: tuple[Path, ...]
    changes: tuple[Path, ...] = ()
    home: Path | None = None
    profile: Profile = Profile()
    upper: Path | None = None
    work: Path | None = None
    variables: dict[str, str] = {}
    disk_mb: int = 8192


def copy_layers(plan: StackPlan, scratch: Scratch) -> None:
    """Put the layers and the change into the top itself, once, where they cannot be mounted below it."""
    done = scratch.folder / "copied"
    if done.exists():
        return
    upper = plan.upper or scratch.folder / "upper"
    for layer in reversed(plan.layers):
        shutil.copytree(layer, upper, symlinks=True, dirs_exist_ok=True)
    for change in plan.changes:
        apply_change(str(upper), str(change))
    if plan.home is not None:
        shutil.copytree(plan.home, scratch.folder / "home", symlinks=True, dirs_exist_ok=True)
    done.touch()


class Stack:
    """A `Shell` on mounted layers: `async with Stack(plan, backend, scratch) as stack`. Leaving it unmounts all."""

    def __init__(
        self, plan: StackPlan, backend: Backend, scratch: Scratch, environ: Mapping[str, str] | None = None
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._scratch = scratch
        self._environ = dict(os.environ if environ is None else environ)
        self._home = Path(self._environ.get("HOME") or "/root")

    @property
    def backend(self) -> Backend:
        return self._backend

    async def __aenter__(self) -> Self:
        if self._backend.copies:
            await asyncio.to_thread(copy_layers, self._plan, self._scratch)
        program = str(Path(__file__).with_name("_holder.py"))
        self._holder = Process(Command(argv=(sys.executable, "-I", "-S", program), stdin=None))
        await self._holder.__aenter__()
        try:
            await self._build()
        except BaseException:
            await self._holder.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._holder.__aexit__(kind, error, trace)

    async def run(self, command: ShellCommand) -> Finished:
        """Run a line of bash inside, as its own tree of processes that ends with it."""
        return await self.run_argv(
            (*BASH, command.line),
            cwd=command.cwd,
            env=command.env,
            network=command.network,
            timeout_secs=command.timeout_secs,
            find=command.find,
            merge_stderr=True,
        )

    async def run_argv(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        network: bool = False,
        disk_mb: int | None = None,
        **options: Any,
    ) -> Finished:
        """Run a program inside. Options are those of `Command`; `disk_mb` narrows the plan's limit."""
        most_mb = min(disk_mb or self._plan.disk_mb, self._plan.disk_mb)
        folder = str(self._plan.repo / cwd)
        entering = self._backend.enter(self._holder.pid, folder, network=network or self._plan.profile.network)
        variables = {**sandbox_environment(self._environ, self._home), **self._plan.variables, **(env or {})}
        command = Command(argv=(*entering, *argv), env=variables, cwd="/", **options)
        async with Process(command, lines=False) as process:
            watch = asyncio.create_task(self._watch_disk(process, most_mb))
            try:
                finished = await process.wait()
            finally:
                watch.cancel()
        if watch.done() and not watch.cancelled() and watch.exception() is None:
            raise InfrastructureError(f"a command wrote more than {most_mb} MB and was ended")
        return finished

    async def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        """The state of files inside, to be handed to `rewritten` later."""
        return await asyncio.to_thread(fingerprints, self._seen_from_outside(), paths)

    async def rewritten(self, before: dict[str, Fingerprint]) -> list[str]:
        """Which of these files no longer are what the layers and the change made them."""
        now = await self.fingerprints(before)
        suspects = [path for path in before if now[path] != before[path]]
        return await asyncio.to_thread(lambda: [path for path in suspects if self._is_changed(path)])

    def _is_changed(self, path: str) -> bool:
        originals = [*(change / "files" for change in self._plan.changes), *self._plan.layers]
        return is_changed(self._seen_from_outside() / path, [folder / path for folder in originals])

    def _seen_from_outside(self) -> Path:
        return Path(f"/proc/{self._holder.pid}/root{self._plan.repo}")

    async def _watch_disk(self, process: Process, most_mb: int) -> None:
        """Return, having stopped the command, once it wrote too much; a busy disk is looked at less often."""
        loop = asyncio.get_running_loop()
        pause = POLL_SECS
        while True:
            await asyncio.sleep(pause)
            started = loop.time()
            if await asyncio.to_thread(self._scratch.size_bytes) > most_mb << 20:
                process.stop()
                return
            pause = max(POLL_SECS, 10 * (loop.time() - started))

    async def _build(self) -> None:
        await self._holder.write(json.dumps(self._steps()).encode() + b"\n")
        async for line in self._holder.lines():
            if line == "ready":
                return
        finished = await self._holder.wait()
        why = finished.stderr.tail(500).strip() or f"exit {finished.exit_code}"
        raise SandboxError(f"the sandbox could not be built: {why}")

    def _steps(self) -> dict[str, Any]:
        top = self._scratch.folder
        copies = self._backend.copies
        home = None if copies else self._plan.home
        return {
            "root": str(top / "root"),
            "repo": str(self._plan.repo),
            "private_network": not self._plan.profile.network,
            "steps": [
                *view_steps(self._environ, self._home, top, self._plan.profile, home),
                self._copied() if copies else self._overlaid(),
            ],
            "changes": [] if copies else [str(folder) for folder in self._plan.changes],
        }

    def _overlaid(self) -> dict[str, Any]:
        return {
            "kind": "overlay",
            "lower": [str(folder) for folder in self._plan.layers],
            "upper": str(self._plan.upper or self._scratch.folder / "upper"),
            "work": str(self._plan.work or self._scratch.folder / "work"),
            "target": str(self._plan.repo),
        }

    def _copied(self) -> dict[str, Any]:
        upper = self._plan.upper or self._scratch.folder / "upper"
        return {"kind": "bind", "source": str(upper), "target": str(self._plan.repo), "writable": True}
