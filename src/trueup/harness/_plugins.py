"""Agents that other distributions bring, named in their entry point group `trueup.harnesses`.

A plugin is somebody else's program: whatever it raises when it is loaded, the others are there all the same, and it is
named to the person who looks.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from msgspec import Struct

from .agents import AGENTS, PromptedAgent

GROUP = "trueup.harnesses"


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
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is the plugin's
        return f"{type(error).__name__}: {error}"
    if not isinstance(found, type) or not issubclass(found, PromptedAgent):
        return f"{entry.value} is no subclass of trueup.harness.agents.PromptedAgent"
    missing = [name for name in ("name", "program", "install", "capabilities") if not hasattr(found, name)]
    if missing or getattr(found, "__abstractmethods__", None):
        lacks = ", ".join([*missing, *sorted(getattr(found, "__abstractmethods__", ()))])
        return f"{entry.value} does not say {lacks}"
    return found


def _origin(entry: EntryPoint) -> str:
    return f"{entry.name!r} of {entry.dist.name}" if entry.dist is not None else repr(entry.name)
