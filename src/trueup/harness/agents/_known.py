"""Which agents there are, each loaded when it is asked for: a command speaks to one of them, as a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from ._base import PromptedAgent

# In the order in which they are shown.
_PLACES = {
    "opencode": "._opencode:OpenCode",
    "gemini": "._gemini:Gemini",
    "qwen": "._qwen:Qwen",
    "goose": "._goose:Goose",
    "pi": "._pi:Pi",
    "copilot": "._copilot:Copilot",
    "droid": "._droid:Droid",
    "kimi-code": "._kimi:Kimi",
    "vibe": "._vibe:Vibe",
    "cline": "._cline:Cline",
    "openhands": "._openhands:OpenHands",
    "aider": "._aider:Aider",
    "mini-swe-agent": "._mini:MiniSweAgent",
    # Known from their documentation alone.
    "cursor": "._cursor:Cursor",
    "crush": "._crush:Crush",
}


class _Agents(Mapping[str, type[PromptedAgent]]):
    """Agents by name."""

    def __getitem__(self, name: str) -> type[PromptedAgent]:
        module, _, kind = _PLACES[name].partition(":")
        found: type[PromptedAgent] = getattr(import_module(module, __package__), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


AGENTS: Mapping[str, type[PromptedAgent]] = _Agents()
