"""A stack: layers mounted at the repository's own path, entered once per command."""

from __future__ import annotations

import asyncio
import marshal
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.errors import InputError, SpawnError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import ShellCommand

from ._backend import Backend, SandboxError
from ._disk_watch import watched
from ._holder import apply_change
from ._scratch import Scratch
from ._view import Profile, sandbox_environment, view_steps
from ._watch import Fingerprint, fingerprints, is_changed

BASH = ("bash", "--noprofile", "--norc", "-o", "pipefail", "-c")

# As a module, whose byte code is kept, and without the packages around it.
HOLDER = "import sys; sys.path[:0] = sys.argv[1:]; import _holder; _holder.main()"

# Asked inside, whose PATH and files are not ours.
FIND_PROGRAM = 'cd -- "$1" 2>/dev/null || exit 3; type -P -- "$0" || exit 4'
NO_FOLDER, NO_PROGRAM = 3, 4
FIND_SECS = 30


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
    if scratch.is_copied:
        return
    upper = plan.upper or scratch.folder / "upper"
    for layer in reversed(plan.layers):
        shutil.copytree(layer, upper, symlinks=True, dirs_exist_ok=True)
    for change in plan.changes:
        apply_change(str(upper), str(change))
    if plan.home is not None:
        shutil.copytree(plan.home, scratch.folder / "home", symlinks=True, dirs_exist_ok=True)
    scratch.mark_copied()


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
        self._refuse_hidden_targets()
        if self._backend.copies:
            await asyncio.to_thread(copy_layers, self._plan, self._scratch)
        argv = (sys.executable, "-I", "-S", "-c", HOLDER, str(Path(__file__).parent))
        self._holder = Process(Command(argv=argv, stdin=None))
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
        self, argv: tuple[str, ...], *, network: bool = False, disk_mb: int | None = None, **options: Any
    ) -> Finished:
        """Run a program inside. Options are those of `Command`; `disk_mb` narrows the plan's limit."""
        most_mb = min(disk_mb or self._plan.disk_mb, self._plan.disk_mb)
        entering = self._entering(Command(argv=argv, **options), network=network)
        async with watched(entering, self._scratch, most_mb, lines=False) as process:
            return await process.wait()

    @asynccontextmanager
    async def launch(self, command: Command) -> AsyncIterator[Process]:
        """Start a program inside that streams its lines and takes input; leaving ends its whole tree.

        `cwd` is below the repository, `env` is added to the sandbox's own. A `SpawnError` where the program or the
        folder is not there inside. A signal that ended it comes out as the exit code 128 + signal.
        """
        name = BASH[0] if command.shell is not None else command.argv[0]
        if await self.find_program(name, cwd=str(command.cwd), env=command.env) is None:
            raise SpawnError(
                f"could not start {name!r}: the sandbox has no such program on its PATH; install it for the whole "
                "system, or let the file be shown inside and give its whole path"
            )
        async with watched(self._entering(command), self._scratch, self._plan.disk_mb) as process:
            yield process

    async def find_program(self, name: str, *, cwd: str = ".", env: Mapping[str, str] | None = None) -> str | None:
        """Where a program is that would be started inside, or None; a `SpawnError` where there is no such folder."""
        folder = str(self._plan.repo / cwd)
        finished = await self.run_argv(
            ("bash", "-c", FIND_PROGRAM, name, folder), cwd="/", env=env, timeout_secs=FIND_SECS
        )
        if finished.exit_code == NO_FOLDER:
            raise SpawnError(f"could not start {name!r}: the sandbox has no folder {folder} that can be entered")
        if finished.exit_code not in (0, NO_PROGRAM):
            why = finished.stderr.tail(500).strip() or f"exit {finished.exit_code}"
            raise SandboxError(f"the sandbox could not be entered: {why}")
        return finished.stdout.text.removesuffix("\n") or None

    def _entering(self, command: Command, *, network: bool = False) -> Command:
        """A command that runs another one inside."""
        into = self._backend.enter(
            self._holder.pid,
            str(self._plan.repo / command.cwd),
            network=network or self._plan.profile.network,
        )
        words = command.argv if command.shell is None else (*BASH, command.shell)
        environment = sandbox_environment(self._environ, self._home)
        variables = {**environment, **self._plan.variables, **(command.env or {})}
        return replace(command, argv=(*into, *words), shell=None, cwd="/", env=variables)

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

    def _refuse_hidden_targets(self) -> None:
        """What is shown has its place outside of the repository: inside it would hide, or become, part of the work."""
        profile = self._plan.profile
        for source, target in (*profile.readable.items(), *profile.writable.items()):
            place = Path(os.path.normpath(target))
            if not place.is_absolute() or place.is_relative_to(self._plan.repo):
                raise InputError(
                    f"{source} cannot be shown in the sandbox at {target}: the place must be an absolute path outside of "
                    f"the repository {self._plan.repo}, such as /run/trueup/{place.name}"
                )
            if not Path(source).exists():
                raise InputError(f"{source} is to be shown in the sandbox at {target}, and does not exist")

    async def _build(self) -> None:
        await self._holder.write(marshal.dumps(self._steps()))
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
