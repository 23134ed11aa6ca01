"""The few Protocols through which the middle rooms meet without importing each other."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

from .process import Command, Finished, Process
from .usage import Usage


class ShellCommand(Struct, frozen=True, kw_only=True):
    """A command line for a `Shell`, with what it may use."""

    line: str
    timeout_secs: float
    cwd: str = "."
    env: dict[str, str] = {}
    network: bool = False
    find: str | None = None


class Shell(Protocol):
    """Runs a command line where work happens or is judged."""

    async def run(self, command: ShellCommand) -> Finished:
        """Run to the end with stdout and stderr as one stream; a `TrueupError` where it could not run at all."""
        ...


class Launcher(Protocol):
    """Starts a program where work happens, and lets it be watched and stopped while it runs."""

    def launch(self, command: Command) -> AbstractAsyncContextManager[Process]:
        """Start it; `cwd` is below the root of the work, `env` is added to what programs there see anyway."""
        ...


class Action(Struct, frozen=True):
    """What somebody is about to do: a tool and its parameters.

    `own_name` is what its agent calls a tool which is told by what it does.
    """

    tool: str
    params: dict[str, Any] = {}
    own_name: str | None = None


class Decision(Struct, frozen=True):
    """Whether an action may happen, and why not."""

    allowed: bool
    rule: str | None = None
    param: str | None = None
    reason: str = ""


class Gate(Protocol):
    """Allows or refuses an action before it runs."""

    async def decide(self, action: Action) -> Decision: ...


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(Struct, frozen=True, tag_field="kind", tag=_snake_case):
    """Something that happened. Each kind is a subclass; its name in snake case is its kind on the wire."""


class Recorder(Protocol):
    """Takes events in the order in which they happened."""

    async def record(self, event: Event) -> None: ...


class Prompt(Struct, frozen=True):
    """One question to a model."""

    text: str
    system: str | None = None


class Reply(Struct, frozen=True):
    """A model's answer and what it used."""

    text: str
    usage: Usage = Usage()


class Generate(Protocol):
    """Asks a model; raises a `TrueupError` where there was no answer."""

    async def __call__(self, prompt: Prompt) -> Reply: ...
