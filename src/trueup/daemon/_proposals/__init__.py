"""Proposals: what is refused of one, and what becomes of one. Nothing here knows a socket.

`verify` and `submit` ask the same function, `judge`, which decides about every action before any of them runs: its id,
tool, parameters, dependencies, and what the policies say. What it refuses is `rejected` by `submit` and an issue of
`verify`, with the same words. Policies are asked once more when a call begins: what they no longer allow, a limit that
was used up meanwhile say, is `rejected` then, and never tried again.

The rest runs by its dependencies. Explicit ones (`dependencies`) must have succeeded; a key of `state_dependencies` must
be in the state by then, brought by an action of the proposal or there before. Actions that share a key, one of them
writing it, keep the order of the list, so that the state ends as if they had run one by one. All others run at the same
time.

An action that is refused or has finally failed stops the proposal unless its `failure_behavior` is `skip`: what is
under way is finished, nothing further is begun (`skipped due to abort`), and what the proposal changed in the state is
undone (`rolled_back`), as it is when the whole is cancelled. What tools did outside cannot be undone. After a refusal
"further" means later in the order, since it was known before anything ran. `retry` tries up to `max_retries` times
more, at once; never after a terminal error, and after a time-out only what is `idempotent`.

Turns are recorded while actions run, one append at a time and as many turns in each as have come together; all are
recorded before `submit` returns, also when it is cancelled.

A client is met through a `Ground`.
"""

from ._ground import Ground, ToolAnswer, ToolCall
from ._model import (
    ActionResult,
    AnyAction,
    AssertionAction,
    Cost,
    Issue,
    Proposal,
    ProposalResult,
    ProposedAction,
    StateChange,
    StateReadAction,
    StateWriteAction,
    ToolCallAction,
    Verification,
)
from ._submit import submit, verify
from ._tools import ToolInfo, Tools, ToolSpec
from ._turns import turn_of

__all__ = [
    "ActionResult",
    "AnyAction",
    "AssertionAction",
    "Cost",
    "Ground",
    "Issue",
    "Proposal",
    "ProposalResult",
    "ProposedAction",
    "StateChange",
    "StateReadAction",
    "StateWriteAction",
    "ToolAnswer",
    "ToolCall",
    "ToolCallAction",
    "ToolInfo",
    "ToolSpec",
    "Tools",
    "Verification",
    "submit",
    "turn_of",
    "verify",
]
