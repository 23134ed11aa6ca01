"""One case: a skill, what is asked of it, and what must hold afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ._evals import Eval
from ._mocks import Mock


class User(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulated user, which makes a conversation of many turns of the case."""

    persona: Annotated[str, Meta(min_length=1)]
    done_when: str | None = None
    max_turns: Annotated[int, Meta(ge=1)] | None = None


class Workspace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a cell's folder holds at first: a copy of a folder beside the case, then files, then what a command makes."""

    folder: str | None = None
    files: dict[str, str] = {}
    setup: str | None = None


class CaseFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case as it is written in a file; paths in it are relative to the file."""

    skill: Annotated[str, Meta(min_length=1)]
    input: str
    evals: Annotated[list[Eval], Meta(min_length=1)]
    name: str | None = None
    user: User | None = None
    mocks: list[Mock] = []
    spy: bool = False
    workspace: str | Workspace | None = None


class Case(Struct, frozen=True, kw_only=True):
    """A case that was read: it and its mocks are named, its paths resolved; `source` is the file that it stands in."""

    name: str
    source: Path
    skill: Path
    input: str
    evals: tuple[Eval, ...]
    user: User | None = None
    mocks: tuple[Mock, ...] = ()
    spy: bool = False
    workspace: Workspace | None = None
