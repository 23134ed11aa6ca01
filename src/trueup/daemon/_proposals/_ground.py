"""Where a proposal's actions happen: what the engine asks of the connection that it came by."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType

from trueup.core.protocols import Action, Decision
from trueup.runs import Turn

from ._tools import Tools

# A client may need a moment to end what it was told to end, and to say so.
GRACE_SECS = 2.0
WITHOUT_TIMEOUT_SECS = 300.0


class ToolCall(Struct, frozen=True):
    """One attempt at a tool. `attempt` counts from 1."""

    action_id: str
    tool: str
    parameters: dict[str, Any]
    timeout_ms: int | None = None
    attempt: int = 1

    @property
    def wait_secs(self) -> float:
        """How long to wait for the answer."""
        return WITHOUT_TIMEOUT_SECS if self.timeout_ms is None else self.timeout_ms / 1000 + GRACE_SECS


class ToolAnswer(Struct, frozen=True):
    """What came back: an output, verbatim, or an error, or nothing in time. Where it was `refused`, nobody was asked."""

    output: Any | UnsetType = UNSET
    error: str | None = None
    terminal: bool = False
    timed_out: bool = False
    refused: Decision | None = None


class Ground(Protocol):
    """One client's tools, state, policies and current run. `state` gives back the very objects that were put in."""

    @property
    def tools(self) -> Tools: ...

    @property
    def state(self) -> MutableMapping[str, Any]: ...

    async def decide(self, actions: Sequence[Action], state: Mapping[str, Any]) -> Sequence[Decision]:
        """What the policies say of these, one decision each, as if they were called one after the other.

        Nothing is counted: `verify` asks too. A rule about state looks at the given one.
        """
        ...

    async def call(self, call: ToolCall) -> ToolAnswer:
        """Ask the client, and wait for `wait_secs`. Where time is up, or this is cancelled, the client is told to stop.

        A call counts for the policies, and is refused where they no longer allow what they did when the proposal was
        judged. A client that is gone is a `TrueupError`.
        """
        ...

    async def record(self, turns: Sequence[Turn]) -> None:
        """Keep turns on the current run, in this order; on disk when this returns. Nothing where there is no run."""
        ...
