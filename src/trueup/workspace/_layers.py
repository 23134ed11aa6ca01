"""The three layers that every evaluation and every agent sees: base, dependencies, a private top."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
import weakref
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.protocols import ShellCommand

from ._locks import locked
from ._mirror import Mirror
from ._plain_checkout import Checkout, PlainCheckout
from ._repository import Repository
from ._sandbox import NO_SANDBOX, Backend, Profile, Scratch, Stack, StackPlan
from ._stamps import stamp_of_folder, tool_stamps
from ._store import share
from ._tracked import IN_BASE_ONLY, add_tracked, hides_any, keep_untracked, tracked_paths
from ._trees import Entry

PATIENCE_SECS = 0.05
MOST_TREES_REMEMBERED = 16
NO_INSTALL_SCRIPTS = {"npm_config_ignore_scripts": "true", "YARN_ENABLE_SCRIPTS": "false"}
EDITABLE_INSTALLS = ("*.pth", "*.egg-link", "__editable__*.py")


class Setup(Struct, frozen=True, kw_only=True):
    """How dependencies are prepared: commands, the variables only they may read, folders of the user's to copy.

    `inputs` are the paths whose contents decide when it must be done again. Each command has `limit_secs`.
    """

    commands: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    reuse: tuple[str, ...] = ()
    limit_secs: float = 1800


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
        self.environ = dict(os.environ if environ is None else environ)
        self._stamps: dict[str, str] = {}
        self._entries: dict[str, dict[str, Entry]] = {}
        self._base_trees: dict[str, str] = {}
        self._in_use = False

    @property
    def workspaces(self) -> Path:
        """Where agents' workspaces are kept."""
        return self._store / "workspaces"

    @property
    def baselines(self) -> Path:
        """Where baselines are remembered."""
        return self._store / "baselines"

    async def toolchain(self) -> str:
        """Changes with the programs that checks call."""
        return "\n".join(await asyncio.to_thread(tool_stamps, self.environ.get("PATH", "")))

    async def base(self, commit: str) -> Path:
        """Layer 1: the commit's files with a working `.git`, checked out once."""
        await self._keep_from_cleaning()
        folder = self._store / "bases" / f"{commit}-{self.mirror.settings_key}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        await self.mirror.checkout(commit, folder)
        os.utime(folder)
        return folder

    async def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree by its path; remembered, since a tree never changes."""
        if tree not in self._entries:
            if len(self._entries) >= MOST_TREES_REMEMBERED:
                del self._entries[next(iter(self._entries))]
            self._entries[tree] = await self.mirror.entries(tree)
        return self._entries[tree]

    async def dependencies(self, setup: Setup, base: str, tree: str | None = None) -> Dependencies | None:
        """Layer 2 for a tree (the base's own where none is given): built once per key, by whoever comes first."""
        if not setup.commands and not setup.reuse:
            return None
        await self._keep_from_cleaning()
        wanted = tree or await self._tree_of(base)
        key = await self._key(setup, wanted)
        built = await self._built_once(key, setup, base, tree)
        tracked = tracked_paths(await self.entries(wanted))
        if await asyncio.to_thread(hides_any, built.files, tracked):
            # Made on another commit, in which something was not tracked that here is.
            built = await self._built_once(f"{key}-{wanted[:16]}", setup, base, tree)
        return built

    def stray_installs(self, dependencies: Dependencies | None) -> list[str]:
        """Why a verdict that rests on these dependencies proves nothing: what they install is not the tree under it.

        At the repository's own path this cannot be; in a folder elsewhere an editable install leads out of it.
        """
        if dependencies is None or self.backend != NO_SANDBOX:
            return []
        return [
            f"{path.relative_to(dependencies.files)} leads to an editable install outside of the tree that was checked"
            for pattern in EDITABLE_INSTALLS
            for path in sorted(dependencies.files.glob(f"**/site-packages/{pattern}"))
            if _names_any(path, (self.repo.root, self._store))
        ]

    async def _built_once(self, key: str, setup: Setup, base: str, tree: str | None) -> Dependencies:
        built = Dependencies(key, self._store / "dependencies" / key)
        async with locked(self._store / "dependencies" / f"{key}.lock"):
            if not built.folder.exists():
                await self._build(setup, base, tree, built.folder)
            os.utime(built.folder)
        return built

    async def _keep_from_cleaning(self) -> None:
        """Hold the store for as long as these layers live, so that nobody cleans away what is in use."""
        while not self._in_use:
            held = await asyncio.to_thread(share, self._store)
            if held is None:
                await asyncio.sleep(PATIENCE_SECS)
                continue
            weakref.finalize(self, os.close, held)
            self._in_use = True

    async def _tree_of(self, commit: str) -> str:
        if commit not in self._base_trees:
            self._base_trees[commit] = await self.mirror.tree_of(commit)
        return self._base_trees[commit]

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
            async with self.mounted(plan, scratch) as checkout:
                yield checkout
        finally:
            await asyncio.to_thread(scratch.discard)

    async def _export(self, base: str, tree: str | None, folder: Path) -> tuple[Path, ...]:
        if tree is None or tree == await self._tree_of(base):
            return ()
        commit = await self.mirror.commit(tree, base, "Update")
        await self.mirror.export(commit, base, folder)
        return (folder,)

    async def _key(self, setup: Setup, tree: str) -> str:
        """What layer 2 depends on: the commands, the contents of their inputs, the tools and the platform."""
        entries = await self.entries(tree)
        inputs = {path: entries[path].id for path in setup.inputs if path in entries}
        reused = [await asyncio.to_thread(self._stamp_of_reused, folder) for folder in setup.reuse]
        tools = await self.toolchain()
        parts = [
            setup.commands,
            setup.reuse,
            {name: self.environ.get(name) for name in setup.variables},
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
                variables=self._setup_variables(setup, of_a_change=tree is not None),
            )
            async with self.mounted(plan, scratch) as checkout:
                for command in setup.commands:
                    await _run_setup(checkout, command, setup.limit_secs)
            tracked = tracked_paths(await self.entries(tree or await self._tree_of(base)))
            add_tracked(tracked, await self.entries(await self._tree_of(base)), IN_BASE_ONLY)
            await asyncio.to_thread(keep_untracked, scratch.folder / "upper", tracked)
            await asyncio.to_thread(_adopt, scratch.folder, folder)
        finally:
            await asyncio.to_thread(scratch.discard)

    def _setup_variables(self, setup: Setup, *, of_a_change: bool) -> dict[str, str]:
        named = {name: self.environ[name] for name in setup.variables if name in self.environ}
        # What a change wants installed is fetched, and kept from running scripts of its own where that can be said.
        return {**NO_INSTALL_SCRIPTS, **named} if of_a_change else named

    def mounted(self, plan: StackPlan, scratch: Scratch) -> Stack | PlainCheckout:
        """A plan in a sandbox, or as a plain copy where there is none."""
        if self.backend == NO_SANDBOX:
            return PlainCheckout(plan, scratch, self.environ)
        return Stack(plan, self.backend, scratch, self.environ)

    def _stamp_of_reused(self, name: str) -> str:
        """Looked at once, before anybody works here: what comes into the folder later is not what was copied."""
        if name not in self._stamps:
            self._stamps[name] = stamp_of_folder(self._reused(name))
        return self._stamps[name]

    def _reused(self, name: str) -> Path:
        folder = self.repo.root / name
        inside = self.repo.root in folder.parents and ".." not in folder.parts
        if not inside or folder.relative_to(self.repo.root).parts[0] == ".git":
            raise InputError(f"`reuse` names {name!r}, which is not a folder inside of the repository")
        if not folder.is_dir():
            raise InputError(f"`reuse` names {name!r}, but {folder} is not a folder; create it or use `setup`")
        return folder

    def _copy_reused(self, folders: Iterable[str], upper: Path) -> None:
        for name in folders:
            (upper / name).parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copytree(
                    self._reused(name), upper / name, symlinks=True, dirs_exist_ok=True, copy_function=_copy_if_a_file
                )
            except OSError as error:
                raise InputError(f"`reuse` names {name!r}, which cannot be copied: {error}") from None


async def _run_setup(checkout: Checkout, command: str, limit_secs: float) -> None:
    finished = await checkout.run(ShellCommand(line=command, timeout_secs=limit_secs, network=True))
    said = finished.stdout.tail(2000).strip()
    if finished.timed_out:
        raise InputError(f"setup `{command}` did not end within {limit_secs:g} s:\n{said}")
    if finished.exit_code != 0:
        how = f"exit {finished.exit_code}" if finished.signal is None else f"signal {finished.signal}"
        raise InputError(f"setup `{command}` failed ({how}):\n{said}")


def _copy_if_a_file(source: str, target: str) -> None:
    """As `copy2`; sockets and pipes, which a program left in the folder, are nobody's dependency."""
    if Path(source).is_file():
        shutil.copy2(source, target)


def _names_any(file: Path, folders: Iterable[Path]) -> bool:
    try:
        content = file.read_bytes()
    except OSError:
        return False
    return any(os.fsencode(folder) in content for folder in folders)


def _adopt(scratch: Path, folder: Path) -> None:
    """Make a finished layer visible all at once."""
    made = scratch / "layer"
    made.mkdir()
    (scratch / "upper").rename(made / "upper")
    (scratch / "home").rename(made / "home")
    made.rename(folder)
