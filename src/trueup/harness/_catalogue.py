"""The agents that a person described: in their own settings, or in a `trueup.yaml` that they agreed to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from trueup.core.documents import Document
from trueup.core.errors import InputError
from trueup.core.settings import project_file, user_file
from trueup.core.trust import is_trusted

from ._described import Described, load_descriptions

PART = "agents"


def described_agents(environ: Mapping[str, str], folder: Path, reserved: Collection[str]) -> dict[str, Described]:
    """Every agent that is described for a folder, by name; the person's own description goes before a repository's."""
    mine, theirs = user_file(environ), project_file(folder)
    return {
        **(_read(theirs, reserved) if theirs is not None and is_trusted(theirs.read_bytes(), environ) else {}),
        **(_read(mine, reserved) if mine.is_file() else {}),
    }


def refuse_untrusted(name: str, environ: Mapping[str, str], folder: Path) -> None:
    """Say so where a name is only known to a file that nobody agreed to: its words would run on this machine."""
    theirs = project_file(folder)
    if theirs is None or is_trusted(theirs.read_bytes(), environ):
        return
    part = Document.read(theirs).part(PART)
    if part is not None and isinstance(part.data, dict) and name in part.data:
        raise InputError(f"{theirs} describes the agent {name!r}; read it, then agree to it with `trueup trust`")


def _read(file: Path, reserved: Collection[str]) -> dict[str, Described]:
    return load_descriptions(Document.read(file).part(PART), reserved)
