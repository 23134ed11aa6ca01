"""Who does the work: engines, which are given a prompt and work in a place until they stop.

An engine starts its program through a `Launcher`, tells what it hears as events, and says at the end how it went.
What the prompt asks for, how long the engine may take, and what its work is worth, is not known here.
Here: Claude Code, codex, agents that a person described, and any command.
"""

from ._command import CommandEngine
from ._engine import Engine, EngineError, EngineStalledError, Surroundings, Task, Work
from ._events import (
    Message,
    PermissionDecided,
    PlanText,
    Reasoning,
    Retried,
    SessionNamed,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
)
from ._logins import CarriedLogin, LoginFile
from ._protocol import (
    Ask,
    Conversation,
    Harness,
    HarnessRequest,
    HarnessResult,
    Invocation,
    Mode,
    Outcome,
    Probe,
    Say,
    Status,
)
from ._registry import HARNESSES, find_harness, harness_names, parse_engine
from ._vendors import Vendor

__all__ = [
    "HARNESSES",
    "Ask",
    "CarriedLogin",
    "CommandEngine",
    "Conversation",
    "Engine",
    "EngineError",
    "EngineStalledError",
    "Harness",
    "HarnessRequest",
    "HarnessResult",
    "Invocation",
    "LoginFile",
    "Message",
    "Mode",
    "Outcome",
    "PermissionDecided",
    "PlanText",
    "Probe",
    "Reasoning",
    "Retried",
    "Say",
    "SessionNamed",
    "Status",
    "Surroundings",
    "Task",
    "ToolCall",
    "ToolKind",
    "ToolResult",
    "UsageReported",
    "Vendor",
    "Work",
    "find_harness",
    "harness_names",
    "parse_engine",
]
