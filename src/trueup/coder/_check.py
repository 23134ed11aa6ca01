"""A change of the user's, checked: from what they named to a verdict."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trueup.contract import Contract
from trueup.core.errors import InputError
from trueup.core.protocols import Recorder

from ._contracts import given_contract, no_verdict_because, usable
from ._site import Site, open_site
from ._steps import Step
from ._verdict import Outcome, Verdict
from ._verifier import Verifier


class CheckRequest(Struct, frozen=True, kw_only=True):
    """What to check: a commit, a patch or, where neither is named, the working tree; against which base, by what.

    `contract` goes before `contract_file`, `fresh` runs the baseline anew, even where it is remembered.
    """

    folder: Path
    contract_file: Path | None = None
    contract: Contract | None = None
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
    site = await open_site(request.folder, sandboxed=request.sandboxed)
    base = await site.repo.resolve(request.base) if request.base else await site.repo.default_base()
    contract = await _contract(request, site, base)
    tree = await _tree(request, site, base)

    await recorder.record(Step(f"base {base[:12]}, tree {tree[:12]}, sandbox {site.layers.backend}"))
    verifier = Verifier(site.layers, contract, base, recorder, jobs=request.jobs)
    if contract.setup or contract.reuse:
        await recorder.record(Step("dependencies: set up, or found ready"))
    await verifier.prepare()
    baseline = await verifier.baseline(fresh=request.fresh)
    hopeless = no_verdict_because(baseline, guards_only=request.guards_only)
    if hopeless:
        if not baseline.broken and not baseline.flaky:
            hopeless = [f"{hopeless[0]} (--guards-only checks just that nothing broke)"]
        return verifier.without_trial(tree, baseline, Outcome.UNPROVEN, hopeless)
    return await verifier.verdict(tree, baseline, guards_only=request.guards_only)


async def _contract(request: CheckRequest, site: Site, base: str) -> Contract:
    if request.contract is not None:
        return usable(request.contract)
    return await given_contract(request.contract_file, site.mirror, base)


async def _tree(request: CheckRequest, site: Site, base: str) -> str:
    if request.patch is not None:
        return await site.mirror.apply_patch(base, request.patch)
    if request.rev is not None:
        return await site.mirror.tree_of(await site.repo.resolve(request.rev))
    return await site.mirror.snapshot(site.repo.root, base)
