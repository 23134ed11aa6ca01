"""Who does the work: engines, which are given a prompt and work in a place until they stop.

An engine starts its program through a `Launcher`, tells what it hears as events, and says at the end how it went.
What the prompt asks for, how long the engine may take, and what its work is worth, is not known here.
Here so far: any command.
"""

from ._command import CommandEngine, Surroundings, parse_engine
from ._engine import (
    Engine,
    EngineError,
    EngineStalledError,
    PlanText,
    Task,
    ToolCall,
    ToolResult,
    UsageReported,
    Work,
)

__all__ = [
    "CommandEngine",
    "Engine",
    "EngineError",
    "EngineStalledError",
    "PlanText",
    "Surroundings",
    "Task",
    "ToolCall",
    "ToolResult",
    "UsageReported",
    "Work",
    "parse_engine",
]
