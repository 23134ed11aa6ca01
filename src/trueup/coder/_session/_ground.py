"""What the steps of a session stand on: its repository, contract, verifier, engine and kept trees."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from trueup.contract import Baseline, Contract
from trueup.core.errors import InputError
from trueup.core.protocols import Gate
from trueup.harness import Engine, Surroundings, parse_engine
from trueup.policy import PolicyGate
from trueup.workspace import NO_SANDBOX, Workspace

from .._site import Site
from .._verifier import Verifier
from ._chronicle import Chronicle
from ._native_engine import NATIVE, NativeEngine
from ._policy import gate_of
from ._request import CodeRequest


class Ground:
    """One session's repository. `folder` is where its trees are kept, which no cleaned cache takes away."""

    def __init__(self, site: Site, chronicle: Chronicle, folder: Path) -> None:
        self.site = site
        self.folder = folder
        self._chronicle = chronicle
        self._story = chronicle.story
        self._gates: dict[str, PolicyGate | None] = {}
        self._verifiers: dict[tuple[str, str], tuple[Verifier, Baseline]] = {}

    @property
    def confined(self) -> bool:
        """Whether the engine works in a sandbox."""
        return self.site.layers.backend != NO_SANDBOX

    def contract(self) -> Contract:
        """The session's contract: once it was confirmed, that one and no other."""
        contract = self._story.contract
        if contract is None:
            raise InputError(f"session {self._story.id} has no contract yet")
        if self._story.digest is not None and contract.digest != self._story.digest:
            raise InputError(f"session {self._story.id}: the contract is not the one that was confirmed")
        return contract

    async def verifier(self, contract: Contract) -> tuple[Verifier, Baseline]:
        """A verifier for a contract on the session's base, and what the contract's checks are worth there."""
        key = (contract.digest, self._story.base)
        if key not in self._verifiers:
            jobs = self._story.request.jobs
            verifier = Verifier(self.site.layers, contract, self._story.base, self._chronicle, jobs=jobs)
            await verifier.prepare()
            self._verifiers[key] = (verifier, await verifier.baseline())
        return self._verifiers[key]

    async def engine(self) -> Engine:
        """The engine that the person named."""
        return await engine_of(self._left_of_the_request(), self.site, self._story.base, await self.gate())

    def _left_of_the_request(self) -> CodeRequest:
        """What was asked for, with no more turns than earlier iterations left over."""
        request = self._story.request
        if request.limits.turns is None:
            return request
        left = max(1, request.limits.turns - self._story.turns)
        return replace(request, limits=replace(request.limits, turns=left))

    async def gate(self) -> PolicyGate | None:
        """What the base asks of every engine. One gate for the whole session, since it counts."""
        base = self._story.base
        if base not in self._gates:
            self._gates[base] = await gate_of(self.site, base)
        return self._gates[base]

    async def new_workspace(self) -> Workspace:
        """A workspace with what the engine made so far."""
        tree = self._story.tree
        if tree is not None:
            await self.bring_back(tree)
        verifier, _ = await self.verifier(self.contract())
        return await Workspace.create(self.site.layers, self._story.base, verifier.dependencies, tree=tree)

    async def old_workspace(self) -> Workspace | None:
        """The workspace that the session left when its process ended, if it is still there."""
        if self._story.workspace is None:
            return None
        verifier, _ = await self.verifier(self.contract())
        try:
            return await Workspace.reopen(
                self.site.layers, self._story.workspace, self._story.base, verifier.dependencies
            )
        except InputError:
            return None

    async def remove_workspace(self) -> None:
        """Throw away what the session left when its process ended, if it is still there."""
        if self._story.workspace is not None:
            with suppress(InputError):
                left = await Workspace.reopen(self.site.layers, self._story.workspace, self._story.base)
                await left.discard()

    async def keep(self, tree: str, base: str) -> None:
        """Keep a tree for as long as the session is remembered."""
        await self.site.mirror.write_pack(tree, base, self._pack(tree))

    async def bring_back(self, tree: str) -> None:
        """Make sure that a tree is there, also after the cache was cleaned."""
        pack = self._pack(tree)
        if not await self.site.mirror.has(tree) and await asyncio.to_thread(pack.exists):
            await self.site.mirror.import_pack(pack, tree, self._story.base)

    def _pack(self, tree: str) -> Path:
        return self.folder / f"{tree}.pack"


async def engine_of(request: CodeRequest, site: Site, base: str, gate: Gate | None) -> Engine:
    """The engine that a person named, as it is seen from a workspace at a base."""
    if request.engine == NATIVE:
        return NativeEngine(request.model, site.layers.environ, request.limits.turns, gate)
    paths = await site.layers.entries(await site.mirror.tree_of(base))
    around = Surroundings(
        folder=Path(request.folder),
        repository=site.repo.root,
        in_base=paths.__contains__,
        environ=site.layers.environ,
        confined=site.layers.backend != NO_SANDBOX,
        user_config=request.user_config,
        gate=gate,
    )
    return await parse_engine(request.engine, around)
