"""Tool calls of an ACP agent, joined by their id from the parts in which they are told.

A call is told first with little more than an id, then in updates, then perhaps again where the agent asks for it: each
part may leave out what an earlier one said.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.protocols import Action

from .._events import ToolCall, ToolKind, ToolResult
from .._json_lines import decoded_line
from ..agents import tool_kind
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
# What editors call what they do to a file, where others have a command.
_LOOKS = "view"
_EDITS = frozenset("create str_replace insert undo_edit write edit".split())
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")
_INPUT = msgspec.json.Decoder(dict[str, Any])


class Deed(Struct, frozen=True):
    """What a call comes to: a yes is for this, and for nothing that takes its place."""

    kind: ToolKind
    command: str
    paths: frozenset[str]
    input: Mapping[str, Any]

    def covers(self, other: Deed) -> bool:
        """Whether who allowed this has allowed the other."""
        return (self.kind, self.command, self.input) == (other.kind, other.command, other.input) and (
            other.paths <= self.paths
        )


class Call:
    """One tool call, as far as it is known."""

    def __init__(self, call_id: str, agent: AcpAgent) -> None:
        self.id = call_id
        self.title = ""
        self.status = ""
        self.is_told = False
        self.was_denied = False
        self.changes_mode = False
        self._agent = agent
        self._kind = ToolKind.OTHER
        self._name = ""
        self._input: dict[str, Any] = {}
        self._paths: list[str] = []
        self._allowed: list[Deed] = []
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
        self._output = (self._output + _piece_of_output(part))[-MOST_OUTPUT:]
        if self.status in FINISHED:
            self._output = _output(part) or self._output

    def ask(self, part: Mapping[str, Any]) -> None:
        """Take the part of it by which permission is asked. Its input is whole: no earlier command belongs to it."""
        raw = part.get("rawInput")
        if isinstance(raw, dict) and raw:
            self._forget_command()
        self.join(part)

    def as_asked(self) -> Call:
        """The call as it is now, whatever is told of it while somebody decides."""
        return copy.copy(self)

    def decided(self, asked: Call, *, allowed: bool) -> None:
        """Remember what was decided about the call as it was asked for."""
        self.was_denied = not allowed
        if allowed:
            self._allowed.append(asked.deed)

    def _take_input(self, part: Mapping[str, Any]) -> None:
        raw = part.get("rawInput")
        if isinstance(raw, dict):
            # A part that repeats the command may leave out the folder; one that names it otherwise takes its place.
            if _command_in(raw):
                self._forget_command()
            self._input = {**self._input, **raw}
        elif self._agent.content_is_input and self.status not in FINISHED:
            # Argument by argument as the model writes them: only what is whole is JSON.
            whole = decoded_line(_content_text(part), _INPUT)
            self._input = {**self._input, **(whole or {})}

    def _forget_command(self) -> None:
        self._input = {name: value for name, value in self._input.items() if name not in COMMANDS}

    @property
    def kind(self) -> ToolKind:
        """What the tool does. What has a command runs it, whatever its agent calls that."""
        told = self._kind_told
        if not any(self._input.get(name) for name in COMMANDS):
            return told
        verb = _text(self._input.get("command"))
        if told in (ToolKind.READ, ToolKind.WRITE) and self.paths and (verb == _LOOKS or verb in _EDITS):
            return told if verb == _LOOKS else ToolKind.WRITE
        return ToolKind.SHELL

    @property
    def _kind_told(self) -> ToolKind:
        """What the agent says that it does, or calls it by a name that is known."""
        return tool_kind(self.own_name or "") if self._kind is ToolKind.OTHER else self._kind

    @property
    def own_name(self) -> str | None:
        """The agent's own name for the tool: where it tells one, or no kind and a title that can be one."""
        if self._name or self._kind is not ToolKind.OTHER:
            return self._name or None
        return self.title if _NAME.fullmatch(self.title) else None

    @property
    def name(self) -> str:
        """What to call the tool."""
        return self.own_name or self.kind.value

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
        is_unknown = self.kind is ToolKind.OTHER and self.own_name is None
        return not is_unknown and bool(self.paths or (self.input and self.kind is not ToolKind.WRITE))

    @property
    def has_happened(self) -> bool:
        """Whether it did anything, as far as is told in the end.

        A command that failed was run, unless it was denied; another tool may have refused what it was given.
        """
        if self.status == "failed":
            return not self.was_denied and self.kind is ToolKind.SHELL and bool(self.command)
        return self.status == "completed" or (self.status == "in_progress" and not self.was_denied)

    @property
    def deed(self) -> Deed:
        """What it comes to."""
        # Beside a command or a file, more and more of an input is told that nobody was asked about.
        given = self.input if self.kind is ToolKind.OTHER else {}
        return Deed(self.kind, self.command, frozenset(self.paths), given)

    @property
    def is_allowed(self) -> bool:
        """Whether it was allowed as it is now."""
        return any(deed.covers(self.deed) for deed in self._allowed)

    @property
    def label(self) -> str:
        """How to name it in a message."""
        return self.command or ", ".join(self.paths) or self.title or self.name

    def action(self) -> Action:
        """What there is to decide about. The tool is called by what it does: few agents tell their own name of it."""
        tool, own_name = (self.name, None) if self.kind is ToolKind.OTHER else (self.kind.value, self.own_name)
        params = dict(self.input) or ({"title": self.title} if self.title else {})
        if self._paths:
            # What the input calls by the same name must not hide them.
            params["paths"] = [*self._paths, *([params["paths"]] if "paths" in params else [])]
        return Action(tool, params, own_name)

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

    def of(self, part: Mapping[str, Any], agent: AcpAgent) -> Call:
        """The call that a part belongs to."""
        call_id = _text(part.get("toolCallId"))
        return self._open.setdefault(call_id, Call(call_id, agent))

    def finish(self, call: Call) -> None:
        """Forget a call that nothing more will be told of."""
        self._open.pop(call.id, None)

    def too_many(self) -> list[Call]:
        """Forget the oldest of too many."""
        oldest = list(self._open)[: max(0, len(self._open) - MOST_OPEN)]
        return [self._open.pop(call_id) for call_id in oldest]

    def all(self) -> list[Call]:
        """Forget everything."""
        left, self._open = list(self._open.values()), {}
        return left


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


def _piece_of_output(part: Mapping[str, Any]) -> str:
    """What came since the last part, where the output is told as codex tells it."""
    return _text(_inner(_inner(part, "_meta"), "terminal_output_delta").get("data"))


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
