"""The three layers that every evaluation and every agent sees: base, dependencies, a private top."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.protocols import ShellCommand

from ._locks import locked
from ._mirror import Mirror
from ._plain_checkout import Checkout, PlainCheckout
from ._repository import Repository
from ._sandbox import NO_SANDBOX, Backend, Profile, Scratch, Stack, StackPlan
from ._sandbox._scratch import remove_tree

SETUP_TIMEOUT_SECS = 1800
TOOLS = "python3 node npm pnpm yarn bun uv poetry pdm pipenv cargo rustc go java mvn gradle gcc make cmake ruby".split()


class Setup(Struct, frozen=True, kw_only=True):
    """How dependencies are prepared: commands, the variables only they may read, folders of the user's to copy.

    `inputs` are the paths whose contents decide when it must be done again.
    """

    commands: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    reuse: tuple[str, ...] = ()


class Dependencies(Struct, frozen=True):
    """Layer 2: what `setup` wrote over the base, in the repository and in HOME."""

    key: str
    folder: Path

    @property
    def files(self) -> Path:
        return self.folder / "upper"

    @property
    def home(self) -> Path:
        return self.folder / "home"


class Layers:
    """The layers of one repository, kept in trueup's cache and shared by all that evaluate it."""

    def __init__(
        self, repo: Repository, mirror: Mirror, store: Path, backend: Backend, environ: Mapping[str, str] | None = None
    ) -> None:
        self.repo = repo
        self.mirror = mirror
        self.backend = backend
        self._store = store
        self._environ = dict(os.environ if environ is None else environ)

    async def base(self, commit: str) -> Path:
        """Layer 1: the commit's files with a working `.git`, checked out once."""
        folder = self._store / "bases" / f"{commit}-{self.mirror.settings_key}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        await self.mirror.checkout(commit, folder)
        return folder

    async def dependencies(self, setup: Setup, base: str, tree: str | None = None) -> Dependencies | None:
        """Layer 2 for a tree (the base's own where none is given): built once per key, by whoever comes first."""
        if not setup.commands and not setup.reuse:
            return None
        key = await self._key(setup, tree or await self.mirror.tree_of(base))
        built = Dependencies(key, self._store / "dependencies" / key)
        async with locked(self._store / "dependencies" / f"{key}.lock"):
            if not built.folder.exists():
                await self._build(setup, base, tree, built.folder)
        os.utime(built.folder)
        return built

    @asynccontextmanager
    async def pristine(
        self,
        base: str,
        tree: str | None = None,
        dependencies: Dependencies | None = None,
        *,
        disk_mb: int = 8192,
    ) -> AsyncIterator[Checkout]:
        """A stack on a tree that nobody has touched, at the repository's own path; thrown away afterwards."""
        scratch = await asyncio.to_thread(Scratch.create, self._store / "tops")
        try:
            changes = await self._export(base, tree, scratch.folder / "change")
            plan = StackPlan(
                repo=self.repo.root,
                layers=(*([dependencies.files] if dependencies else []), await self.base(base)),
                changes=changes,
                home=dependencies.home if dependencies else None,
                disk_mb=disk_mb,
            )
            async with self._mounted(plan, scratch) as checkout:
                yield checkout
        finally:
            await asyncio.to_thread(scratch.discard)

    async def _export(self, base: str, tree: str | None, folder: Path) -> tuple[Path, ...]:
        if tree is None or tree == await self.mirror.tree_of(base):
            return ()
        commit = await self.mirror.commit(tree, base, "The change under evaluation")
        await self.mirror.export(commit, base, folder)
        return (folder,)

    async def _key(self, setup: Setup, tree: str) -> str:
        """What layer 2 depends on: the commands, the contents of their inputs, the tools and the platform."""
        entries = await self.mirror.entries(tree)
        inputs = {path: entries[path].id for path in setup.inputs if path in entries}
        reused = [_stamp(self.repo.root / folder) for folder in setup.reuse]
        tools = await asyncio.to_thread(_tool_stamps, self._environ.get("PATH", ""))
        parts = [
            setup.commands,
            setup.reuse,
            setup.variables,
            inputs,
            reused,
            tools,
            platform.platform(),
            str(self.repo.root),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    async def _build(self, setup: Setup, base: str, tree: str | None, folder: Path) -> None:
        scratch = await asyncio.to_thread(Scratch.create, self._store / "tops")
        try:
            layer = await self.base(base)
            await asyncio.to_thread(self._copy_reused, setup.reuse, scratch.folder / "upper")
            plan = StackPlan(
                repo=self.repo.root,
                layers=(layer,),
                changes=await self._export(base, tree, scratch.folder / "change"),
                profile=Profile(network=True),
                variables={name: self._environ[name] for name in setup.variables if name in self._environ},
            )
            async with self._mounted(plan, scratch) as checkout:
                for command in setup.commands:
                    await _run_setup(checkout, command)
            tracked = await self.mirror.entries(tree or base)
            await asyncio.to_thread(_keep_untracked, scratch.folder / "upper", tracked)
            await asyncio.to_thread(_adopt, scratch.folder, folder)
        finally:
            await asyncio.to_thread(scratch.discard)

    def _mounted(self, plan: StackPlan, scratch: Scratch) -> Stack | PlainCheckout:
        if self.backend == NO_SANDBOX:
            return PlainCheckout(plan, scratch)
        return Stack(plan, self.backend, scratch, self._environ)

    def _copy_reused(self, folders: Iterable[str], upper: Path) -> None:
        for name in folders:
            source = self.repo.root / name
            if not source.is_dir():
                raise InputError(f"`reuse` names {name!r}, but {source} is not a folder; create it or use `setup`")
            (upper / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, upper / name, symlinks=True)


async def _run_setup(checkout: Checkout, command: str) -> None:
    finished = await checkout.run(ShellCommand(line=command, timeout_secs=SETUP_TIMEOUT_SECS, network=True))
    if finished.timed_out:
        raise InputError(f"setup `{command}` did not end within {SETUP_TIMEOUT_SECS} s")
    if finished.exit_code != 0:
        raise InputError(f"setup `{command}` failed (exit {finished.exit_code}):\n{finished.stdout.tail(2000).strip()}")


def _keep_untracked(upper: Path, tracked: Iterable[str]) -> None:
    """Undo what setup did to tracked files and to `.git`: without its copy above them, the base shows through."""
    folders = set()
    for path in (*tracked, ".git"):
        touched = upper / path
        if touched.is_dir() and not touched.is_symlink():
            remove_tree(touched)
        else:
            with suppress(FileNotFoundError, NotADirectoryError):
                touched.unlink()
        folders |= set(Path(path).parents)
    for folder in folders:
        _show_what_is_below(upper / folder)


def _show_what_is_below(folder: Path) -> None:
    """Take back that a tracked folder was removed (a device in its place), or removed and made again (a mark)."""
    if folder.is_char_device():
        folder.unlink()
    elif folder.is_dir():
        with suppress(OSError):
            os.removexattr(folder, "user.overlay.opaque")


def _adopt(scratch: Path, folder: Path) -> None:
    """Make a finished layer visible all at once."""
    made = scratch / "layer"
    made.mkdir()
    (scratch / "upper").rename(made / "upper")
    (scratch / "home").rename(made / "home")
    made.rename(folder)


def _tool_stamps(path: str) -> list[str]:
    found = (shutil.which(tool, path=path) for tool in TOOLS)
    return [_stamp(Path(program)) for program in found if program]


def _stamp(path: Path) -> str:
    """What changes when a program or folder does."""
    try:
        real = path.resolve()
        status = real.stat()
    except OSError:
        return f"{path} -"
    return f"{real} {status.st_size} {status.st_mtime_ns}"
