"""The agents that trueup speaks to beside Claude Code and codex: one small module each, data and a parser.

What all of them share is in `PromptedAgent` and `Listening`; what each of them can be asked for is its `Capabilities`.
A plugin's agent is a subclass of `PromptedAgent`, named in the entry point group `trueup.harnesses`.
"""

from ._base import Directions, Listening, PromptedAgent, find_program, tool_kind
from ._capabilities import BUILT_IN, Capabilities, Permission, SystemPrompt
from ._failures import Failure, failure
from ._known import AGENTS

__all__ = [
    "AGENTS",
    "BUILT_IN",
    "Capabilities",
    "Directions",
    "Failure",
    "Listening",
    "Permission",
    "PromptedAgent",
    "SystemPrompt",
    "failure",
    "find_program",
    "tool_kind",
]
