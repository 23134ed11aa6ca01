"""What codex tells of its work, item by item, in the words that all agents share.

`codex exec` and `codex app-server` have the same items; one spells them in snake case, the other in camel case.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from trueup.core.protocols import Event

from ._events import Message, PlanText, Reasoning, Retried, ToolCall, ToolKind, ToolResult

TOOLS: Mapping[str, ToolKind] = {
    "command_execution": ToolKind.SHELL,
    "file_change": ToolKind.WRITE,
    "web_search": ToolKind.WEB,
    "image_view": ToolKind.READ,
    "mcp_tool_call": ToolKind.OTHER,
    "dynamic_tool_call": ToolKind.OTHER,
    "collab_tool_call": ToolKind.OTHER,
    "collab_agent_tool_call": ToolKind.OTHER,
    "image_generation": ToolKind.OTHER,
}
# What of an item is what the tool was given.
_INPUTS = ("command", "cwd", "changes", "query", "action", "server", "tool", "arguments", "path", "prompt")
# The system's shells: a program of another place is not one, whatever it is called.
_SHELL = re.compile(r"(/usr(/local)?)?/bin/(bash|sh|zsh|dash|ksh|fish)")
# More than this often, codex has said that it waits for the network: it would do so forever.
MOST_WAITS = 3


def in_snake_case(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item with its keys and its type as `codex exec` spells them."""
    spelled = {_snake(name): value for name, value in item.items()}
    spelled["type"] = _snake(str(item.get("type", "")))
    return spelled


def command_of(item: Mapping[str, Any]) -> str:
    """The command that the model wanted: codex tells it wrapped in a shell, `/bin/bash -lc '…'`."""
    told = item.get("command")
    if not isinstance(told, str):
        return ""
    try:
        words = shlex.split(told)
    except ValueError:
        return told
    match words:
        case [shell, "-lc" | "-c", script] if _SHELL.fullmatch(shell):
            return script
    return told


def paths_of(item: Mapping[str, Any]) -> list[str]:
    """The files that a change is about; one that is moved counts at both places."""
    changes = item.get("changes")
    found: list[str] = []
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict):
            kind = change.get("kind")
            moved = kind.get("move_path") if isinstance(kind, dict) else None
            found += [path for path in (change.get("path"), moved) if isinstance(path, str)]
    return found


class Items:
    """The items of one run: events of them, and what is remembered for its end."""

    def __init__(self) -> None:
        self.text = ""
        self.tools = 0
        self.has_done_something = False
        self._begun: set[str] = set()

    def started(self, item: Mapping[str, Any]) -> list[Event]:
        """Take an item at its beginning."""
        if item["type"] not in TOOLS or _id(item) in self._begun:
            return []
        self._begun.add(_id(item))
        self.tools += 1
        return [ToolCall(_name(item), _id(item), TOOLS[item["type"]], _input(item))]

    def completed(self, item: Mapping[str, Any]) -> list[Event]:
        """Take an item at its end. An item of type `error` is only a warning, and nothing."""
        if item["type"] in TOOLS:
            self.has_done_something = self.has_done_something or bool(_is_ok(item))
            return [*self.started(item), ToolResult(_id(item), _is_ok(item), _output(item), _secs(item))]
        text = _text(item)
        if not text:
            return []
        match item["type"]:
            case "agent_message":
                self.text = text
                return [Message(text)]
            case "reasoning":
                return [Reasoning(text)]
            case "todo_list" | "plan":
                return [PlanText(text)]
        return []


class Retries:
    """The times that codex tried again by itself."""

    def __init__(self) -> None:
        self._seen = 0
        self._waits = 0

    def take(self, message: str) -> Retried:
        """Count one."""
        self._seen += 1
        self._waits += "waiting for network" in message
        counted = re.match(r"Reconnecting\.\.\. (\d+)/\d+", message)
        return Retried(int(counted[1]) if counted else self._seen, message)

    @property
    def are_endless(self) -> bool:
        """Whether it would go on forever."""
        return self._waits > MOST_WAITS


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _id(item: Mapping[str, Any]) -> str:
    return str(item.get("id", ""))


def _name(item: Mapping[str, Any]) -> str:
    if item["type"] == "mcp_tool_call":
        return f"{item.get('server')}.{item.get('tool')}"
    return str(item["type"])


def _input(item: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: item[name] for name in _INPUTS if item.get(name) is not None}
    return {**given, "command": command_of(item)} if "command" in given else given


def _is_ok(item: Mapping[str, Any]) -> bool | None:
    status, code = item.get("status"), item.get("exit_code")
    if not isinstance(status, str):
        return None
    return status == "completed" and (code is None or code == 0)


def _output(item: Mapping[str, Any]) -> str:
    told = item.get("aggregated_output")
    if isinstance(told, str):
        return told
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict):
        return str(error.get("message", ""))
    if isinstance(result, dict):
        return _joined(result.get("content"))
    return "declined" if item.get("status") == "declined" else ""


def _text(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("text"), str):
        return str(item["text"])
    if item["type"] == "todo_list":
        return "\n".join(_todo(entry) for entry in _list(item.get("items")) if isinstance(entry, dict))
    return _joined(item.get("summary")) or _joined(item.get("content"))


def _todo(entry: Mapping[str, Any]) -> str:
    return f"[{'x' if entry.get('completed') else ' '}] {entry.get('text', '')}"


def _joined(parts: Any) -> str:
    texts = [part.get("text") if isinstance(part, dict) else part for part in _list(parts)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _secs(item: Mapping[str, Any]) -> float | None:
    millis = item.get("duration_ms")
    return millis / 1000 if isinstance(millis, int) else None
