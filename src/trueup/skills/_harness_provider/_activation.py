"""Whether an agent used a skill that it found by itself, as its tool calls tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trueup.harness import ToolKind

from .._model import SkillRef, ToolEvent

# What agents call the tool by which a model asks for a skill.
SKILL_TOOLS = frozenset({"skill", "activate_skill", "use_skill", "load_skill", "loadskill", "read_skill"})
FILE = "SKILL.md"
# So much of the skill's own words is no coincidence.
TELLING_CHARACTERS = 200
FEWEST_CHARACTERS = 24


def is_activated(skill: SkillRef, events: Sequence[ToolEvent]) -> bool:
    """Whether a call asked for the skill or read its file, and did not fail."""
    results = {event.id: event for event in events if event.kind == "tool_result" and event.id}
    calls = (event for event in events if event.kind == "tool_call")
    return any(_is_use(skill, call, results.get(call.id)) for call in calls)


def _is_use(skill: SkillRef, call: ToolEvent, result: ToolEvent | None) -> bool:
    if (result is not None and result.ok is False) or call.tool_kind == ToolKind.WRITE:
        return False
    words = list(_texts(call.input))
    if call.name.rpartition("__")[2].casefold() in SKILL_TOOLS:
        return any(word.strip().lstrip("/").rpartition(":")[2] == skill.name for word in words)
    reads = (ToolKind.READ, ToolKind.SHELL)
    return (call.tool_kind in reads and any(_names_file(skill.name, word) for word in words)) or _shows(skill, result)


def _names_file(name: str, word: str) -> bool:
    """Whether a path or a command is about the skill's file, also by way of its folder."""
    return FILE in word and (f"{name}/" in word or f"skills/{name}" in word)


def _shows(skill: SkillRef, result: ToolEvent | None) -> bool:
    """Whether a result has the skill's words in it, however the agent came by them."""
    telling = skill.instructions.strip()[:TELLING_CHARACTERS]
    return len(telling) >= FEWEST_CHARACTERS and result is not None and telling in (result.output or "")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
