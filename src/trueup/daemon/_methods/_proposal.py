"""Proposals: what would be refused of one, and what becomes of one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from .._errors import Code, RpcError
from .._ground import ClientGround
from .._live_runs import LiveRun
from .._method import Call, method
from .._proposals import Proposal, ProposalResult, Verification, submit, verify


class Scope(Struct, frozen=True):
    """For whom; each tenant has a state of its own."""

    tenant_id: str | None = field(default=None, name="tenantId")


class VerifyProposal(Struct, frozen=True):
    """A proposal, and the state to begin with where it is not the connection's."""

    proposal: Proposal
    initial_state: dict[str, Any] | None = None
    session_id: str | None = None
    scope: Scope | None = None


class SubmitProposal(Struct, frozen=True):
    """A proposal. `session_id` adds the policies of that session, `echo` asks for the proposal in the result."""

    proposal: Proposal
    session_id: str | None = None
    scope: Scope | None = None
    echo: bool = False


class SubmitResult(ProposalResult, frozen=True, kw_only=True):
    """What became of a proposal; with the proposal itself where that was asked for."""

    proposal: Proposal | UnsetType = UNSET


@method("verify", aside=True)
async def verify_proposal(call: Call, params: VerifyProposal) -> Verification:
    """Say what `proposal.submit` would refuse."""
    return await verify(params.proposal, _ground(call, params), params.initial_state)


@method("proposal.submit", aside=True)
async def submit_proposal(call: Call, params: SubmitProposal) -> ProposalResult:
    """Do what is proposed: what is allowed, in the order of its dependencies, by calling the client's tools back.

    A refused action is a result and not an error. One turn for each action is recorded on the connection's current run,
    and on disk before this is answered.
    """
    ground = _ground(call, params)
    result = await _on_run(ground.run, submit(params.proposal, ground))
    if not params.echo:
        return result
    return SubmitResult(
        proposal_id=result.proposal_id, results=result.results, cost=result.cost, proposal=params.proposal
    )


def _ground(call: Call, params: VerifyProposal | SubmitProposal) -> ClientGround:
    tenant = None if params.scope is None else params.scope.tenant_id
    return ClientGround(call.connection, params.session_id, tenant)


async def _on_run(run: LiveRun | None, work: Coroutine[Any, Any, ProposalResult]) -> ProposalResult:
    """Work that ends when its run is cancelled."""
    task = asyncio.current_task()
    if run is None or task is None:
        return await work
    run.work.add(task)
    try:
        return await work
    except asyncio.CancelledError:
        if run.cancelled_because is None or task.uncancel() > 0:
            raise
        said = f"run {run.run_id} was cancelled: {run.cancelled_because}"
        raise RpcError(Code.RUN_ENDED, said, {"run_id": run.run_id}) from None
    finally:
        run.work.discard(task)
