"""Which engines there are, by the names that people give them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from trueup.core.errors import InputError, Kind

from ._catalogue import described_agents, refuse_untrusted
from ._claude import ClaudeCode, find_claude
from ._codex import Codex, find_codex
from ._command import PREFIX, parse_command
from ._described import DescribedDialect
from ._driver import Dialect, DrivenHarness
from ._engine import Engine, EngineError, Surroundings
from ._harness_engine import HarnessEngine
from ._protocol import Harness
from ._vendors import ANTHROPIC, OPENAI

AUTO = "auto"
NATIVE = "native"

# Best first: what `auto` tries in turn.
HARNESSES = ("claude-code", "codex")
_RESERVED = (*HARNESSES, AUTO, NATIVE)
_VENDORS = {"claude-code": ANTHROPIC, "codex": OPENAI}


def harness_names(environ: Mapping[str, str], folder: Path) -> list[str]:
    """Every harness that can be named in a folder: those that trueup knows, and those that are described."""
    return [*HARNESSES, *described_agents(environ, folder, _RESERVED)]


def find_harness(
    name: str, environ: Mapping[str, str], folder: Path | None = None, *, user_config: bool = False
) -> Harness:
    """The harness of a name, whether or not it is installed."""
    dialect = _dialect(name, environ, folder or Path.cwd(), user_config=user_config)
    if dialect is None:
        raise InputError(_no_harness(name, harness_names(environ, folder or Path.cwd())))
    return DrivenHarness(dialect, environ)


async def parse_engine(spec: str, around: Surroundings) -> Engine:
    """The engine that a person named. `auto` is the first harness that is installed and logged in."""
    if spec.startswith(PREFIX):
        return parse_command(spec, around)
    if spec == AUTO:
        return await _first_that_works(around)
    return _engine(spec, around)


async def _first_that_works(around: Surroundings) -> Engine:
    tried = []
    for name in HARNESSES:
        engine = _engine(name, around)
        try:
            await engine.version()
        except EngineError as error:
            tried.append(str(error))
        else:
            return engine
    raise EngineError("no engine can be used:\n" + "\n".join(f"- {each}" for each in tried), kind=Kind.SPAWN)


def _engine(name: str, around: Surroundings) -> HarnessEngine:
    dialect = _dialect(name, around.environ, around.folder, user_config=around.user_config)
    if dialect is None:
        raise InputError(_no_engine(name, harness_names(around.environ, around.folder)))
    described = dialect if isinstance(dialect, DescribedDialect) else None
    vendor = described.vendor if described else _VENDORS[name]
    program = described.program if described else _program(name, around.environ)
    # Behind a link there may be a folder that nobody else needs to see.
    files = {path: path for path in (program, os.path.realpath(program))} if program else {}
    harness = DrivenHarness(dialect, around.environ)
    return HarnessEngine(harness, vendor, files, asks_first=described is None, gate=around.gate)


def _program(name: str, environ: Mapping[str, str]) -> str | None:
    return find_claude(environ) if name == "claude-code" else find_codex(environ)


def _dialect(name: str, environ: Mapping[str, str], folder: Path, *, user_config: bool) -> Dialect | None:
    if name == "claude-code":
        return ClaudeCode(_program(name, environ) or "claude", user_config=user_config)
    if name == "codex":
        return Codex(_program(name, environ) or "codex", user_config=user_config)
    described = described_agents(environ, folder, _RESERVED)
    if name in described:
        return DescribedDialect(name, described[name], environ)
    refuse_untrusted(name, environ, folder)
    return None


def _no_engine(name: str, known: Sequence[str]) -> str:
    return (
        f"unknown engine {name!r}: name one of {', '.join((*known, NATIVE, AUTO))}, or any program as "
        "`command:PROGRAM ARGUMENTS`; other agents can be described under `agents` in your settings"
    )


def _no_harness(name: str, known: Sequence[str]) -> str:
    if name in (NATIVE, AUTO) or name.startswith(PREFIX):
        return f"unknown agent {name!r}: that is an engine of `trueup code --engine {name}`, and no agent program"
    nearest = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {nearest[0]!r}? There are" if nearest else "name one of"
    return (
        f"unknown agent {name!r}: {meant} {', '.join(known)}; others can be described under `agents` in your settings"
    )
