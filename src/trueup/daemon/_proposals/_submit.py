"""The two things that can be done with a proposal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from ._decide import judge
from ._execute import Execution
from ._ground import Ground
from ._model import Proposal, ProposalResult, Verification


async def verify(proposal: Proposal, ground: Ground, initial_state: Mapping[str, Any] | None = None) -> Verification:
    """Say what `submit` would refuse; with `initial_state`, as if that were the state."""
    judgement = await judge(proposal, ground, ground.state if initial_state is None else initial_state)
    issues = [issue for found in judgement.issues for issue in found]
    return Verification(valid=not issues, issues=issues)


async def submit(proposal: Proposal, ground: Ground) -> ProposalResult:
    """Refuse what must be refused, do the rest, and record a turn for each action."""
    judgement = await judge(proposal, ground, ground.state)
    return await Execution(proposal, proposal.id or uuid4().hex[:12], judgement, ground).run()
