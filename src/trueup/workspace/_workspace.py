"""The isolated checkout in which an agent works: its own clone, HOME, temporary folder, network and ports."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.files import remove_tree
from trueup.core.process import Finished
from trueup.core.protocols import Gate

from ._git import Git, as_text, last_words, split_nul
from ._ignored import facts_of, left_behind
from ._kept_workspaces import READY, SUSPENDED, WorkspaceRecord, read_record, write_record
from ._layers import Dependencies, Layers
from ._plain_checkout import PlainCheckout
from ._sandbox import Profile, Scratch, StackPlan, inhabitants
from ._sandbox._holder import apply_change
from ._sandbox._stack import copy_layers
from ._snapshot import Change, inspect_change, snapshot_script
from ._workspace_shell import WorkspaceShell

INCLUDE_FILE = ".worktreeinclude"
INCLUDED = "included.json"
SNAPSHOT_TIMEOUT_SECS = 600
MOST_IGNORED = 100
MOST_IGNORED_BYTES = 64 << 20
PORTS = 3

# Seen in the sandbox where no agent can have put anything before: this part of it is made anew each time.
SEEN_OBJECTS = "/run/trueup/objects"
SEEN_SNAPSHOT = "/run/trueup/snapshot"

# How long processes of a dead owner may take to end.
PATIENCE_SECS = 10


class Workspace:
    """A private top over base and dependencies that outlives the commands run in it, until it is discarded."""

    def __init__(self, layers: Layers, base: str, scratch: Scratch, dependencies: Dependencies | None) -> None:
        self.base = base
        self._layers = layers
        self._scratch = scratch
        self._dependencies = dependencies
        self._is_open = False

    @classmethod
    async def create(
        cls,
        layers: Layers,
        base: str,
        dependencies: Dependencies | None = None,
        include: tuple[str, ...] = (),
        *,
        tree: str | None = None,
    ) -> Workspace:
        """A new one at a base commit, with those untracked files of the user's that the repository asks for.

        With a `tree`, work goes on from there: its differences to the base are changes that nobody committed.
        """
        scratch = await asyncio.to_thread(Scratch.create, layers.workspaces)
        workspace = cls(layers, base, scratch, dependencies)
        try:
            await workspace._prepare(include, tree)
        except BaseException:
            await workspace.discard()
            raise
        return workspace

    @classmethod
    async def reopen(
        cls, layers: Layers, workspace_id: str, base: str, dependencies: Dependencies | None = None
    ) -> Workspace:
        """One that its owner let go of, or died with; an `InputError` where it is in use, gone or another's."""
        if not re.fullmatch(r"top-\w+", workspace_id):
            raise InputError(f"{workspace_id!r} names no workspace")
        scratch = await asyncio.to_thread(Scratch.adopt, layers.workspaces / workspace_id)
        try:
            _refuse_another(scratch.folder, layers, base)
            await _until_deserted(scratch.folder)
            (scratch.folder / SUSPENDED).unlink(missing_ok=True)
        except BaseException:
            scratch.release()
            raise
        return cls(layers, base, scratch, dependencies)

    @property
    def id(self) -> str:
        return self._scratch.folder.name

    @asynccontextmanager
    async def open(
        self, profile: Profile | None = None, gate: Gate | None = None, *, disk_mb: int = 8192
    ) -> AsyncIterator[WorkspaceShell]:
        """Mount it, for as long as an agent works. Leaving ends every process that still runs in it.

        Whoever writes so much that it holds more than `disk_mb` is ended.
        """
        if self._is_open:
            raise InfrastructureError(f"{self.id} is open already: end what works in it first")
        self._is_open = True
        try:
            await asyncio.to_thread(_unlock_parts, self._scratch.folder)
            plan = replace(await self._plan(profile or Profile()), disk_mb=disk_mb)
            async with self._layers.mounted(plan, self._scratch) as checkout:
                root = checkout.folder if isinstance(checkout, PlainCheckout) else plan.repo
                yield WorkspaceShell(checkout, root, plan.profile, gate)
        finally:
            self._is_open = False

    async def snapshot(self) -> Change:
        """What the agent made, taken inside a sandbox of its own: git on this machine never looks at its tree.

        Where there is no sandbox, git looks at it with a git folder of trueup's own.
        """
        folder = self._scratch.folder / "snapshot"
        await asyncio.to_thread(remove_tree, folder)
        folder.mkdir()
        finished = await self._take(folder)
        if finished.exit_code != 0:
            why = f"not done within {SNAPSHOT_TIMEOUT_SECS} s" if finished.timed_out else last_words(finished)
            raise InfrastructureError(f"the work of {self.id} could not be taken: {why}")
        *ignored, printed = finished.stdout.data.split(b"\0")
        tree = as_text(printed).strip()
        if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", tree):
            raise InfrastructureError(f"the work of {self.id} could not be taken: {tree[:100]!r} is no tree")
        await self._layers.mirror.import_pack(folder / "change.pack", tree, self.base)
        change = await inspect_change(self._layers.mirror, self.base, tree)
        # Of more than can be kept, the first that was kept is the rest of a path.
        left = await asyncio.to_thread(self._left_behind, ignored if finished.stdout.whole else ignored[1:])
        return replace(change, ignored=left[:MOST_IGNORED], ignored_total=len(left))

    async def release(self) -> None:
        """Let go of it and leave it on disk, to be reopened later; `clean_workspaces` leaves it alone."""
        (self._scratch.folder / SUSPENDED).touch()
        self._scratch.release()

    async def discard(self) -> None:
        """Throw it away with everything in it, unless it was let go of before."""
        await asyncio.to_thread(self._scratch.discard)

    @property
    def _top(self) -> Path:
        return self._scratch.folder / "upper"

    async def _prepare(self, include: tuple[str, ...], tree: str | None) -> None:
        folder = self._scratch.folder
        backend = self._layers.backend
        write_record(folder, WorkspaceRecord(str(self._layers.repo.root), self.base, time.time(), backend))
        plan = await self._plan(Profile())
        if backend.copies:
            await asyncio.to_thread(copy_layers, plan, self._scratch)
        await self._copy_included(include)
        if tree is not None:
            await self._lay_over(tree, plan)
        (folder / READY).touch()

    async def _lay_over(self, tree: str, plan: StackPlan) -> None:
        """Make the files those of a tree, once: what is put into the top stays there, and may be deleted again."""
        start = self._scratch.folder / "start"
        await self._layers.mirror.export_files(tree, self.base, start)
        if self._layers.backend.copies:
            await asyncio.to_thread(apply_change, str(self._top), str(start))
        else:
            async with self._layers.mounted(replace(plan, changes=(start,)), self._scratch):
                pass
        await asyncio.to_thread(remove_tree, start)

    async def _plan(self, profile: Profile) -> StackPlan:
        layers = (*([self._dependencies.files] if self._dependencies else []), await self._layers.base(self.base))
        return StackPlan(
            repo=self._layers.repo.root,
            layers=layers,
            home=self._dependencies.home if self._dependencies else None,
            profile=profile,
            variables={f"TRUEUP_PORT_{number}": str(port) for number, port in enumerate(_free_ports(), start=1)},
        )

    async def _take(self, folder: Path) -> Finished:
        objects = await self._layers.base(self.base) / ".git" / "objects"
        profile = Profile(readable={str(objects): SEEN_OBJECTS}, writable={str(folder): SEEN_SNAPSHOT})
        async with self.open(profile) as shell:
            git_dir = Path(shell.seen_at(folder))
            await self._layers.mirror.snapshot_gitdir(self.base, folder, objects=Path(shell.seen_at(objects)))
            script = snapshot_script(git_dir=git_dir, work_tree=shell.root, pack=git_dir / "change.pack", of_agent=True)
            return await shell.stack.run_argv(
                ("bash", "-c", script),
                cwd="/",
                timeout_secs=SNAPSHOT_TIMEOUT_SECS,
                output_limit=MOST_IGNORED_BYTES,
            )

    def _left_behind(self, ignored: list[bytes]) -> list[str]:
        record = self._scratch.folder / INCLUDED
        included = json.loads(record.read_text()) if record.exists() else {}
        dependencies = self._dependencies.files if self._dependencies else None
        paths = map(as_text, ignored)
        return list(left_behind(paths, self._top, dependencies, included, copied=self._layers.backend.copies))

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
        found = split_nul(await git.output("ls-files", "-z", "--others", "--ignored", f"--exclude-from={rules}"))
        tracked = await self._layers.mirror.entries(self.base)
        wanted = [path for path in map(as_text, found) if path not in tracked]
        copied = await asyncio.to_thread(_copy_files, root, self._top, wanted)
        (self._scratch.folder / INCLUDED).write_text(json.dumps(facts_of(self._top, copied)))


def _refuse_another(folder: Path, layers: Layers, base: str) -> None:
    record = read_record(folder)
    if (record.repository, record.base) != (str(layers.repo.root), base):
        raise InputError(f"{folder.name} is of {record.repository} at {record.base[:12]}, and not of {base[:12]} here")
    if not record.can_be_opened_by(layers.backend):
        raise InputError(
            f"{folder.name} was made with the sandbox `{record.backend}` and cannot be opened with `{layers.backend}`: "
            "choose the same, or begin anew"
        )
    if not (folder / READY).exists():
        raise InputError(f"{folder.name} was left before it was whole: begin anew")


async def _until_deserted(folder: Path) -> None:
    """Wait for the last processes of an owner that was killed: they end by themselves, a moment after it."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_SECS
    while left := await asyncio.to_thread(inhabitants, folder):
        if loop.time() > deadline:
            raise InputError(f"process {left[0]} still works in {folder.name}: end it first")
        await asyncio.sleep(0.05)


def _unlock_parts(folder: Path) -> None:
    """An agent may have closed the very folders that it worked in."""
    for part in (folder / "upper", folder / "home", folder / "tmp"):
        if part.is_symlink() or not part.is_dir():
            raise InfrastructureError(f"{folder.name} has lost its folder {part}: begin anew")
        mode = stat.S_IMODE(part.stat().st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            part.chmod(mode | stat.S_IRWXU)


def _copy_files(source: Path, target: Path, paths: list[str]) -> list[str]:
    """Copy plain files, and say which; none is written through a link."""
    plain = [path for path in paths if (source / path).is_file() and not (source / path).is_symlink()]
    safe = [path for path in plain if not any((target / way).is_symlink() for way in (Path(path), *Path(path).parents))]
    for path in safe:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, target / path)
    return safe


def _free_ports() -> list[int]:
    """Ports that nobody uses now, for programs that must listen somewhere."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(PORTS)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
