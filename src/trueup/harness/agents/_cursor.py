"""Cursor's agent, known from its documentation alone: one JSON object a line, and a result at the end if all went well.

Where it did not, the program exits with an error on stderr and without a result. It calls its vendor's own service,
by an account or by CURSOR_API_KEY: no proxy can meter that. Asked for less than everything it only proposes changes,
so there is no mode in which it edits files and does nothing else.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, ToolCall, ToolKind, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._vendors import Vendor
from ._base import Listening, PromptedAgent, as_word
from ._capabilities import Capabilities
from ._failures import failure

CURSOR = Vendor(
    name="cursor",
    key_variables=("CURSOR_API_KEY",),
    base_url_variables=(),
    default_base_url="https://api2.cursor.sh",
    login_base_url="https://api2.cursor.sh",
    login_hosts=("authenticator.cursor.sh",),
)
_MODES = {Mode.READ_ONLY: ("--mode=ask",), Mode.FULL: ("--force",)}
_CALL = "ToolCall"
_KINDS = {
    "shell": ToolKind.SHELL,
    "read": ToolKind.READ,
    "write": ToolKind.WRITE,
    "edit": ToolKind.WRITE,
    "delete": ToolKind.WRITE,
    "grep": ToolKind.SEARCH,
    "glob": ToolKind.SEARCH,
    "ls": ToolKind.SEARCH,
    "semSearch": ToolKind.SEARCH,
    "webFetch": ToolKind.WEB,
    "webSearch": ToolKind.WEB,
}


class _Part(Struct):
    text: str = ""


class _Said(Struct):
    content: list[_Part] = []


class _Init(Struct, tag_field="type", tag="system"):
    session_id: str | None = None


class _Assistant(Struct, tag_field="type", tag="assistant"):
    message: _Said


class _Thought(Struct, tag_field="type", tag="thinking"):
    text: str = ""


class _ToolCall(Struct, tag_field="type", tag="tool_call"):
    subtype: str = ""
    call_id: str = ""
    tool_call: dict[str, Any] = {}


class _Tokens(Struct):
    inputTokens: int | None = None  # noqa: N815 - its spelling
    outputTokens: int | None = None  # noqa: N815 - its spelling
    cacheReadTokens: int | None = None  # noqa: N815 - its spelling
    cacheWriteTokens: int | None = None  # noqa: N815 - its spelling


class _Result(Struct, tag_field="type", tag="result"):
    subtype: str = ""
    is_error: bool = False
    result: str = ""
    session_id: str | None = None
    usage: _Tokens | None = None


class CursorListening(Listening):
    """A `Conversation` with Cursor's agent."""

    decoder = msgspec.json.Decoder(_Init | _Assistant | _Thought | _ToolCall | _Result)

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Init(session_id=session_id):
                return self.named(session_id)
            case _Assistant(message=message):
                text = "".join(part.text for part in message.content)
                self.text = text or self.text
                return [Message(text)] if text else []
            case _Thought(text=text):
                return [Reasoning(text)] if text else []
            case _ToolCall():
                return _tool(record)
            case _Result():
                return self._end(record)
        return []

    def _end(self, record: _Result) -> list[Event]:
        self.succeeded = record.subtype == "success" and not record.is_error
        if not self.succeeded:
            self.failure = failure(record.result or record.subtype)
        if record.usage is None or record.usage.inputTokens is None:
            return self.named(record.session_id)
        self.total = Usage(
            input_tokens=record.usage.inputTokens,
            output_tokens=record.usage.outputTokens,
            cache_read_tokens=record.usage.cacheReadTokens,
            cache_write_tokens=record.usage.cacheWriteTokens,
            incomplete=not self.succeeded,
        )
        return [*self.named(record.session_id), UsageReported(self.total)]


def _tool(record: _ToolCall) -> list[Event]:
    """A call is an object with one field, which is named after the tool."""
    name, call = next(((key, value) for key, value in record.tool_call.items() if isinstance(value, dict)), ("", {}))
    bare = name.removesuffix(_CALL)
    if record.subtype == "started":
        given = call.get("args")
        return [
            ToolCall(bare, record.call_id, _KINDS.get(bare, ToolKind.OTHER), given if isinstance(given, dict) else {})
        ]
    result = call.get("result")
    if record.subtype != "completed" or not isinstance(result, dict):
        return []
    success = result.get("success")
    exit_code = success.get("exitCode") if isinstance(success, dict) else None
    return [ToolResult(record.call_id, success is not None and exit_code in (None, 0), json.dumps(result))]


class Cursor(PromptedAgent):
    """The `Dialect` of Cursor's agent."""

    name = "cursor"
    # Of the two names of the program the one that no other program has; the package of this name on npm is another's.
    program = "cursor-agent"
    install = "see https://cursor.com/docs/cli"
    vendors: ClassVar[tuple[Vendor, ...]] = (CURSOR,)
    login_files = (".config/cursor/auth.json", ".cursor/cli-config.json")
    capabilities = Capabilities(
        modes=(Mode.READ_ONLY, Mode.FULL),
        resume=True,
        tool_events=True,
        acp=("cursor-agent", "acp"),
        notes=(
            "known from its documentation alone",
            "calls its vendor's own service: nothing of it can be metered",
            "a prompt of more than 64 KiB cannot be given to it",
        ),
    )

    def put(self, request: HarnessRequest) -> Invocation:
        words = [self._program, "--print", "--output-format=stream-json", "--trust", *_MODES[request.mode]]
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--resume={request.resume}"] if request.resume else []
        return Invocation(argv=(*words, "--", as_word(request.prompt, "prompt")))

    def converse(self, request: HarnessRequest) -> CursorListening:
        return CursorListening(request)
