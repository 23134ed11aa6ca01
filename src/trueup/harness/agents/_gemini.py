"""gemini-cli: one JSON object a line, with a result at the end that says how it went and what it used.

It is told its settings by a file that goes before all others: few retries, since it would try for minutes and say
nothing, and none of the servers, hooks and extensions that the user or the project named. Its exit code is the status
of HTTP, cut to a byte, and says nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError, Kind
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Retried, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._vendors import Vendor
from ._base import Directions, Listening, PromptedAgent, as_stdin, reach_of, tool_kind
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import code_in, failure
from ._files import laid_out, with_a_file

GEMINI = Vendor(
    name="gemini",
    key_variables=("GEMINI_API_KEY",),
    base_url_variables=("GOOGLE_GEMINI_BASE_URL",),
    default_base_url="https://generativelanguage.googleapis.com",
    login_base_url="https://cloudcode-pa.googleapis.com",
    login_hosts=("oauth2.googleapis.com", "accounts.google.com"),
)
# Of more it reads the beginning, and says so where nobody looks.
MOST_PROMPT = 8 << 20
MOST_ATTEMPTS = 3
_MODES = {Mode.READ_ONLY: "plan", Mode.EDIT: "auto_edit", Mode.FULL: "yolo"}
_QUIET = {
    "general": {"maxAttempts": MOST_ATTEMPTS, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
_USER_SKILLS = (".gemini/skills", ".agents/skills")
_MINIMAL = {"hooksConfig": {"enabled": False}, "skills": {"enabled": False}}


class _Init(Struct, tag_field="type", tag="init"):
    session_id: str | None = None


class _Message(Struct, tag_field="type", tag="message"):
    role: str = ""
    content: str = ""
    delta: bool = False


class _ToolUse(Struct, tag_field="type", tag="tool_use"):
    tool_name: str
    tool_id: str = ""
    parameters: dict[str, Any] = {}


class _Trouble(Struct):
    message: str = ""
    type: str = ""


class _ToolResult(Struct, tag_field="type", tag="tool_result"):
    tool_id: str = ""
    status: str = ""
    output: str = ""
    error: _Trouble | None = None


class _Stats(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None


class _Error(Struct, tag_field="type", tag="error"):
    severity: str = ""
    message: str = ""


class _Result(Struct, tag_field="type", tag="result"):
    status: str = ""
    stats: _Stats | None = None
    error: _Trouble | None = None


class GeminiListening(Listening):
    """A `Conversation` with gemini-cli."""

    decoder = msgspec.json.Decoder(_Init | _Message | _ToolUse | _ToolResult | _Error | _Result)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._is_answering = False
        self._warnings = 0

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Init(session_id=session_id):
                return self.named(session_id)
            case _Message(role="assistant", content=piece):
                # An answer comes in pieces, until something else does.
                self.text = self.text + piece if self._is_answering else piece
                self._is_answering = True
                return [Message(piece)]
            case _ToolUse() | _ToolResult():
                self._is_answering = False
                return [_tool(record)]
            case _Error(message=message):
                self._warnings += 1
                return [Retried(self._warnings, message)]
            case _Result():
                return self._end(record)
        return []

    def _end(self, record: _Result) -> list[Event]:
        if record.status == "success":
            self.succeeded = True
        else:
            said = record.error.message if record.error else f"it ended with status {record.status!r}"
            body = said.removeprefix("[API Error: ").removesuffix("]")
            self.failure = failure(said, code=code_in(body))
        stats = record.stats
        if stats is None or stats.input_tokens is None:
            return []
        self.total = Usage(
            input_tokens=stats.input_tokens,
            output_tokens=stats.output_tokens,
            cache_read_tokens=stats.cached,
        )
        return [UsageReported(self.total)]


def _tool(record: _ToolUse | _ToolResult) -> ToolCall | ToolResult:
    if isinstance(record, _ToolUse):
        return ToolCall(record.tool_name, record.tool_id, tool_kind(record.tool_name), record.parameters)
    said = record.output or (record.error.message if record.error else "")
    return ToolResult(record.tool_id, record.status == "success", said)


def _with_skills(request: HarnessRequest) -> dict[str, Any]:
    """The settings by which it offers skills of the folder; of one name, these go before the user's."""
    if not request.skills:
        return {}
    others = sorted(_skills_of_user(request.env.get("HOME")) - set(request.skills))
    return {"skills": {"enabled": True, "disabled": others}}


def _skills_of_user(home: str | None) -> set[str]:
    places = [Path(home, place) for place in _USER_SKILLS] if home else []
    return {file.parent.name for place in places for file in place.glob("*/SKILL.md")}


class Gemini(PromptedAgent):
    """The `Dialect` of gemini-cli."""

    name = "gemini"
    program = "gemini"
    install = "install it with `npm install -g @google/gemini-cli`"
    vendors: ClassVar[tuple[Vendor, ...]] = (GEMINI,)
    login_files = (".gemini/oauth_creds.json", ".gemini/settings.json")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.REPLACES,
        usage=True,
        tool_events=True,
        acp=("gemini", "--acp", "--skip-trust"),
        budget_while_running=True,
        skills=".agents/skills",
        tested="0.61.0",
        notes=(
            "says nothing while it tries again",
            "refuses a session of another folder",
            "cannot go on with a session over ACP",
        ),
    )

    def directions(self, request: HarnessRequest) -> Directions:
        return with_a_file("GEMINI_CLI_SYSTEM_SETTINGS_PATH", json.dumps(self._settings(request)))

    def put(self, request: HarnessRequest) -> Invocation:
        prompt = as_stdin(request.prompt)
        if len(prompt) > MOST_PROMPT:
            most = f"{MOST_PROMPT >> 20} MiB"
            raise InputError(f"{self.name} reads a prompt of at most {most}: shorten it", kind=Kind.INPUT_TOO_LARGE)
        words = [
            self._program,
            "--output-format=stream-json",
            f"--approval-mode={_MODES[request.mode]}",
            "--skip-trust",
        ]
        # A name that no server and no extension has leaves none of them.
        words += [] if self._user_config else ["--extensions=none", "--allowed-mcp-server-names=none"]
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--resume={request.resume}"] if request.resume else []
        files = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": json.dumps(self._settings(request)).encode()}
        files |= {"GEMINI_SYSTEM_MD": as_stdin(request.system)} if request.system else {}
        asked = laid_out(words, files, prompt)
        return Invocation(argv=asked.argv, env={"GEMINI_CLI_TRUST_WORKSPACE": "true"}, stdin=asked.stdin)

    def converse(self, request: HarnessRequest) -> GeminiListening:
        return GeminiListening(request)

    def _settings(self, request: HarnessRequest) -> dict[str, Any]:
        reach = reach_of(request.env, self.vendors)
        by_key = {"security": {"auth": {"selectedType": "gemini-api-key"}}} if reach and reach.key else {}
        return {**_QUIET, **({} if self._user_config else _MINIMAL), **_with_skills(request), **by_key}
