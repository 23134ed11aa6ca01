"""Who does the work: engines, which are given a prompt and work in a place until they stop.

An engine starts its program through a `Launcher`, tells what it hears as events, and says at the end how it went.
What the prompt asks for, how long the engine may take, and what its work is worth, is not known here.
Here: Claude Code, codex, the agents of `agents`, those that plugins bring or a person described, and any command.
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
from ._here import FolderLauncher, told_variables, user_environment
from ._logins import CarriedLogin, LoginFile
from ._protocol import (
    Ask,
    Conversation,
    Harness,
    HarnessRequest,
    HarnessResult,
    Instead,
    Invocation,
    Mode,
    Outcome,
    Probe,
    Say,
    Status,
)
from ._registry import (
    HARNESSES,
    capabilities_of,
    find_harness,
    harness_names,
    parse_engine,
    plugin_complaints,
)
from ._vendors import Vendor
from .agents import Capabilities, Permission, SystemPrompt, tool_kind

__all__ = [
    "HARNESSES",
    "Ask",
    "Capabilities",
    "CarriedLogin",
    "CommandEngine",
    "Conversation",
    "Engine",
    "EngineError",
    "EngineStalledError",
    "FolderLauncher",
    "Harness",
    "HarnessRequest",
    "HarnessResult",
    "Instead",
    "Invocation",
    "LoginFile",
    "Message",
    "Mode",
    "Outcome",
    "Permission",
    "PermissionDecided",
    "PlanText",
    "Probe",
    "Reasoning",
    "Retried",
    "Say",
    "SessionNamed",
    "Status",
    "Surroundings",
    "SystemPrompt",
    "Task",
    "ToolCall",
    "ToolKind",
    "ToolResult",
    "UsageReported",
    "Vendor",
    "Work",
    "capabilities_of",
    "find_harness",
    "harness_names",
    "parse_engine",
    "plugin_complaints",
    "told_variables",
    "tool_kind",
    "user_environment",
]
