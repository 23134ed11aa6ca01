"""The isolated checkout in which an agent works: its own clone, HOME, temporary folder, network and ports."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InfrastructureError, PolicyRefusedError
from trueup.core.process import Finished
from trueup.core.protocols import Action, Decision, Gate, ShellCommand

from ._git import Git
from ._layers import Dependencies, Layers
from ._sandbox import Profile, Scratch, Stack, StackPlan, abandoned
from ._sandbox._scratch import remove_tree
from ._snapshot import Change, inspect_change, snapshot_script

INCLUDE_FILE = ".worktreeinclude"
SNAPSHOT_TIMEOUT_SECS = 600
PORTS = 3


class WorkspaceRecord(Struct, frozen=True):
    """What is written beside a workspace, for whoever finds it later."""

    repository: str
    base: str
    created: float


class Workspace:
    """A private top over base and dependencies that outlives the commands run in it, until it is discarded."""

    def __init__(self, layers: Layers, base: str, scratch: Scratch, dependencies: Dependencies | None) -> None:
        self.base = base
        self._layers = layers
        self._scratch = scratch
        self._dependencies = dependencies

    @classmethod
    async def create(
        cls, layers: Layers, base: str, dependencies: Dependencies | None = None, include: tuple[str, ...] = ()
    ) -> Workspace:
        """A new one at a base commit, with those untracked files of the user's that the repository asks for."""
        scratch = await asyncio.to_thread(Scratch.create, layers.workspaces)
        record = WorkspaceRecord(str(layers.repo.root), base, time.time())
        (scratch.folder / "workspace.json").write_bytes(msgspec.json.encode(record))
        workspace = cls(layers, base, scratch, dependencies)
        await workspace._copy_included(include)
        return workspace

    @property
    def id(self) -> str:
        return self._scratch.folder.name

    @asynccontextmanager
    async def open(self, profile: Profile | None = None, gate: Gate | None = None) -> AsyncIterator[WorkspaceShell]:
        """Mount it, for as long as an agent works. Leaving ends every process that still runs in it."""
        plan = await self._plan(profile or Profile())
        async with Stack(plan, self._layers.backend, self._scratch, self._layers.environ) as stack:
            yield WorkspaceShell(stack, gate)

    async def snapshot(self) -> Change:
        """What the agent made, taken inside a sandbox of its own: git on this machine never looks at its tree."""
        folder = self._scratch.folder / "snapshot"
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        objects = await self._layers.base(self.base) / ".git" / "objects"
        await self._layers.mirror.snapshot_gitdir(self.base, folder, objects=objects)
        profile = Profile(readable=(objects,), writable={str(folder): str(folder)})
        pack = folder / "change.pack"
        script = snapshot_script(git_dir=folder, work_tree=self._layers.repo.root, pack=pack)
        async with self.open(profile) as shell:
            finished = await shell.stack.run_argv(("bash", "-c", script), timeout_secs=SNAPSHOT_TIMEOUT_SECS)
        if finished.exit_code != 0:
            raise InfrastructureError(f"the work of {self.id} could not be taken: {finished.stderr.tail(500).strip()}")
        tree = finished.stdout.text.strip()
        await self._layers.mirror.import_pack(pack, tree, self.base)
        return await inspect_change(self._layers.mirror, self.base, tree)

    async def discard(self) -> None:
        """Throw it away with everything in it."""
        await asyncio.to_thread(self._scratch.discard)

    async def _plan(self, profile: Profile) -> StackPlan:
        layers = (*([self._dependencies.files] if self._dependencies else []), await self._layers.base(self.base))
        return StackPlan(
            repo=self._layers.repo.root,
            layers=layers,
            home=self._dependencies.home if self._dependencies else None,
            profile=profile,
            variables={f"TRUEUP_PORT_{number}": str(port) for number, port in enumerate(_free_ports(), start=1)},
        )

    async def _copy_included(self, patterns: tuple[str, ...]) -> None:
        """Bring along untracked files that match, such as local settings that a build cannot do without."""
        listed = (await self._layers.base(self.base)) / INCLUDE_FILE
        lines = [*patterns, *(listed.read_text(errors="replace").splitlines() if listed.is_file() else [])]
        if not lines:
            return
        rules = self._scratch.folder / "include"
        rules.write_text("\n".join(lines) + "\n")
        root = self._layers.repo.root
        git = Git(self._layers.mirror.git_dir, work_tree=root, index=self._scratch.folder / "no-index")
        arguments = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={rules}")
        tracked = await self._layers.mirror.entries(self.base)
        for path in (await git.text(*arguments)).split("\0"):
            if path and path not in tracked and (root / path).is_file() and not (root / path).is_symlink():
                target = self._scratch.folder / "upper" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                await asyncio.to_thread(shutil.copy2, root / path, target)


class WorkspaceShell:
    """A `Shell` in a workspace, with a gate before it."""

    def __init__(self, stack: Stack, gate: Gate | None) -> None:
        self.stack = stack
        self._gate = gate or DenyList()

    async def run(self, command: ShellCommand) -> Finished:
        decision = await self._gate.decide(Action("shell", {"command": command.line, "cwd": command.cwd}))
        if not decision.allowed:
            raise PolicyRefusedError(decision.reason or f"rule {decision.rule}")
        return await self.stack.run(command)


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


def _free_ports() -> list[int]:
    """Ports that nobody uses now, for programs that must listen somewhere."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(PORTS)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class KeptWorkspace(Struct, frozen=True):
    """A workspace on disk, and whether its owner is gone."""

    path: Path
    repository: str
    base: str
    created: float
    abandoned: bool


def list_workspaces(stores: Path) -> list[KeptWorkspace]:
    """Every workspace of every repository, oldest first."""
    found = []
    for record_file in stores.glob("*/workspaces/top-*/workspace.json"):
        record = msgspec.json.decode(record_file.read_bytes(), type=WorkspaceRecord)
        folder = record_file.parent
        gone = folder in abandoned(folder.parent)
        found.append(KeptWorkspace(folder, record.repository, record.base, record.created, gone))
    return sorted(found, key=lambda kept: kept.created)


def clean_workspaces(stores: Path) -> list[KeptWorkspace]:
    """Remove those whose owner is proven to be gone, and say which."""
    gone = [kept for kept in list_workspaces(stores) if kept.abandoned]
    for kept in gone:
        remove_tree(kept.path)
    return gone
