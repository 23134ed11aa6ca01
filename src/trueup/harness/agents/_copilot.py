"""GitHub's Copilot CLI: one JSON object a line, an error in a record of its own, and tokens only in a file.

Without a key it is the person's own Copilot; by a key of a vendor's it calls that vendor alone, and needs to be told a
model. What it tells in its file is the whole session's, so after a resume nobody knows what the run used. It blots
every occurrence of the key out of what it prints, also inside of the names of fields: a key of a letter or two makes
its records unreadable. On resume it works in the folder in which the session began, wherever it is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError, Kind
from trueup.core.process import Finished
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, Retried, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._vendors import Vendor
from ._base import ANTHROPIC_KEY, OPENAI_KEY, Directions, PromptedAgent, as_stdin, as_word, tool_kind
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import Failure, failure
from ._folder import FileListening, Layout, Place, Word, in_folder
from ._providers import provider_of
from ._session_records import folder_in_records

USAGE = "usage.json"
INSTRUCTIONS = ".github/instructions/trueup.instructions.md"
# A shorter one is found inside of its own words, and blotted out there.
SHORTEST_KEY = 8
NO_JSON = "response body was not valid JSON"
NO_SESSION = "No session, task, or name matched"
# What is neither allowed nor denied is asked for, and denied because nobody answers.
_MODES = {
    Mode.READ_ONLY: ("--deny-tool=shell", "--deny-tool=write"),
    Mode.EDIT: ("--allow-tool=write",),
    Mode.FULL: ("--allow-all",),
}


class _Message(Struct):
    content: str = ""
    reasoningText: str = ""  # noqa: N815 - its spelling


class _Start(Struct):
    toolCallId: str = ""  # noqa: N815 - its spelling
    toolName: str = ""  # noqa: N815 - its spelling
    arguments: Any = None


class _ToolError(Struct):
    message: str = ""
    code: str = ""


class _Content(Struct):
    content: str = ""


class _Shell(Struct):
    exitCode: int | None = None  # noqa: N815 - its spelling


class _Complete(Struct):
    toolCallId: str = ""  # noqa: N815 - its spelling
    success: bool = False
    result: _Content | None = None
    error: _ToolError | None = None
    shellExecution: _Shell | None = None  # noqa: N815 - its spelling


class _Retry(Struct):
    reason: str = ""


class _Error(Struct):
    message: str = ""
    errorType: str = ""  # noqa: N815 - its spelling
    statusCode: int | None = None  # noqa: N815 - its spelling


class _MessageTold(Struct, tag_field="type", tag="assistant.message"):
    data: _Message


class _ToolBegun(Struct, tag_field="type", tag="tool.execution_start"):
    data: _Start


class _ToolEnded(Struct, tag_field="type", tag="tool.execution_complete"):
    data: _Complete


class _Retrying(Struct, tag_field="type", tag="assistant.turn_retry"):
    data: _Retry


class _ErrorTold(Struct, tag_field="type", tag="session.error"):
    data: _Error


class _Result(Struct, tag_field="type", tag="result"):
    sessionId: str | None = None  # noqa: N815 - its spelling
    exitCode: int | None = None  # noqa: N815 - its spelling


class _Tokens(Struct):
    inputTokens: int = 0  # noqa: N815 - its spelling
    outputTokens: int = 0  # noqa: N815 - its spelling
    cacheReadTokens: int = 0  # noqa: N815 - its spelling
    cacheWriteTokens: int = 0  # noqa: N815 - its spelling


class _Metrics(Struct):
    usage: _Tokens


class _UsageFile(Struct):
    modelMetrics: dict[str, _Metrics] = {}  # noqa: N815 - its spelling


_USAGE = msgspec.json.Decoder(_UsageFile)


class CopilotListening(FileListening):
    """A `Conversation` with Copilot."""

    decoder = msgspec.json.Decoder(_MessageTold | _ToolBegun | _ToolEnded | _Retrying | _ErrorTold | _Result)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._tools: dict[str, str] = {}
        self._retries = 0

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _MessageTold(data=data):
                return self._say(data)
            case _ToolBegun(data=data):
                self._tools[data.toolCallId] = data.toolName
                given = data.arguments if isinstance(data.arguments, dict) else {}
                return [ToolCall(data.toolName, data.toolCallId, tool_kind(data.toolName), given)]
            case _ToolEnded(data=data):
                return self._end_tool(data)
            case _Retrying(data=data):
                self._retries += 1
                return [Retried(self._retries, data.reason)]
            case _ErrorTold(data=data):
                told = failure(data.message, status=data.statusCode, code=data.errorType)
                self.failure = Failure(told.message, Kind.PROTOCOL) if NO_JSON in told.message else told
            case _Result():
                self.succeeded = record.exitCode == 0
                return self.named(record.sessionId)
        return []

    def _say(self, data: _Message) -> list[Event]:
        events: list[Event] = [Reasoning(data.reasoningText)] if data.reasoningText else []
        if data.content:
            self.text = data.content
            events.append(Message(data.content))
        return events

    def _end_tool(self, data: _Complete) -> list[Event]:
        if data.error is not None and data.error.code == "denied":
            self.denied.append(self._tools.get(data.toolCallId, ""))
        exit_code = data.shellExecution.exitCode if data.shellExecution else None
        said = data.result.content if data.result else (data.error.message if data.error else "")
        return [ToolResult(data.toolCallId, data.success and exit_code in (None, 0), said)]

    def problem(self, finished: Finished) -> Failure | None:
        if NO_SESSION in finished.stderr.text:
            return Failure(f"it knows no session {self.request.resume}", Kind.SESSION_NOT_FOUND)
        return super().problem(finished)

    def hear_file(self, content: str) -> list[Event]:
        try:
            told = [each.usage for each in _USAGE.decode(content.encode(errors="replace")).modelMetrics.values()]
        except (msgspec.MsgspecError, RecursionError):
            return []
        # It counts from the beginning of the session, which was not in this run.
        if self.request.resume is not None or not told:
            return []
        self.total = Usage(
            input_tokens=sum(each.inputTokens for each in told),
            output_tokens=sum(each.outputTokens for each in told),
            cache_read_tokens=sum(each.cacheReadTokens for each in told),
            cache_write_tokens=sum(each.cacheWriteTokens for each in told),
            incomplete=not self.succeeded,
        )
        return [UsageReported(self.total)]


class Copilot(PromptedAgent):
    """The `Dialect` of Copilot."""

    name = "copilot"
    program = "copilot"
    install = "install it with `npm install -g @github/copilot`"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY, ANTHROPIC_KEY)
    login_files = (".copilot/config.json",)
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        tool_events=True,
        acp=("copilot", "--acp"),
        budget_while_running=True,
        tested="1.0.102",
        notes=(
            "tells tokens at the end only, and not after a resume",
            "in mode edit it takes a command that only writes files of the folder for an edit",
        ),
    )

    def login(self, environ: Mapping[str, str]) -> tuple[bool | None, str]:
        names = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
        token = next((name for name in names if environ.get(name)), None)
        return (True, f"by {token}") if token else super().login(environ)

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        home = Path(environ.get("COPILOT_HOME") or Path(environ.get("HOME", "/"), ".copilot"))
        return folder_in_records(home, "session-state/{}/events.jsonl", session, "data", "context", "cwd")

    def directions(self, request: HarnessRequest) -> Directions:
        return Directions(env=self._provider(request))

    def put(self, request: HarnessRequest) -> Invocation:
        words: list[Word] = [self._program, "--output-format=json", "--no-ask-user", "--no-auto-update", "--no-remote"]
        words += _MODES[request.mode]
        words += [] if self._user_config else ["--disable-builtin-mcps"]
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--resume={request.resume}"] if request.resume else []
        words.append(Place(USAGE, "--usage-output-file="))
        env: dict[str, Word] = dict(self._provider(request))
        files = {}
        if request.system:
            # It reads instructions from files alone. In other folders than the working one only these count.
            files[INSTRUCTIONS] = f'---\napplyTo: "**"\n---\n{as_word(request.system, "system prompt")}'
            env["COPILOT_CUSTOM_INSTRUCTIONS_DIRS"] = Place()
        return in_folder(words, Layout(files=files, tells=USAGE), env=env, stdin=as_stdin(request.prompt))

    def converse(self, request: HarnessRequest) -> CopilotListening:
        return CopilotListening(request)

    def _provider(self, request: HarnessRequest) -> dict[str, str]:
        """The variables by which it calls a vendor; none for the person's own Copilot."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return {}
        if provider.key is not None and len(provider.key) < SHORTEST_KEY:
            raise InputError(
                f"{self.name} blots a key of {len(provider.key)} characters out of its own words: use another"
            )
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": provider.vendor.name,
            "COPILOT_PROVIDER_BASE_URL": provider.base_url,
            **({"COPILOT_PROVIDER_API_KEY": provider.key} if provider.key else {}),
        }
