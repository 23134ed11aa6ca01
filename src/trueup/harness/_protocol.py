"""What every harness understands: a request, events while it works, and a result that says how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct, field

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Action, Decision, Event, Gate, Launcher, Recorder
from trueup.core.usage import Usage


class Mode(StrEnum):
    """How much an agent may do by itself: look, change files, or anything."""

    READ_ONLY = "read_only"
    EDIT = "edit"
    FULL = "full"


class Status(StrEnum):
    """How a run of a harness ended. `ok` only by the harness's own record of success."""

    OK = "ok"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    NOT_INSTALLED = "not_installed"


class HarnessRequest(Struct, frozen=True, kw_only=True):
    """One prompt for an agent. `env` is added to what its program sees, `budget_usd` and `turns` are asked of it.

    `skills` names those that the agent is to find by itself in its folder, where its capabilities say they are; it is
    kept from those of the user. None leaves that as it usually is, which is without skills where that can be had.
    """

    prompt: str
    cwd: str = "."
    system: str | None = None
    model: str | None = None
    mode: Mode = Mode.FULL
    resume: str | None = None
    timeout_secs: float | None = None
    idle_secs: float | None = None
    turns: int | None = None
    budget_usd: float | None = None
    skills: tuple[str, ...] | None = None
    env: Mapping[str, str] = {}


class HarnessResult(Struct, frozen=True, kw_only=True):
    """What came of a request. `usage` is of this run alone; what was not reported stays unknown."""

    harness: str
    status: Status
    text: str = ""
    session_id: str | None = None
    usage: Usage = Usage()
    failure_kind: Kind | None = None
    error: str = ""
    denied: list[str] = []
    exit_code: int | None = None
    signal: int | None = None
    duration_secs: float = 0
    version: str | None = None
    stdout: str = ""
    stderr: str = ""


class Probe(Struct, frozen=True, kw_only=True):
    """Whether a harness can be used here. `logged_in` is None where that cannot be told without calling a model."""

    harness: str
    installed: bool
    path: str | None = None
    version: str | None = None
    logged_in: bool | None = None
    note: str = ""


class Ask(Struct, frozen=True):
    """An agent wants to use a tool, and waits for the answer."""

    id: str
    action: Action


class Instead(Decision, frozen=True):
    """An action is not to happen as it was asked for, but with other parameters; who gives it vouches for them.

    `allowed` is False, so that an agent which cannot be told anything else does nothing at all.
    """

    params: dict[str, Any] = field(default_factory=dict)


class Say(Struct, frozen=True):
    """Something that a conversation needs to be written to the agent now."""

    data: bytes


class Invocation(Struct, frozen=True, kw_only=True):
    """How a request is put to a program: its words, its variables, and what is written to it first.

    With `converses`, stdin stays open for answers; else `stdin` is all there is. A `conversation` reads the run instead
    of the dialect's usual one, where how it is put decides how it is read. What the program writes is kept for the
    result unless `keeps_stdout` is off, because it may show what is nobody's business. With `tells_version` the
    program says its version by itself, as a rule.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    stdin: bytes = b""
    converses: bool = False
    conversation: Conversation | None = None
    keeps_stdout: bool = True
    tells_version: bool = False


class Outcome(Struct, frozen=True, kw_only=True):
    """How a conversation went by the harness's own records: success only where one says so."""

    ok: bool
    text: str = ""
    session_id: str | None = None
    usage: Usage = Usage()
    failure_kind: Kind | None = None
    error: str = ""
    denied: list[str] = []
    version: str | None = None


class Conversation(Protocol):
    """Reads one run of a harness, line by line, without doing anything itself."""

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        """Take a line of stdout. Lines that mean nothing are nothing; none may raise."""
        ...

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        """How a decision is told to the agent."""
        ...

    def cancel(self) -> bytes:
        """How the agent is told to stop, by its own protocol; nothing where it has none."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the harness said its last word, so that nothing more needs to be waited for."""
        ...

    def outcome(self, finished: Finished) -> Outcome:
        """What the whole of it came to, once the program has ended."""
        ...


class Harness(Protocol):
    """An agent program that can be given a prompt."""

    @property
    def name(self) -> str: ...

    async def probe(self) -> Probe:
        """Whether it is here, which version, and logged in as far as that can be told; no model is called."""
        ...

    async def run(
        self, request: HarnessRequest, launcher: Launcher, recorder: Recorder, gate: Gate | None = None
    ) -> HarnessResult:
        """Have a prompt worked on. Never raises for what an agent does: the result says it."""
        ...
