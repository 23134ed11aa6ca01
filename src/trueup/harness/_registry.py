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
from ._described import DescribedDialect, described_capabilities
from ._driver import Dialect, DrivenHarness
from ._engine import Engine, EngineError, Surroundings
from ._harness_engine import HarnessEngine
from ._logins import LOGINS
from ._plugins import plugins
from ._program_parts import parts_of
from ._protocol import Harness
from ._vendors import ANTHROPIC, OPENAI, Vendor, lacking_key
from .acp import PREFIX as ACP_PREFIX
from .acp import acp_engine, acp_harness, acp_vendors, acp_words
from .agents import AGENTS, BUILT_IN, Capabilities, PromptedAgent

AUTO = "auto"
NATIVE = "native"

_OWN = ("claude-code", "codex")
# Best first: what `auto` tries in turn.
HARNESSES = (*_OWN, *AGENTS)
# Other names may be described anew: what a person says of an agent goes before what is known here.
_RESERVED = (*_OWN, AUTO, NATIVE)
_VENDORS = {"claude-code": ANTHROPIC, "codex": OPENAI}


def harness_names(environ: Mapping[str, str], folder: Path) -> list[str]:
    """Every harness that can be named in a folder: those that trueup knows, plugins', and those that are described."""
    return list(dict.fromkeys((*HARNESSES, *_plugged(), *described_agents(environ, folder, _RESERVED))))


def vendor_variables(name: str) -> list[str]:
    """The variables by which the harness of a name finds its vendors; of one that is not known here, all there are."""
    agent = _agent(name)
    known = acp_vendors(name) if name.startswith(ACP_PREFIX) else agent.vendors if agent is not None else ()
    vendors = known or tuple(_VENDORS.values())
    return [each for vendor in vendors for each in (*vendor.key_variables, *vendor.base_url_variables)]


def plugin_complaints() -> tuple[str, ...]:
    """What is wrong with plugins that could not be used."""
    return plugins(_RESERVED).complaints


def capabilities_of(name: str, environ: Mapping[str, str], folder: Path) -> Capabilities:
    """What the harness of a name can be asked for. Of a described one, its description says it."""
    if name in (*_OWN, NATIVE):
        return BUILT_IN[name]
    if name.startswith(ACP_PREFIX):
        return acp_harness(acp_words(name), environ).capabilities
    described = described_agents(environ, folder, _RESERVED)
    if name in described:
        return described_capabilities(described[name])
    agent = _agent(name)
    if agent is None:
        raise InputError(_no_harness(name, harness_names(environ, folder)))
    return agent.capabilities


def find_harness(
    name: str, environ: Mapping[str, str], folder: Path | None = None, *, user_config: bool = False
) -> Harness:
    """The harness of a name, whether or not it is installed."""
    if name.startswith(ACP_PREFIX):
        return acp_harness(acp_words(name), environ)
    dialect = _dialect(name, environ, folder or Path.cwd(), user_config=user_config)
    if dialect is None:
        raise InputError(_no_harness(name, harness_names(environ, folder or Path.cwd())))
    return DrivenHarness(dialect, environ, BUILT_IN.get(name))


async def parse_engine(spec: str, around: Surroundings) -> Engine:
    """The engine that a person named. `auto` is the first harness that is installed and logged in."""
    if spec.startswith(PREFIX):
        return parse_command(spec, around)
    if spec.startswith(ACP_PREFIX):
        return acp_engine(spec, around)
    if spec == AUTO:
        return await _first_that_works(around)
    return _engine(spec, around)


async def _first_that_works(around: Surroundings) -> Engine:
    tried, missing = [], []
    for name in HARNESSES:
        if name in AGENTS and AGENTS[name]().program_in(around.environ) is None:
            missing.append(name)
            continue
        engine = _engine(name, around)
        try:
            await engine.version()
        except EngineError as error:
            tried.append(str(error))
        else:
            return engine
    tried += [f"nor is any of {', '.join(missing)} installed"] if missing else []
    raise EngineError("no engine can be used:\n" + "\n".join(f"- {each}" for each in tried), kind=Kind.SPAWN)


def _engine(name: str, around: Surroundings) -> HarnessEngine:
    dialect = _dialect(name, around.environ, around.folder, user_config=around.user_config)
    if dialect is None:
        raise InputError(_no_engine(name, harness_names(around.environ, around.folder)))
    return HarnessEngine(
        DrivenHarness(dialect, around.environ, BUILT_IN.get(name)),
        _vendor(dialect, around.environ),
        {path: path for path in _files(dialect, around.environ)},
        asks_first=name in _OWN,
        gate=around.gate,
        lacks=_lacking_key(dialect, around),
        login=LOGINS.get(name),
    )


def _files(dialect: Dialect, environ: Mapping[str, str]) -> list[str]:
    program = dialect.program_in(environ)
    if program is None:
        return []
    # Behind a link there may be a folder that nobody else needs to see.
    return parts_of(program, environ) if isinstance(dialect, PromptedAgent) else [program, os.path.realpath(program)]


def _vendor(dialect: Dialect, environ: Mapping[str, str]) -> Vendor | None:
    if isinstance(dialect, DescribedDialect):
        return dialect.vendor
    return dialect.vendor_in(environ) if isinstance(dialect, PromptedAgent) else _VENDORS[dialect.name]


def _lacking_key(dialect: Dialect, around: Surroundings) -> str | None:
    if not isinstance(dialect, PromptedAgent) or not around.confined:
        return None
    return lacking_key(dialect.vendors, around.environ)


def _dialect(name: str, environ: Mapping[str, str], folder: Path, *, user_config: bool) -> Dialect | None:
    if name == "claude-code":
        return ClaudeCode(find_claude(environ) or "claude", user_config=user_config)
    if name == "codex":
        return Codex(find_codex(environ) or "codex", user_config=user_config)
    described = described_agents(environ, folder, _RESERVED)
    if name in described:
        return DescribedDialect(name, described[name], environ)
    agent = _agent(name)
    if agent is not None:
        return agent(agent().program_in(environ), user_config=user_config)
    refuse_untrusted(name, environ, folder)
    return None


def _agent(name: str) -> type[PromptedAgent] | None:
    return AGENTS.get(name) or _plugged().get(name)


def _plugged() -> Mapping[str, type[PromptedAgent]]:
    return plugins(_RESERVED).agents


def _no_engine(name: str, known: Sequence[str]) -> str:
    engines = (*known, NATIVE, AUTO)
    return (
        f"unknown engine {name!r}: {_meant(name, engines)} {', '.join(engines)}, or any program as "
        "`command:PROGRAM ARGUMENTS`, or `acp:PROGRAM ARGUMENTS` where it speaks ACP; other agents can be described under "
        "`agents` in your settings"
    )


def _no_harness(name: str, known: Sequence[str]) -> str:
    if name in (NATIVE, AUTO) or name.startswith(PREFIX):
        return f"unknown agent {name!r}: that is an engine of `trueup code --engine {name}`, and no agent program"
    others = "others can be described under `agents` in your settings, or called by ACP as `acp:PROGRAM ARGUMENTS`"
    return "\n".join(
        (f"unknown agent {name!r}: {_meant(name, known)} {', '.join(known)}; {others}", *plugin_complaints())
    )


def _meant(name: str, known: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {nearest[0]!r}? There are" if nearest else "name one of"
