"""What agents tell while they work, in one vocabulary for all of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import field

from trueup.core.protocols import Event
from trueup.core.usage import Usage


class ToolKind(StrEnum):
    """What a tool does, whatever a harness calls it."""

    SHELL = "shell"
    READ = "read"
    WRITE = "write"
    SEARCH = "search"
    WEB = "web"
    OTHER = "other"


class PlanText(Event, frozen=True):
    """What an engine says it is about."""

    text: str


class Message(Event, frozen=True):
    """Something that an agent says."""

    text: str


class Reasoning(Event, frozen=True):
    """Something that an agent thinks aloud."""

    text: str


class ToolCall(Event, frozen=True):
    """A tool that an agent called, by the harness's own name for it."""

    name: str
    id: str = ""
    tool_kind: ToolKind = ToolKind.OTHER
    input: dict[str, Any] = field(default_factory=dict)


class ToolResult(Event, frozen=True):
    """What came of a tool that an agent called. `ok` is None where the harness does not tell."""

    id: str = ""
    ok: bool | None = None
    output: str = ""
    duration_secs: float | None = None


class UsageReported(Event, frozen=True):
    """What one call of a model used, as the agent reports it; each is one turn of the agent."""

    usage: Usage


class Retried(Event, frozen=True):
    """A call of the model that failed and is tried again by the harness itself."""

    attempt: int
    message: str = ""


class PermissionDecided(Event, frozen=True):
    """Whether an agent may do what it asked for."""

    id: str
    tool: str
    allowed: bool
    reason: str = ""


class SessionNamed(Event, frozen=True):
    """The id by which the harness can go on with this conversation."""

    session_id: str
