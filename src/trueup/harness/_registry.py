"""Which engines there are, by the names that people give them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from trueup.core.errors import InputError, Kind

from ._claude import ClaudeCode, find_claude
from ._codex import Codex
from ._command import PREFIX, parse_command
from ._driver import Dialect, DrivenHarness
from ._engine import Engine, EngineError, Surroundings
from ._harness_engine import HarnessEngine
from ._protocol import Harness
from ._vendors import ANTHROPIC, OPENAI

AUTO = "auto"

# Best first: what `auto` tries in turn.
HARNESSES = ("claude-code", "codex")
_VENDORS = {"claude-code": ANTHROPIC, "codex": OPENAI}


def find_harness(name: str, environ: Mapping[str, str], *, user_config: bool = False) -> Harness:
    """The harness of a name, whether or not it is installed."""
    return DrivenHarness(_dialect(name, _program(name, environ), user_config=user_config), environ)


async def parse_engine(spec: str, around: Surroundings) -> Engine:
    """The engine that a person named. `auto` is the first harness that is installed and logged in."""
    if spec.startswith(PREFIX):
        return parse_command(spec, around)
    if spec == AUTO:
        return await _first_that_works(around)
    if spec in HARNESSES:
        return _engine(spec, around.environ)
    known = ", ".join((*HARNESSES, "native", AUTO))
    raise InputError(f"unknown engine {spec!r}: name one of {known}, or any program as `command:PROGRAM ARGUMENTS`")


async def _first_that_works(around: Surroundings) -> Engine:
    tried = []
    for name in HARNESSES:
        engine = _engine(name, around.environ)
        try:
            await engine.version()
        except EngineError as error:
            tried.append(str(error))
        else:
            return engine
    raise EngineError("no engine can be used:\n" + "\n".join(f"- {each}" for each in tried), kind=Kind.SPAWN)


def _engine(name: str, environ: Mapping[str, str]) -> HarnessEngine:
    program = _program(name, environ)
    # Behind a link there may be a folder that nobody else needs to see.
    files = {path: path for path in (program, os.path.realpath(program))} if program else {}
    return HarnessEngine(find_harness(name, environ), _VENDORS[name], files)


def _program(name: str, environ: Mapping[str, str]) -> str | None:
    if name == "claude-code":
        return find_claude(environ)
    return shutil.which(name, path=environ.get("PATH", os.defpath))


def _dialect(name: str, program: str | None, *, user_config: bool) -> Dialect:
    if name == "claude-code":
        return ClaudeCode(program or "claude", user_config=user_config)
    if name == "codex":
        return Codex(program or "codex", user_config=user_config)
    raise InputError(f"unknown harness {name!r}: there are {', '.join(HARNESSES)}")
