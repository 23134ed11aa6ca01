"""Contracts that a person gave: from outside of the repository, or from its base commit, and never from a change."""

from __future__ import annotations

import asyncio
from pathlib import Path

from trueup.contract import Baseline, Contract, load_contract, parse_contract
from trueup.core.errors import InputError
from trueup.core.settings import PROJECT_FILE
from trueup.core.trust import is_trusted
from trueup.workspace import Mirror


async def given_contract(file: Path | None, mirror: Mirror, base: str) -> Contract:
    """The contract that a person named, or else the one in the base's `trueup.yaml`."""
    root = mirror.repository.root
    named = None if file is None else await asyncio.to_thread(file.resolve)
    if named is not None and not named.is_relative_to(root):
        contract = load_contract(named)
    else:
        path = PROJECT_FILE if named is None else str(named.relative_to(root))
        contract = await _contract_of_base(mirror, base, path, named_by_person=named is not None)
    return usable(contract)


def usable(contract: Contract) -> Contract:
    """A contract without problems; an `InputError` that names each of them."""
    problems = contract.validate()
    if problems:
        raise InputError("the contract cannot be used:\n" + "\n".join(f"- {problem}" for problem in problems))
    return contract


def no_verdict_because(baseline: Baseline, *, guards_only: bool) -> list[str]:
    """Where the baseline alone shows that no verdict can be reached, say so before anything else is run."""
    if baseline.broken:
        return [f"check {check.name!r} is broken: {check.reason}; {check.fix}" for check in baseline.broken]
    if baseline.goals or guards_only:
        return []
    if baseline.flaky:
        names = ", ".join(check.name for check in baseline.flaky)
        return [f"no goal can be relied on: {names} disagree with themselves on the base"]
    return ["every check is already green on the base, so none of them shows that anything was done"]


async def _contract_of_base(mirror: Mirror, base: str, path: str, *, named_by_person: bool) -> Contract:
    entry = (await mirror.entries(base)).get(path)
    if entry is None and named_by_person:
        if not await asyncio.to_thread((mirror.repository.root / path).exists):
            raise InputError(f"{path}: no such file, neither here nor in the base {base[:12]}")
        raise InputError(
            f"{path} is inside the repository but not in the base {base[:12]}, so the change could have written it; "
            "commit it first, or keep it outside of the repository"
        )
    if entry is None:
        raise InputError(
            f"no contract: the base {base[:12]} has no {path}. Write one with `trueup init` and commit it, or name one "
            "outside of the repository with --contract"
        )
    content = await mirror.read(entry.id)
    contract = parse_contract(content, f"{base[:12]}:{path}")
    widened = widening(contract)
    if widened and not is_trusted(content):
        how = (
            "agree once with `trueup trust`" if path == PROJECT_FILE else "name a copy of it outside of the repository"
        )
        raise InputError(f"{path} of the repository {widened}; read it, then {how}")
    return contract


def widening(contract: Contract) -> str:
    """What a contract asks for that only a person may grant; nothing for an ordinary one."""
    asked = {
        "runs setup commands with a network": contract.setup,
        "names variables of yours for setup": contract.setup_env,
        "copies folders of yours": contract.reuse,
        "lets checks use your network": [check for check in contract.checks if check.network],
    }
    return " and ".join(what for what, wanted in asked.items() if wanted)
