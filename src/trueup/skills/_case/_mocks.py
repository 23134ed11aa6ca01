"""Mocks: tool calls of the agent that are answered, refused or changed, and those that are only watched."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Predicate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one argument of a tool call must be; everything that is given must hold.

    A bare value in a file stands for `equals`.
    """

    equals: Any = None
    contains: str | None = None
    pattern: str | None = None


# By the names of arguments.
Predicates = dict[str, str | int | float | bool | Predicate]


class Match(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tool calls are meant; everything that is given must hold.

    `tool` is the harness's name for it in any case, `contains` and `pattern` are sought in the JSON of the call.
    """

    tool: str | None = None
    contains: str | None = None
    pattern: str | None = None
    input: Predicates = {}


class Stub(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a shell command seems to print and to exit with, while nothing runs."""

    output: str
    exit_code: int = 0


class Deny(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a call is refused, as the agent reads it."""

    message: str


class Mock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tool calls that are answered instead of run; without an action, a spy."""

    match: Match
    name: str | None = None
    stub: str | Stub | list[str | Stub] | None = None
    deny: str | Deny | None = None
    rewrite: dict[str, Any] | None = None

    @property
    def actions(self) -> list[str]:
        """What is done about a call; nothing by a spy."""
        return [name for name in ("stub", "deny", "rewrite") if getattr(self, name) is not None]

    def label(self, index: int) -> str:
        """What evals and reports call it: its name, or its place among the mocks of the case."""
        return self.name or f"{'mock' if self.actions else 'spy'}_{index}"
