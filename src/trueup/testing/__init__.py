"""Parts for tests, yours and ours: programs and objects that behave as the real ones do, by a script.

Nothing here patches anything. A `ScriptedModel` is a model behind HTTP, a `ScriptedAgent` is a program, a
`ScriptedReplies` is a `Generate`, an `EventLog` is a recorder; hand them over where one is wanted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._agent import ScriptedAgent
    from ._events import EventLog
    from ._model import ScriptedModel
    from ._replies import ScriptedReplies
    from ._request import ModelRequest
    from ._script import parse_script
    from ._steps import Answer, Fault, Text, Thinking, Tokens, Tool

# Loaded when they are wanted: the agent program starts from here too, two hundred times at once.
_HOMES = {
    "Answer": "_steps",
    "EventLog": "_events",
    "Fault": "_steps",
    "ModelRequest": "_request",
    "ScriptedAgent": "_agent",
    "ScriptedModel": "_model",
    "ScriptedReplies": "_replies",
    "Text": "_steps",
    "Thinking": "_steps",
    "Tokens": "_steps",
    "Tool": "_steps",
    "parse_script": "_script",
}

__all__ = [
    "Answer",
    "EventLog",
    "Fault",
    "ModelRequest",
    "ScriptedAgent",
    "ScriptedModel",
    "ScriptedReplies",
    "Text",
    "Thinking",
    "Tokens",
    "Tool",
    "parse_script",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
