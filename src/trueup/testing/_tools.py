"""Neutral tool names become the tools that a client offers, with the arguments that those want."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ._request import ModelRequest, Offered
from ._steps import Tool

# By agent: claude, codex of several versions, gemini and qwen, opencode, goose, copilot, and common names.
NAMES: Mapping[str, Sequence[str]] = {
    "shell": (
        *("Bash", "exec_command", "shell_command", "shell", "local_shell", "container.exec", "run_shell_command"),
        *("bash", "developer__shell", "execute_command", "run_command", "run_terminal_cmd", "Execute", "terminal"),
    ),
    "read": ("Read", "read_file", "read", "view", "ReadFile", "open_file"),
    "write": ("Write", "write_file", "write", "create", "WriteFile", "create_file", "Create"),
    "edit": ("Edit", "edit", "replace", "str_replace", "edit_file", "StrReplaceFile"),
}
PROPERTIES: Mapping[str, Sequence[str]] = {
    "command": ("command", "cmd", "script"),
    "path": ("file_path", "path", "absolute_path", "filePath", "filename"),
    "content": ("content", "file_text", "contents", "text"),
    "old": ("old_string", "oldString", "old_str", "old_text", "old"),
    "new": ("new_string", "newString", "new_str", "new_text", "new"),
}


def resolve(tool: Tool, request: ModelRequest) -> Tool:
    """The call as the client understands it."""
    if tool.name not in NAMES:
        return tool
    offered = _offered(tool.name, request.tools)
    if offered is not None:
        return Tool(offered.name, _arguments(tool, offered, request.working_folder), tool.id)
    if tool.name != "shell" and _offered("shell", request.tools) is not None:
        return resolve(Tool("shell", {"command": _by_shell(tool)}, tool.id), request)
    return tool


def _offered(neutral: str, tools: Sequence[Offered]) -> Offered | None:
    by_name = {tool.name: tool for tool in tools}
    return next((by_name[name] for name in NAMES[neutral] if name in by_name), None)


def _arguments(tool: Tool, offered: Offered, folder: str | None) -> dict[str, Any]:
    arguments = {}
    for name, value in tool.arguments.items():
        key = next((key for key in PROPERTIES.get(name, ()) if key in offered.properties), name)
        # Several agents take only whole paths; what is none is sent as it is.
        named = posixpath.join(folder, value) if name == "path" and folder and isinstance(value, str) else value
        is_argv = name == "command" and _is_list(offered.properties.get(key))
        arguments[key] = ["bash", "-lc", named] if is_argv else named
    if "description" in offered.properties and "description" not in arguments and tool.name == "shell":
        arguments["description"] = "a step of the script"
    return arguments


def _is_list(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") in {"array", "ARRAY"}


def _by_shell(tool: Tool) -> str:
    """A command that does the same, for clients whose only tool is a shell."""
    path = shlex.quote(str(tool.arguments.get("path", "")))
    match tool.name:
        case "read":
            return f"cat -- {path}"
        case "write":
            folder = posixpath.dirname(str(tool.arguments.get("path", "")))
            made = f"mkdir -p -- {shlex.quote(folder)} && " if folder else ""
            return f"{made}printf %s {shlex.quote(str(tool.arguments.get('content', '')))} > {path}"
    old, new = (shlex.quote(str(tool.arguments.get(key, ""))) for key in ("old", "new"))
    program = "import sys,pathlib as p;f=p.Path(sys.argv[1]);f.write_text(f.read_text().replace(*sys.argv[2:4],1))"
    return f"python3 -c {shlex.quote(program)} {path} {old} {new}"
