"""Running an agent as the user has it: in a folder of theirs, with their variables, without walls."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from trueup.core.process import Command, Process

from ._registry import vendor_variables

# What a harness must be told of the user's variables, beside finding them in its program's environment.
_TOLD = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME")


class FolderLauncher:
    """A `Launcher` without walls: a program runs as the user, in the folder that it asks for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @asynccontextmanager
    async def launch(self, command: Command) -> AsyncIterator[Process]:
        """Start it; leaving ends its whole tree."""
        async with Process(replace(command, env={**self._environ, **(command.env or {})})) as process:
            yield process


def user_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's variables, less the virtual environment that trueup itself runs in."""
    if sys.prefix == sys.base_prefix:
        return dict(environ)
    own = Path(sys.prefix)
    kept = {name: value for name, value in environ.items() if not (name == "VIRTUAL_ENV" and Path(value) == own)}
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return {**kept, "PATH": os.pathsep.join(each for each in entries if not Path(each).is_relative_to(own))}


def told_variables(harness: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What of the user's variables a request to a harness names: where things are, and how its vendors are reached."""
    names = (*_TOLD, *vendor_variables(harness))
    return {name: environ[name] for name in names if environ.get(name)}
