"""A change of the user's, checked: from what they named to a verdict."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from trueup.contract import Baseline, Contract, load_contract, parse_contract
from trueup.core.errors import InputError
from trueup.core.protocols import Recorder
from trueup.core.settings import PROJECT_FILE
from trueup.core.trust import is_trusted
from trueup.workspace import NO_SANDBOX, Backend, Layers, Mirror, Repository, find_backend, store_of

from ._steps import Step
from ._verdict import Verdict
from ._verifier import Verifier


class CheckRequest(Struct, frozen=True, kw_only=True):
    """What to check: a commit, a patch or, where neither is named, the working tree; against which base, by what.

    `fresh` runs the baseline anew, even where it is remembered.
    """

    folder: Path
    contract_file: Path | None = None
    base: str | None = None
    rev: str | None = None
    patch: bytes | None = None
    guards_only: bool = False
    jobs: int = 1
    sandboxed: bool = True
    fresh: bool = False


async def check_change(request: CheckRequest, recorder: Recorder) -> Verdict:
    """Find out whether a change is done."""
    if request.rev is not None and request.patch is not None:
        raise InputError("--rev and --diff both name a change: choose")
    repo = await Repository.open(request.folder)
    store = store_of(repo.root)
    mirror = await Mirror.open(repo, store / "mirror")
    base = await repo.resolve(request.base) if request.base else await repo.default_base()
    contract = await _contract(request, mirror, base)
    layers = Layers(repo, mirror, store, await _backend(request))
    tree = await _tree(request, mirror, repo, base)

    await recorder.record(Step(f"base {base[:12]}, tree {tree[:12]}, sandbox {layers.backend}"))
    verifier = Verifier(layers, contract, base, recorder, jobs=request.jobs)
    if contract.setup or contract.reuse:
        await recorder.record(Step("dependencies: set up, or found ready"))
    await verifier.prepare()
    baseline = await verifier.baseline(fresh=request.fresh)
    hopeless = _no_verdict_because(request, baseline)
    if hopeless:
        return verifier.unproven(tree, baseline, hopeless)
    return await verifier.verdict(tree, baseline, guards_only=request.guards_only)


async def _backend(request: CheckRequest) -> Backend:
    if not request.sandboxed:
        return NO_SANDBOX
    return await find_backend()


async def _tree(request: CheckRequest, mirror: Mirror, repo: Repository, base: str) -> str:
    if request.patch is not None:
        return await mirror.apply_patch(base, request.patch)
    if request.rev is not None:
        return await mirror.tree_of(await repo.resolve(request.rev))
    return await mirror.snapshot(repo.root, base)


async def _contract(request: CheckRequest, mirror: Mirror, base: str) -> Contract:
    """The contract from outside the repository, or from its base commit: never from the change."""
    root = mirror.repository.root
    named = None if request.contract_file is None else await asyncio.to_thread(request.contract_file.resolve)
    if named is not None and not named.is_relative_to(root):
        contract = load_contract(named)
    else:
        path = PROJECT_FILE if named is None else str(named.relative_to(root))
        contract = await _contract_of_base(mirror, base, path, named_by_person=named is not None)
    problems = contract.validate()
    if problems:
        raise InputError("the contract cannot be used:\n" + "\n".join(f"- {problem}" for problem in problems))
    return contract


async def _contract_of_base(mirror: Mirror, base: str, path: str, *, named_by_person: bool) -> Contract:
    entry = (await mirror.entries(base)).get(path)
    if entry is None and named_by_person:
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
    widened = _widens(contract)
    if widened and not is_trusted(content):
        how = (
            "agree once with `trueup trust`" if path == PROJECT_FILE else "name a copy of it outside of the repository"
        )
        raise InputError(f"{path} of the repository {widened}; read it, then {how}")
    return contract


def _widens(contract: Contract) -> str:
    """What a repository's own contract asks for that only a person may grant."""
    asked = {
        "runs setup commands with a network": contract.setup,
        "names variables of yours for setup": contract.setup_env,
        "copies folders of yours": contract.reuse,
        "lets checks use your network": [check for check in contract.checks if check.network],
    }
    return " and ".join(what for what, wanted in asked.items() if wanted)


def _no_verdict_because(request: CheckRequest, baseline: Baseline) -> list[str]:
    """Where the baseline alone shows that no verdict can be reached, say so before anything else is run."""
    if baseline.broken:
        return [f"check {check.name!r} is broken: {check.reason}; {check.fix}" for check in baseline.broken]
    if baseline.goals or request.guards_only:
        return []
    if baseline.flaky:
        names = ", ".join(check.name for check in baseline.flaky)
        return [f"no goal can be relied on: {names} disagree with themselves on the base"]
    return [
        "every check is already green on the base, so none of them shows that anything was done "
        "(--guards-only checks just that nothing broke)"
    ]
