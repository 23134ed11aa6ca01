"""What every engine is: something that can be given a task, and tells what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.core.protocols import Gate, Launcher, Recorder
from trueup.core.usage import Usage

from ._logins import LoginFile
from ._vendors import Vendor


class EngineError(TrueupError):
    """An engine could not be started, or gave up. Its kind says whether another try may help."""

    exit_code = 3
    TRANSIENT = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED, Kind.NETWORK, Kind.TIMEOUT})

    @property
    def transient(self) -> bool:
        return self.kind in self.TRANSIENT


class EngineStalledError(EngineError):
    """An engine said nothing for too long and was ended."""


class Task(Struct, frozen=True, kw_only=True):
    """What an engine is given: a prompt, the file that holds it where the engine works, and the model to use.

    `resume` is the conversation that an engine with a memory may go on with, `env` how it reaches its vendor.
    """

    prompt: str
    prompt_file: str
    model: str | None = None
    idle_secs: float | None = None
    resume: str | None = None
    env: Mapping[str, str] = {}


class Work(Struct, frozen=True, kw_only=True):
    """How an engine's work ended, its last words, and what it used where the engine knows that better than its parts."""

    exit_code: int | None
    signal: int | None
    duration_secs: float
    output_tail: str
    usage: Usage | None = None


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a person's words for an engine refer to: where they stood, and what of that an engine sees.

    `in_base` tells whether a path of the repository is there for the engine. Unconfined, it sees everything. With
    `user_config` an agent works as the person has configured it. The `gate` decides about what it is about to do.
    """

    folder: Path
    repository: Path
    in_base: Callable[[str], bool]
    environ: Mapping[str, str]
    confined: bool
    user_config: bool = False
    gate: Gate | None = None


class Engine(Protocol):
    """Somebody who works."""

    @property
    def name(self) -> str: ...

    @property
    def vendor(self) -> Vendor | None:
        """Whose API it calls by itself, if any."""
        ...

    @property
    def login(self) -> LoginFile | None:
        """Where it keeps a login of its own, if it has one."""
        ...

    @property
    def asks_first(self) -> bool:
        """Whether a gate can decide about what it is about to do."""
        ...

    @property
    def files(self) -> Mapping[str, str]:
        """Files of the user's that it must be able to read, each with the path at which it looks for them."""
        ...

    async def version(self) -> str | None:
        """Its version, where it has one; an `EngineError` where it cannot be used at all."""
        ...

    async def work(self, task: Task, launcher: Launcher, recorder: Recorder) -> Work:
        """Do the task. Leaving, also by cancellation, ends everything that was started for it."""
        ...
