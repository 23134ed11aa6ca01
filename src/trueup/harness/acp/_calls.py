"""Tool calls of an ACP agent, joined by their id from the parts in which they are told.

A call is told first with little more than an id, then in updates, then perhaps again where the agent asks for it: each
part may leave out what an earlier one said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from trueup.core.protocols import Action

from .._events import ToolCall, ToolKind, ToolResult
from .._json_lines import decoded_line
from ._named import AcpAgent

# What agents never finish must not be remembered for ever.
MOST_OPEN = 1000
MOST_OUTPUT = 1 << 20
FINISHED = ("completed", "failed")
COMMANDS = ("command", "cmd", "argv", "script", "shell_command", "commandLine", "command_line")
PATHS = ("path", "paths", "file_path", "filePath", "absolute_path", "abs_path", "file", "filename", "notebook_path")

_KINDS = {
    "read": ToolKind.READ,
    "edit": ToolKind.WRITE,
    "delete": ToolKind.WRITE,
    "move": ToolKind.WRITE,
    "search": ToolKind.SEARCH,
    "execute": ToolKind.SHELL,
    "fetch": ToolKind.WEB,
}
# For agents that tell no kind but a name of their own, as goose does.
_NAMES = {
    ToolKind.SHELL: "shell bash sh terminal exec run_shell_command run_command execute_command",
    ToolKind.READ: "read read_file view view_file cat analyze read_image",
    ToolKind.WRITE: "write write_file edit edit_file create_file text_editor str_replace_editor apply_patch patch delete",
    ToolKind.SEARCH: "search grep glob list ls find tree list_directory",
    ToolKind.WEB: "fetch web_fetch webfetch web_search websearch",
}
_KINDS_OF_NAMES = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_INPUT = msgspec.json.Decoder(dict[str, Any])


class Call:
    """One tool call, as far as it is known."""

    def __init__(self, call_id: str, agent: AcpAgent) -> None:
        self.id = call_id
        self.title = ""
        self.status = ""
        self.is_told = False
        self.is_asked = False
        self.changes_mode = False
        self._agent = agent
        self._kind = ToolKind.OTHER
        self._name = ""
        self._input: dict[str, Any] = {}
        self._paths: list[str] = []
        self._output = ""

    def join(self, part: Mapping[str, Any]) -> None:
        """Take one more part of it."""
        self.status = _text(part.get("status")) or self.status
        self.title = _text(part.get("title")) or self.title
        self._name = _own_name(part) or self._name
        self._kind = _KINDS.get(_text(part.get("kind")), self._kind)
        self.changes_mode = self.changes_mode or part.get("kind") == "switch_mode"
        self._take_input(part)
        self._paths = list(dict.fromkeys((*self._paths, *_paths_told(part))))
        if self.status in FINISHED:
            self._output = _output(part) or self._output

    def _take_input(self, part: Mapping[str, Any]) -> None:
        raw = part.get("rawInput")
        if isinstance(raw, dict):
            self._forget_command_for(raw)
            self._input |= raw
        elif self._agent.content_is_input and self.status not in FINISHED:
            # Argument by argument as the model writes them: only what is whole is JSON.
            whole = decoded_line(_content_text(part), _INPUT)
            self._input |= whole or {}

    def _forget_command_for(self, raw: Mapping[str, Any]) -> None:
        """A part that repeats the command may leave out the folder; one that names it otherwise takes its place."""
        if _command_in(raw):
            self._input = {name: value for name, value in self._input.items() if name not in COMMANDS}

    @property
    def kind(self) -> ToolKind:
        """What the tool does. An agent that does not tell calls it by a name that is known, or gives it a command."""
        if self._kind is not ToolKind.OTHER:
            return self._kind
        # A prefix such as `developer__` is the extension's that has the tool.
        by_name = _KINDS_OF_NAMES.get(self._name.rpartition("__")[2].lower())
        return by_name or (ToolKind.SHELL if self.command else ToolKind.OTHER)

    @property
    def name(self) -> str:
        """The agent's own name for the tool, where it tells one."""
        return self._name or self.kind.value

    @property
    def input(self) -> dict[str, Any]:
        """What the tool is given."""
        if self._agent.title_is_command and self._kind is ToolKind.SHELL and not _command_in(self._input):
            return {**self._input, "command": self.title} if self.title else self._input
        return self._input

    @property
    def command(self) -> str:
        """The command as one text; empty where none can be seen."""
        return _command_in(self.input)

    @property
    def paths(self) -> list[str]:
        """The files that it is about."""
        return list(dict.fromkeys((*self._paths, *_paths_in(self._input))))

    @property
    def is_described(self) -> bool:
        """Whether enough can be seen of it to be decided about."""
        if self.kind is ToolKind.SHELL:
            return bool(self.command)
        return bool(self.paths or (self.input and self.kind is not ToolKind.WRITE))

    @property
    def has_happened(self) -> bool:
        """Whether it did anything: a command that failed was run, another tool may have refused what it was given."""
        return self.status == "completed" or (self.kind is ToolKind.SHELL and bool(self.command))

    @property
    def label(self) -> str:
        """How to name it in a message."""
        return self.command or ", ".join(self.paths) or self.title or self.name

    def action(self) -> Action:
        """What there is to decide about. The tool is called by what it does: few agents tell their own name of it."""
        tool = self.name if self.kind is ToolKind.OTHER else self.kind.value
        known = {"paths": self._paths, "title": self.title if not self.input else ""}
        return Action(tool, {**{name: value for name, value in known.items() if value}, **self.input})

    def begun(self) -> list[ToolCall]:
        """The event of its beginning, once."""
        if self.is_told:
            return []
        self.is_told = True
        return [ToolCall(self.name, self.id, self.kind, self.input or ({"paths": self._paths} if self._paths else {}))]

    def ended(self) -> list[ToolResult]:
        """The event of its end."""
        return [ToolResult(self.id, self.status == "completed", self._output[-MOST_OUTPUT:])]


class Calls:
    """The calls of a run that are not finished."""

    def __init__(self) -> None:
        self._open: dict[str, Call] = {}

    def joined(self, part: Mapping[str, Any], agent: AcpAgent) -> Call:
        """The call that a part belongs to, with the part in it."""
        call_id = _text(part.get("toolCallId"))
        call = self._open.setdefault(call_id, Call(call_id, agent))
        call.join(part)
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]
        return call

    def finish(self, call: Call) -> None:
        """Forget a call that nothing more will be told of."""
        self._open.pop(call.id, None)


def _command_in(given: Mapping[str, Any]) -> str:
    for name in COMMANDS:
        told = given.get(name)
        if isinstance(told, str) and told.strip():
            return told
        if isinstance(told, list) and told and all(isinstance(word, str) for word in told):
            return " ".join(told)
    return ""


def _paths_in(given: Mapping[str, Any]) -> Iterator[str]:
    for name in PATHS:
        told = given.get(name)
        yield from (path for path in (told if isinstance(told, list) else [told]) if isinstance(path, str) and path)


def _paths_told(part: Mapping[str, Any]) -> Iterator[str]:
    """The files of diffs, and those that an agent wants to be looked at meanwhile."""
    for each in [*_list(part.get("content")), *_list(part.get("locations"))]:
        path = each.get("path") if isinstance(each, dict) else None
        if isinstance(path, str) and path:
            yield path


def _own_name(part: Mapping[str, Any]) -> str:
    meta = part.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    named = (
        part.get("name"),
        meta.get("tool_name"),
        meta.get("toolName"),
        _inner(meta, "claudeCode").get("toolName"),
        _inner(_inner(meta, "goose"), "toolCall").get("toolName"),
    )
    return next((name for name in named if isinstance(name, str) and name), "")


def _output(part: Mapping[str, Any]) -> str:
    raw = part.get("rawOutput")
    if isinstance(raw, str):
        return raw
    told = _inner(part, "rawOutput")
    texts = (told.get(name) for name in ("output", "formatted_output", "stdout", "content", "message", "error", "text"))
    return _content_text(part) or next((text for text in texts if isinstance(text, str) and text), "")


def _content_text(part: Mapping[str, Any]) -> str:
    texts = (_inner(each, "content").get("text") for each in _list(part.get("content")) if isinstance(each, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _inner(outer: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = outer.get(name)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
