"""Where a session's contract comes from: given, derived by a model, or read off the repository."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from trueup.contract import Contract, OfflineDerivation, derive, derive_offline, summarize
from trueup.core.documents import Document
from trueup.core.errors import InputError
from trueup.core.settings import PROJECT_FILE
from trueup.model import generate_for
from trueup.workspace import Mirror

from .._contracts import given_contract, usable
from .._site import Site
from ._person import GIVEN
from ._request import CodeRequest


class Proposed(Struct, frozen=True):
    """A contract, where it comes from, and what should be known about it."""

    contract: Contract
    source: str
    notes: list[str] = []


async def propose(request: CodeRequest, site: Site, base: str) -> Proposed:
    """The contract that a person gave, else one that a model writes, else the checks that the repository has."""
    if request.contract is not None:
        contract = usable(request.contract)
        return Proposed(contract, "proposed by whoever asked for this", contract.weaknesses())
    if request.contract_file is not None:
        contract = await given_contract(Path(request.contract_file), site.mirror, base)
        return Proposed(contract, f"{GIVEN}: {request.contract_file}")
    if await _has_contract(site.mirror, base):
        return Proposed(await given_contract(None, site.mirror, base), f"{GIVEN}: {PROJECT_FILE} of the base")
    files = await site.layers.base(base)
    if request.generate is not None:
        return await _derived(request, files, request.intent)
    found = await asyncio.to_thread(derive_offline, files, request.intent, called=f"the base {base[:12]}")
    return Proposed(found.contract, "the repository's own checks", found.notes)


async def revise(request: CodeRequest, site: Site, base: str, contract: Contract, words: str) -> Proposed:
    """Have a contract written anew by a person's words."""
    if request.generate is None:
        raise InputError(
            "no model to revise the contract: edit it instead, or set `generate` in your settings to a command"
        )
    wanted = f"{request.intent}\n\nThe contract so far:\n{contract.render()}\nChange it by these words:\n{words}"
    proposed = await _derived(request, await site.layers.base(base), wanted)
    kept = {name: getattr(contract, name) for name in ("setup", "setup_env", "setup_inputs", "reuse", "services")}
    return replace(proposed, contract=replace(proposed.contract, **kept))


async def _derived(request: CodeRequest, files: Path, intent: str) -> Proposed:
    if request.generate is None:
        raise TypeError("a contract is derived by a model, and none is named")
    summary = await asyncio.to_thread(summarize, files)
    derivation = await derive(generate_for(request.generate), intent, summary, request.attempts_at_a_contract)
    # A model is asked what done means; how this repository is set up, its own files say.
    found = await asyncio.to_thread(_read_off, files)
    contract = derivation.contract
    if found is not None and not contract.setup:
        contract = replace(contract, setup=found.contract.setup, setup_inputs=found.contract.setup_inputs)
    return Proposed(contract, f"derived by {request.generate}", contract.weaknesses())


def _read_off(files: Path) -> OfflineDerivation | None:
    with suppress(InputError):
        return derive_offline(files)
    return None


async def _has_contract(mirror: Mirror, base: str) -> bool:
    entry = (await mirror.entries(base)).get(PROJECT_FILE)
    if entry is None:
        return False
    document = Document.parse(await mirror.read(entry.id), source=f"{base[:12]}:{PROJECT_FILE}", is_json=False)
    return document.part("contract") is not None
