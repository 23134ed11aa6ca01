"""What a skill is tested with: messages, the provider that answers them, and what it can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.core.protocols import Recorder
from trueup.core.usage import Usage

from ._case import Mock


class Role(StrEnum):
    """Who said something."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class ToolEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that the agent called in a turn, or what came of it: `kind` is `tool_call` or `tool_result`.

    `tool_kind` is what the tool does, whatever the harness calls it; a result has the `id` of its call.
    """

    kind: str
    name: str = ""
    input: Any = None
    output: str | None = None
    index: int | None = None
    id: str = ""
    tool_kind: str = "other"
    ok: bool | None = None


class MockCall(Struct, frozen=True, kw_only=True):
    """A tool call that the channel of mocks saw: its original input, and what was done about it.

    `action` is `allow`, `deny`, `rewrite` or `stub`; `rule` is the index of the mock among those with an action.
    """

    tool: str
    input: Any = None
    action: str = "allow"
    rule: int | None = None
    mock: str | None = None


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation, with what the agent did to come to it."""

    role: Role
    content: str
    events: tuple[ToolEvent, ...] = ()


class SkillRef(Struct, frozen=True):
    """The skill under test, as a provider sees it: its folder, and its text without the frontmatter."""

    name: str
    path: str
    instructions: str


class Delivery(StrEnum):
    """How a skill reaches the harness: as a system prompt, or as a folder that the harness discovers by itself."""

    SYSTEM = "system"
    INSTALL = "install"


class RespondRequest(Struct, frozen=True, kw_only=True):
    """The next reply of the skill is wanted. Without a `skill` the same is asked of the bare harness.

    `folder` is where the cell works. `mocks` is None where nobody watches tool calls; an empty tuple watches only.
    `session` is what the provider said in an earlier turn of the same cell. `recorder` takes what happens meanwhile.
    """

    platform: str
    model: str
    skill: SkillRef | None
    messages: tuple[Message, ...]
    folder: Path
    recorder: Recorder
    session: str | None = None
    mocks: tuple[Mock, ...] | None = None


class AssistantTurn(Struct, frozen=True, kw_only=True):
    """A reply of the skill. `mock_calls` is None where nobody watched; `notes` are for the report.

    `events_told` is False where nobody could see which tools were called, so that no events mean nothing.
    """

    message: str
    done: bool = False
    usage: Usage | None = None
    session_id: str | None = None
    events: tuple[ToolEvent, ...] = ()
    events_told: bool = True
    mock_calls: tuple[MockCall, ...] | None = None
    activated: bool | None = None
    notes: tuple[str, ...] = ()


class UserTurn(Struct, frozen=True, kw_only=True):
    """What the simulated user says; `stop` ends the conversation."""

    message: str
    stop: bool = False
    usage: Usage | None = None


class QueryKind(StrEnum):
    """What kind of answer a judge is asked for."""

    BOOLEAN = "boolean"
    NUMERIC = "numeric"


class Query(Struct, frozen=True, kw_only=True):
    """A question to a judge about a conversation; `min` and `max` are the scale of a numeric one."""

    kind: QueryKind
    criterion: str
    min: float | None = None
    max: float | None = None


class Judgement(Struct, frozen=True, kw_only=True):
    """A judge's answer: a boolean or a number on the scale, never the one for the other."""

    value: bool | float
    reason: str = ""
    usage: Usage | None = None


class Needs(Struct, frozen=True, kw_only=True):
    """What the cases of a run want of every platform, so that it can be refused before anything is spent.

    `mocks` is that tool calls are watched; `mock_actions` is what is done about some of them: `stub`, `deny`, `rewrite`.
    `judge` is that something is judged or a user is played, by whoever does that here.
    """

    mocks: bool = False
    mock_actions: tuple[str, ...] = ()
    judge: bool = False
    activation: bool = False
    tool_events: bool = False


class Provider(Protocol):
    """The boundary of skill tests: runs the skill, plays the user, judges. Every failure is a `ProviderError`."""

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """The version of each platform; an `InputError` or `ProviderError` where one cannot do what is needed."""
        ...

    async def respond(self, request: RespondRequest) -> AssistantTurn: ...

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn: ...

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement: ...

    def supports_resume(self, platform: str) -> bool:
        """Whether a session of this platform can be gone on with."""
        ...


class ProviderError(TrueupError):
    """A provider did not answer. `context` says which call, `usage` what that cost all the same.

    `retry_after` is how many seconds the vendor asked to be left alone for.
    """

    exit_code = 3
    TRANSIENT = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED, Kind.NETWORK, Kind.TIMEOUT})

    def __init__(
        self,
        context: str,
        message: str,
        *,
        kind: Kind | None = None,
        usage: Usage | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind)
        self.context = context
        self.usage = usage
        self.retry_after = retry_after

    @property
    def transient(self) -> bool:
        return self.kind in self.TRANSIENT
