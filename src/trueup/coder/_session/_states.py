"""The states of a session, and the ways between them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a session is. Each is safe: a session that died goes on from the one that it was in."""

    CREATED = "created"
    CONTRACT_PROPOSED = "contract_proposed"
    CONTRACT_CONFIRMED = "contract_confirmed"
    RUNNING = "running"
    VERIFYING = "verifying"
    NEEDS_APPROVAL = "needs_approval"
    MERGED = "merged"
    REPORTED = "reported"
    FAILED = "failed"
    ABANDONED = "abandoned"

    @property
    def is_final(self) -> bool:
        return self in _FINAL

    def may_become(self, other: State) -> bool:
        return not self.is_final and (other in _WAYS[self] or other in _ALWAYS_POSSIBLE)


class FailureReason(StrEnum):
    """Why a session failed.

    `verification`: no iteration is left and the last change was refused. `budget_exhausted`: a limit on time, turns,
    tokens or dollars. `stalled`: the engine fell silent. `no_progress`: it made the same change, or met the same
    failure, again. `unproven`: the contract cannot show that anything was done.
    """

    BUDGET_EXHAUSTED = "budget_exhausted"
    STALLED = "stalled"
    NO_PROGRESS = "no_progress"
    UNPROVEN = "unproven"
    AUTH_REQUIRED = "auth_required"
    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"
    VERIFICATION = "verification"
    ERROR = "error"


_FINAL = frozenset({State.MERGED, State.REPORTED, State.FAILED, State.ABANDONED})
_ALWAYS_POSSIBLE = frozenset({State.FAILED, State.ABANDONED})
_WAYS = {
    State.CREATED: {State.CONTRACT_PROPOSED},
    # Proposed anew, when it was edited or revised.
    State.CONTRACT_PROPOSED: {State.CONTRACT_PROPOSED, State.CONTRACT_CONFIRMED},
    State.CONTRACT_CONFIRMED: {State.RUNNING},
    State.RUNNING: {State.VERIFYING},
    State.VERIFYING: {State.RUNNING, State.NEEDS_APPROVAL},
    # Sent back with words; or the base moved, and what would be merged is another tree.
    State.NEEDS_APPROVAL: {State.RUNNING, State.VERIFYING, State.MERGED, State.REPORTED},
}
