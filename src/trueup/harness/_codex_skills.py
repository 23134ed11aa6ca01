"""The skills that codex would find beside those of a project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

# Skills may be grouped in folders, and some hold whole programs: it is not looked deeper than anybody groups.
DEEPEST = 4
OF_THE_MACHINE = "/etc/codex/skills"


def user_skills(env: Mapping[str, str]) -> list[str]:
    """Their files, by the variables that codex goes by; none where these do not tell where to look."""
    home = env.get("HOME")
    codex_home = env.get("CODEX_HOME") or (f"{home}/.codex" if home else None)
    places = [OF_THE_MACHINE]
    places += [f"{codex_home}/skills"] if codex_home else []
    places += [f"{home}/.agents/skills"] if home else []
    return [file for place in places for file in _below(place, DEEPEST)]


def _below(folder: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == "SKILL.md" for entry in entries):
        yield os.path.join(folder, "SKILL.md")  # noqa: PTH118 - a path for codex
    for entry in entries:
        # What is hidden codex passes over, but for its own skills, which are no user's.
        if depth and not entry.name.startswith(".") and entry.is_dir():
            yield from _below(entry.path, depth - 1)
