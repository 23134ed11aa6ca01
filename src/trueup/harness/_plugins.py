"""Agents that other distributions bring, named in their entry point group `trueup.harnesses`.

A plugin is somebody else's program: whatever it raises when it is loaded, the others are there all the same, and it is
named to the person who looks.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from ._vendors import Vendor
from .agents import AGENTS, Capabilities, PromptedAgent

GROUP = "trueup.harnesses"

_SAID = {"name": str, "program": str, "install": str, "capabilities": Capabilities, "vendors": tuple}
# As it is typed, and put into `--race a,b@model`.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Plugins(Struct, frozen=True):
    """The agents that plugins bring, by name, and what is wrong with plugins that could not be used."""

    agents: dict[str, type[PromptedAgent]]
    complaints: tuple[str, ...]


@cache
def plugins(taken: Collection[str] = ()) -> Plugins:
    """Every agent that is installed beside trueup. A name that is `taken` is not given away."""
    agents: dict[str, type[PromptedAgent]] = {}
    complaints = []
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        agent = _loaded(entry)
        if isinstance(agent, str):
            complaints.append(f"plugin {_origin(entry)} is left out: {agent}")
        elif agent.name in AGENTS or agent.name in taken or agent.name in agents:
            complaints.append(f"plugin {_origin(entry)} is left out: there is an agent {agent.name!r} already")
        else:
            agents[agent.name] = agent
    return Plugins(agents, tuple(complaints))


def _loaded(entry: EntryPoint) -> type[PromptedAgent] | str:
    """The agent of a plugin; a text where it is none."""
    try:
        found = entry.load()
        return _lacking(found, entry.value) or _used(found)
    # Whatever a plugin raises is the plugin's, and one that wants to leave must not take the program along.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


def _used(found: type[PromptedAgent]) -> type[PromptedAgent]:
    """The agent, once it was seen to be made as it will be."""
    found(None, user_config=False)
    return found


def _lacking(found: Any, value: str) -> str:
    """What keeps something from being an agent."""
    if not isinstance(found, type) or not issubclass(found, PromptedAgent):
        return f"{value} is no subclass of trueup.harness.agents.PromptedAgent"
    missing = [name for name in _SAID if not hasattr(found, name)]
    if missing or getattr(found, "__abstractmethods__", None):
        lacks = ", ".join([*missing, *sorted(getattr(found, "__abstractmethods__", ()))])
        return f"{value} does not say {lacks}"
    wrong = [name for name, kind in _SAID.items() if not isinstance(getattr(found, name), kind)]
    if wrong:
        return f"what {value} says of its {', '.join(wrong)} is of another type than it should be"
    if not all(isinstance(vendor, Vendor) for vendor in found.vendors):
        return f"the vendors of {value} are no trueup.harness.Vendor"
    if not _NAME.fullmatch(found.name):
        return f"{found.name!r} is no name for an agent: it has small letters, digits, `-`, `_` and `.`"
    return ""


def _origin(entry: EntryPoint) -> str:
    return f"{entry.name!r} of {entry.dist.name}" if entry.dist is not None else repr(entry.name)
