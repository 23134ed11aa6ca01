"""qwen-code: records in the shape of Claude Code's, with errors of its own.

An error of the vendor's is also told as an answer. On resume the result's usage is the whole session's, so the calls
of this run are added up instead. It is told its settings by a file that goes before all others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, Retried, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._session_files import began_in
from .._vendors import Vendor
from ._base import OPENAI_KEY, Directions, Listening, PromptedAgent, as_stdin, as_word, reach_of, tool_kind
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import failure
from ._files import laid_out, with_a_file

SETTINGS = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
_QUIET: dict[str, Any] = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
_MINIMAL = {"disableAllHooks": True}
_MODES = {Mode.READ_ONLY: "plan", Mode.EDIT: "auto-edit", Mode.FULL: "yolo"}


class _Tokens(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0


class _Block(Struct):
    """A part of a message, of which each kind has some of these."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    is_error: bool = False
    content: Any = None


class _Content(Struct):
    content: list[_Block] | str = []
    usage: _Tokens | None = None


class _RetryData(Struct):
    attempt: int = 0
    reason: str = ""


class _System(Struct, tag_field="type", tag="system"):
    subtype: str = ""
    session_id: str | None = None
    qwen_code_version: str | None = None
    data: Any = None


class _Assistant(Struct, tag_field="type", tag="assistant"):
    message: _Content


class _User(Struct, tag_field="type", tag="user"):
    message: _Content


class _Trouble(Struct):
    message: str = ""


class _Denial(Struct):
    tool_name: str = ""


class _Result(Struct, tag_field="type", tag="result"):
    subtype: str = ""
    is_error: bool = False
    session_id: str | None = None
    result: str | None = None
    usage: _Tokens | None = None
    error: _Trouble | None = None
    permission_denials: list[_Denial] = []


class QwenListening(Listening):
    """A `Conversation` with qwen-code."""

    decoder = msgspec.json.Decoder(_System | _Assistant | _User | _Result)

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _System(subtype="init"):
                self.version = record.qwen_code_version or self.version
                return self.named(record.session_id)
            case _System(subtype="retry"):
                retry = _retry(record.data)
                return [Retried(retry.attempt, retry.reason)]
            case _Assistant(message=message):
                return self._hear_message(message)
            case _User(message=message):
                blocks = message.content if isinstance(message.content, list) else []
                return [_result(block) for block in blocks if block.type == "tool_result"]
            case _Result():
                self._end(record)
        return []

    def _hear_message(self, message: _Content) -> list[Event]:
        told: list[Event] = []
        for block in message.content if isinstance(message.content, list) else []:
            match block.type:
                case "text":
                    self.text = block.text
                    told.append(Message(block.text))
                case "thinking":
                    told.append(Reasoning(block.thinking))
                case "tool_use":
                    told.append(ToolCall(block.name, block.id, tool_kind(block.name), block.input))
        # Of a call in several parts, the last has what it used.
        if message.usage is not None and (message.usage.input_tokens or message.usage.output_tokens):
            self.calls.append(_usage(message.usage))
            told.append(UsageReported(self.calls[-1]))
        return told

    def _end(self, record: _Result) -> None:
        self.denied = [denial.tool_name for denial in record.permission_denials]
        if record.subtype == "success" and not record.is_error:
            self.succeeded = True
            self.text = record.result if record.result is not None else self.text
        else:
            said = record.error.message if record.error and record.error.message else record.result or record.subtype
            self.failure = failure(said)
        if record.usage is not None and self.request.resume is None and self.succeeded:
            self.total = _usage(record.usage)


class Qwen(PromptedAgent):
    """The `Dialect` of qwen-code."""

    name = "qwen"
    program = "qwen"
    install = "install it with `npm install -g @qwen-code/qwen-code`"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY,)
    login_files = (".qwen/oauth_creds.json", ".qwen/settings.json")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        tool_events=True,
        acp=("qwen", "--acp", "--approval-mode", "default"),
        budget_while_running=True,
        turns=True,
        tested="0.24.4",
        notes=("tries again for many minutes where the vendor is busy", "refuses a session of another folder"),
    )

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return began_in(Path(environ.get("HOME", "/"), ".qwen"), "projects/*/chats/{}.jsonl", session)

    def directions(self, request: HarnessRequest) -> Directions:
        return replace(with_a_file(SETTINGS, self._settings()), words=self._by_key(request))

    def put(self, request: HarnessRequest) -> Invocation:
        words = [self._program, "--output-format=stream-json", f"--approval-mode={_MODES[request.mode]}"]
        # A name that no server and no extension has leaves none of them.
        words += [] if self._user_config else ["--extensions=none", "--allowed-mcp-server-names=none"]
        words += self._by_key(request)
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--resume={request.resume}"] if request.resume else []
        words += [f"--append-system-prompt={as_word(request.system, 'system prompt')}"] if request.system else []
        words += [f"--max-session-turns={request.turns}"] if request.turns is not None else []
        files = {SETTINGS: self._settings().encode()}
        asked = laid_out(words, files, as_stdin(request.prompt))
        return Invocation(
            argv=asked.argv,
            env={"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"},
            stdin=asked.stdin,
            tells_version=True,
        )

    def converse(self, request: HarnessRequest) -> QwenListening:
        return QwenListening(request)

    def _by_key(self, request: HarnessRequest) -> tuple[str, ...]:
        # The key stays in its variable: the words of a command can be read by everybody.
        return ("--auth-type=openai",) if reach_of(request.env, self.vendors) else ()

    def _settings(self) -> str:
        return json.dumps({**_QUIET, **({} if self._user_config else _MINIMAL)})


def _retry(data: Any) -> _RetryData:
    try:
        return msgspec.convert(data, _RetryData)
    except msgspec.ValidationError:
        return _RetryData()


def _result(block: _Block) -> ToolResult:
    output = block.content if isinstance(block.content, str) else msgspec.json.encode(block.content).decode()
    return ToolResult(block.tool_use_id, not block.is_error, output)


def _usage(tokens: _Tokens) -> Usage:
    return Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_input_tokens,
    )
