"""A repository in a few lines, for a model's prompt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ._ecosystems import show
from ._offline import Survey, proposed, suggestions_of, survey

ENTRIES_SHOWN = 40
_CUT = "… (cut)"


def summarize(repo: Path, limit: int = 4000) -> str:
    """The top-level entries, the build systems, and the commands that the repository's own files name."""
    seen = survey(repo)
    lines = ["Top-level entries:", *_entries(repo), _build_systems(seen), *_commands(seen)]
    return _within(lines, limit)


def _entries(repo: Path) -> Iterator[str]:
    names = sorted(_names(repo))
    yield from (f"- {show(name)}" for name in names[:ENTRIES_SHOWN])
    if not names:
        yield "- none"
    if len(names) > ENTRIES_SHOWN:
        yield f"- and {len(names) - ENTRIES_SHOWN} more"


def _names(repo: Path) -> list[str]:
    try:
        with os.scandir(repo) as entries:
            return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries if entry.name != ".git"]
    except OSError:
        return []


def _build_systems(seen: Survey) -> str:
    tools: dict[str, dict[str, None]] = {}
    for finding in seen.findings:
        for language, names in finding.systems.items():
            tools.setdefault(language, {}).update(dict.fromkeys(names))
    systems = [_system(language, list(names)) for language, names in tools.items()]
    return f"Build systems: {', '.join(systems) or 'none detected'}"


def _system(language: str, tools: list[str]) -> str:
    others = [tool for tool in tools if tool != language.lower()]
    return f"{language} ({', '.join(others)})" if others else language


def _commands(seen: Survey) -> Iterator[str]:
    suggestions = list(suggestions_of(proposed(seen)))
    if suggestions:
        yield "Commands found in its files:"
    for one in suggestions:
        where = "" if one.cwd == "." else f" in {show(one.cwd)}"
        yield f"- {one.name or one.kind}{where}: `{show(one.command)}` ({one.reason})"


def _within(lines: list[str], limit: int) -> str:
    whole = "\n".join(lines)
    if len(whole) <= limit:
        return whole
    kept: list[str] = []
    room = limit - len(_CUT)
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, _CUT])[: max(limit, 0)]
