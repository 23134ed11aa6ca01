"""One family of errors: a sentence for the person who meets it, a kind for the program that does."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .usage import Usage


class Kind(StrEnum):
    """What went wrong, for a program that has to decide what to do next."""

    INPUT = "input"
    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    MODEL_NOT_FOUND = "model_not_found"
    OVERLOADED = "overloaded"
    NETWORK = "network"
    TIMEOUT = "timeout"
    SPAWN = "spawn"
    PROTOCOL = "protocol"
    CONTEXT_LENGTH = "context_length"
    SESSION_NOT_FOUND = "session_not_found"
    UNTRUSTED_DIRECTORY = "untrusted_directory"
    INPUT_TOO_LARGE = "input_too_large"
    REFUSED = "refused"
    INFRASTRUCTURE = "infrastructure"
    OTHER = "other"


class TrueupError(Exception):
    """Anything trueup gives up on. The message says what happened, where, and what to do.

    `exit_code` is what a command ends with that gives up on it.
    """

    kind: Kind = Kind.OTHER
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, kind: Kind | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class InputError(TrueupError):
    """Something a person wrote cannot be used as it is."""

    kind = Kind.INPUT
    exit_code = 2


class SpawnError(TrueupError):
    """A program could not be started."""

    kind = Kind.SPAWN


class PolicyRefusedError(TrueupError):
    """A gate refused an action before it ran."""

    kind = Kind.REFUSED


class GenerationError(TrueupError):
    """A model could not be asked, or did not answer; `usage` is what that cost all the same."""

    def __init__(self, message: str, *, kind: Kind | None = None, usage: Usage | None = None) -> None:
        super().__init__(message, kind=kind)
        self.usage = usage


class InfrastructureError(TrueupError):
    """The machine underneath failed: a disk, a process that cannot be ended, a broken pipe of our own."""

    kind = Kind.INFRASTRUCTURE
