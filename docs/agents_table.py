"""Writes the tables of agents.md from what the program knows of each agent; the words around them are people's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from trueup.harness import Capabilities, Permission, SystemPrompt
from trueup.harness.agents import AGENTS, BUILT_IN, PromptedAgent

PAGE = Path(__file__).parent / "agents.md"
_ABLE = "what agents can do"
_KEYS = "by which keys"


def agents() -> str:
    """The page with its tables as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, table in ((_ABLE, able_table()), (_KEYS, key_table())):
        part = re.compile(rf"(<!-- {mark}: written by `make docs` -->\n).*?(<!-- end -->)", re.DOTALL)
        if not part.search(text):
            raise SystemExit(f"{PAGE}: no place for the table {mark!r}")
        text = part.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", text)
    return text


def able_table() -> str:
    """What each agent can be asked for, and what must be known of it."""
    known = {**BUILT_IN, **{name: agent.capabilities for name, agent in AGENTS.items()}}
    head = "agent|modes|resume|system prompt|tells|own limits|asks by|budget held|as ACP agent|tested with"
    rows = [_row((f"`{name}`", *_cells(able))) for name, able in known.items()]
    notes = [f"- `{name}`: {'; '.join(able.notes)}." for name, able in known.items() if able.notes]
    return "\n".join([_row(head.split("|")), _row(["---"] * 10), *rows, "", *notes])


def key_table() -> str:
    """How each agent is installed, and which keys it can use."""
    rows = [_row((f"`{name}`", agent.install, _keys(agent))) for name, agent in AGENTS.items()]
    return "\n".join([_row(("agent", "", "keys")), _row(["---"] * 3), *rows])


def _cells(able: Capabilities) -> tuple[str, ...]:
    told = (("usage", able.usage), ("dollars", able.cost), ("tools", able.tool_events))
    limits = (("turns", able.turns), ("dollars", able.budget_usd))
    return (
        ", ".join(f"`{mode}`" for mode in able.modes),
        _yes(able.resume),
        "–" if able.system_prompt is SystemPrompt.NONE else able.system_prompt.value,
        ", ".join(name for name, does in told if does) or "–",
        ", ".join(name for name, does in limits if does) or "–",
        "–" if able.permission is Permission.NONE else able.permission.value,
        _yes(able.budget_while_running),
        f"`{' '.join(able.acp)}`" if able.acp else "–",
        able.tested or "–",
    )


def _keys(agent: type[PromptedAgent]) -> str:
    return ", ".join(f"`{vendor.key_variables[0]}`" for vendor in agent.vendors) or "its own login"


def _yes(does: bool) -> str:
    return "yes" if does else "–"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
