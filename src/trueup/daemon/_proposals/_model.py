"""Proposals and what becomes of them, as they are on the wire. What a program wrote may have more keys than these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

FailureBehavior = Literal["abort", "retry", "skip"]
Status = Literal["succeeded", "failed", "rejected", "skipped"]
IssueKind = Literal[
    "duplicate_id",
    "no_tool",
    "unknown_tool",
    "invalid_parameters",
    "unsupported",
    "unknown_dependency",
    "cycle",
    "state_dependency",
    "policy",
]

Milliseconds = Annotated[int, Meta(ge=1, le=2**53)]
Retries = Annotated[int, Meta(ge=0, le=1000)]
# So many are judged, done and answered within a second, in which others have to share the loop.
MOST_ACTIONS = 10_000


class ProposedAction(Struct, frozen=True, kw_only=True, tag_field="type"):
    """One step of a proposal. Each type is a subclass.

    `dependencies` are ids of actions that must have succeeded before, `state_dependencies` keys that must be in the
    state. `expected_effects` become part of the state when the action succeeds. A call that ran out of time may have
    happened all the same, so that it is repeated only where it is `idempotent`.
    """

    id: str | None = None
    timeout_ms: Milliseconds | None = None
    max_retries: Retries | None = None
    failure_behavior: FailureBehavior = "abort"
    dependencies: list[str] | None = None
    state_dependencies: list[str] | None = None
    expected_effects: dict[str, Any] | None = None
    idempotent: bool = False
    preconditions: list[Any] | None = None

    @property
    def attempts(self) -> int:
        """How often it may be tried."""
        if self.failure_behavior != "retry":
            return 1
        return 1 + (3 if self.max_retries is None else self.max_retries)

    @property
    def aborts(self) -> bool:
        """Whether nothing further is begun once it was refused or has finally failed."""
        return self.failure_behavior != "skip"

    @property
    def reads(self) -> list[str]:
        """The keys of the state that it looks at."""
        return self.state_dependencies or []

    @property
    def writes(self) -> dict[str, Any]:
        """What it leaves in the state when it succeeds."""
        return self.expected_effects or {}


class ToolCallAction(ProposedAction, frozen=True, kw_only=True, tag="tool_call"):
    """Calls a tool that the client registered."""

    tool: str | None = None
    parameters: dict[str, Any] = {}


class KeyAndValue(Struct, frozen=True, forbid_unknown_fields=True):
    """What to write."""

    key: str
    value: Any


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """What to read."""

    key: str


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """What must be found."""

    key: str
    expected: Any


class StateWriteAction(ProposedAction, frozen=True, kw_only=True, tag="state_write"):
    """Puts a value into the state."""

    parameters: KeyAndValue

    @property
    def writes(self) -> dict[str, Any]:
        return {self.parameters.key: self.parameters.value, **(self.expected_effects or {})}


class StateReadAction(ProposedAction, frozen=True, kw_only=True, tag="state_read"):
    """Gives a value of the state; fails where there is none."""

    parameters: Key

    @property
    def reads(self) -> list[str]:
        return [*(self.state_dependencies or []), self.parameters.key]


class AssertionAction(ProposedAction, frozen=True, kw_only=True, tag="assertion"):
    """Fails where the state is not as expected. Numbers are compared by value, and `true` is not 1."""

    parameters: Expectation

    @property
    def reads(self) -> list[str]:
        return [*(self.state_dependencies or []), self.parameters.key]


AnyAction = ToolCallAction | StateWriteAction | StateReadAction | AssertionAction


class Proposal(Struct, frozen=True, kw_only=True):
    """A list of actions that a client submits."""

    id: str | None = None
    source: str | None = None
    actions: Annotated[list[AnyAction], Meta(max_length=MOST_ACTIONS)]
    context: dict[str, Any] | None = None


class Issue(Struct, frozen=True, kw_only=True):
    """Why an action is refused. `rule` and `param` are of the policy that refuses it."""

    action_id: str
    action_index: int
    kind: IssueKind
    message: str
    severity: Literal["error"] = "error"
    rule: str | UnsetType = UNSET
    param: str | UnsetType = UNSET


class Verification(Struct, frozen=True):
    """What `submit` would refuse of a proposal."""

    valid: bool
    issues: list[Issue]


class StateChange(Struct, frozen=True):
    """What happened to a key of the state."""

    op: Literal["set"]
    value: Any


class ActionResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an action. With `rolled_back`, its changes of the state were undone when the proposal aborted."""

    action_id: str
    status: Status
    output: Any = UNSET
    error: str | None = None
    rolled_back: bool = False
    terminal: bool = False
    state_changes: dict[str, StateChange]
    duration_ms: float | None = None
    timestamp: str


class Cost(Struct, frozen=True, kw_only=True):
    """What a proposal took. Repeated calls are among the `tool_calls`; executed are those that succeeded or failed."""

    tool_calls: int
    actions_executed: int
    actions_rejected: int
    actions_skipped: int
    total_duration_ms: float
    retries: int


class ProposalResult(Struct, frozen=True, kw_only=True):
    """What became of a proposal, its results in the order of its actions."""

    proposal_id: str
    results: list[ActionResult]
    cost: Cost
