"""Where a contract is evaluated: the base, its dependencies, and pristine checkouts of trees over them."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from trueup.contract import Check, CheckResult, Contract, evaluate, is_setup_input
from trueup.core.protocols import Recorder, Shell
from trueup.workspace import Checkout, Dependencies, Layers, Setup

from ._services import WithServices
from ._steps import Step

MOST_MANIFEST_BYTES = 1 << 20


class Stage:
    """One contract on one base commit. `prepare` comes first."""

    def __init__(self, layers: Layers, contract: Contract, base: str, recorder: Recorder, jobs: int) -> None:
        self.layers = layers
        self.mirror = layers.mirror
        self.contract = contract
        self.base = base
        self.recorder = recorder
        # Side by side, two checks would start the same service twice in one network.
        self.jobs = 1 if contract.services else jobs
        self._setup_inputs: dict[str, bool] = {}

    async def prepare(self) -> None:
        """Check the base out and set its dependencies up, once."""
        self.base_tree = await self.mirror.tree_of(self.base)
        self.base_paths = list(await self.layers.entries(self.base_tree))
        self._base_folder = await self.layers.base(self.base)
        self.dependencies = await self.set_up(self.base_tree)

    async def say(self, text: str) -> None:
        await self.recorder.record(Step(text))

    def check(self, name: str) -> Check:
        return next(check for check in self.contract.checks if check.name == name)

    async def set_up(self, tree: str) -> Dependencies | None:
        """The dependencies of a tree, built where nobody has built them yet."""
        if not self.contract.setup and not self.contract.reuse:
            return None
        paths = await self.layers.entries(tree)
        setup = Setup(
            commands=tuple(self.contract.setup),
            variables=tuple(self.contract.setup_env),
            inputs=tuple(await asyncio.to_thread(lambda: [path for path in paths if self.is_setup_input(path)])),
            reuse=tuple(self.contract.reuse),
        )
        return await self.layers.dependencies(setup, self.base, None if tree == self.base_tree else tree)

    def is_setup_input(self, path: str) -> bool:
        if path not in self._setup_inputs:
            self._setup_inputs[path] = is_setup_input(path, self.contract)
        return self._setup_inputs[path]

    def pristine(self, tree: str | None, dependencies: Dependencies | None) -> AbstractAsyncContextManager[Checkout]:
        """A tree (the base's where none is given) that nobody has touched."""
        return self.layers.pristine(self.base, tree, dependencies)

    async def run(
        self, checks: list[Check], checkout: Checkout, recorder: Recorder | None = None, jobs: int = 1
    ) -> list[CheckResult]:
        contract = msgspec.structs.replace(self.contract, checks=checks)
        return await evaluate(contract, self.with_services(checkout), recorder or self.recorder, jobs=jobs)

    def with_services(self, checkout: Checkout) -> Shell:
        return WithServices(checkout, self.contract.services) if self.contract.services else checkout

    def read_base(self, path: str) -> str | None:
        """The text of a file of the base, unless it is a link or too large to be a manifest."""
        return _read_plain_file(self._base_folder / path)


def _read_plain_file(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        raw = file.read(MOST_MANIFEST_BYTES + 1)
    return raw.decode(errors="replace") if len(raw) <= MOST_MANIFEST_BYTES else None
