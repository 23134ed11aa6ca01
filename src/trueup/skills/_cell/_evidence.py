"""What evals look at, and what they find."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.core.usage import Usage

from .._model import Message, MockCall, Role, ToolEvent
from .._report import Detail, Vote
from ._spec import CellSpec

LONG_CHARACTERS = 32 << 10


class Evidence(Struct, frozen=True, kw_only=True):
    """A conversation that is over. `folder` is None where the workspace is gone."""

    spec: CellSpec
    messages: tuple[Message, ...]
    turns: int
    folder: Path | None = None
    skill_usage: Usage | None = None
    events_told: bool = True
    mock_calls: list[MockCall] | None = None
    activated: bool | None = None

    @property
    def replies(self) -> list[str]:
        return [message.content for message in self.messages if message.role is Role.ASSISTANT]

    @property
    def is_long(self) -> bool:
        """Whether looking at what was said may take a while."""
        return sum(map(len, self.replies)) > LONG_CHARACTERS

    @property
    def tool_calls(self) -> list[ToolEvent]:
        return [event for message in self.messages for event in message.events if event.kind == "tool_call"]


class Finding(Struct, frozen=True, kw_only=True):
    """Whether an eval holds, and why."""

    passed: bool
    detail: Detail
    reason: str
    votes: list[Vote] = []
    agreement: float | None = None


class UnseenError(TrueupError):
    """What an eval is about could not be seen in this cell, so that it neither holds nor fails."""

    kind = Kind.PROTOCOL
