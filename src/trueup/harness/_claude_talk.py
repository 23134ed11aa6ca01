"""One run of Claude Code, as it tells it line by line, and what has to be said to it meanwhile.

Its stdin stays open and takes requests: to begin (`initialize`), to stop (`interrupt`, `end_session`). With a gate,
`initialize` asks for a callback before every use of a tool that fails closed: whatever is not answered is blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Action, Decision, Event

from ._claude_failures import error_text, kind_of_result, kind_of_text
from ._claude_records import (
    SYNTHETIC,
    Assistant,
    ControlRequest,
    ControlResponse,
    Denial,
    Record,
    Result,
    StreamEvent,
    System,
    User,
    decode,
    moment,
    text_of,
)
from ._claude_usage import Tally
from ._events import Message, Reasoning, Retried, SessionNamed, ToolCall, ToolKind, ToolResult, UsageReported
from ._json_lines import plain_words
from ._protocol import Ask, HarnessRequest, Instead, Outcome, Say

BEGIN = "trueup-begin"
BEGIN_ASKING = "trueup-begin-asking"
HOOK = "PreToolUse"
# A callback that is not answered in time blocks the tool; the run has a clock of its own.
HOOK_SECS = 7 * 24 * 3600
TAIL_BYTES = 2000
QUOTED_CHARACTERS = 200

_KINDS = {
    ToolKind.SHELL: "Bash BashOutput KillBash KillShell Monitor PowerShell",
    ToolKind.READ: "Read NotebookRead",
    ToolKind.WRITE: "Write Edit MultiEdit NotebookEdit",
    ToolKind.SEARCH: "Glob Grep LS",
    ToolKind.WEB: "WebFetch WebSearch",
}
TOOL_KINDS = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_TELLING = ("command", "file_path", "notebook_path", "url", "pattern", "query")


def begin(request: HarnessRequest, *, asks: bool) -> bytes:
    """The first thing that is said: how the conversation goes. The prompt follows the answer to it."""
    wanted: dict[str, Any] = {"subtype": "initialize"}
    if asks:
        every_tool = {"matcher": None, "hookCallbackIds": ["gate"], "timeout": HOOK_SECS, "onFailure": "block"}
        wanted["hooks"] = {HOOK: [every_tool]}
    if request.system is not None:
        wanted["appendSystemPrompt"] = _clean(request.system)
        if request.resume is not None:
            # Else the system prompt with which the conversation began is used again, and this one ignored.
            wanted["systemPromptSnapshot"] = False
    return _control(BEGIN_ASKING if asks else BEGIN, wanted)


class ClaudeConversation:
    """A `Conversation` with Claude Code."""

    def __init__(self, request: HarnessRequest) -> None:
        self._request = request
        self._tally = Tally(resumed=request.resume is not None)
        self._asked: dict[str, str] = {}
        self._called_at: dict[str, float | None] = {}
        self._denials: dict[str, Denial] = {}
        self._session_id: str | None = None
        self._version: str | None = None
        self._state: str | None = None
        self._result: Result | None = None
        self._message_error: Any = None
        self._cannot_go_on = ""
        self._has_ended = False

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        record = decode(line)
        heard = [] if record is None else self._hear(record)
        if self.is_over and not self._has_ended:
            # With commands in the background it would wait for them.
            self._has_ended = True
            heard.append(Say(_control("trueup-end", {"subtype": "end_session", "reason": "done"})))
        return heard

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        # No opinion means that the mode of the run decides: a gate takes away, and adds nothing.
        told: dict[str, Any] = {}
        if isinstance(decision, Instead):
            other = {"hookEventName": HOOK, "permissionDecision": "allow", "updatedInput": decision.params}
            told = {"hookSpecificOutput": other}
        elif not decision.allowed:
            reason = decision.reason or f"not allowed by rule {decision.rule or 'of the gate'}"
            denial = {"hookEventName": HOOK, "permissionDecision": "deny", "permissionDecisionReason": reason}
            told = {"hookSpecificOutput": denial}
        return _response(self._asked.pop(ask.id, ask.id), told)

    def cancel(self) -> bytes:
        stop = _control("trueup-interrupt", {"subtype": "interrupt"})
        return stop + _control("trueup-end", {"subtype": "end_session", "reason": "cancelled"})

    @property
    def is_over(self) -> bool:
        """A result ends a turn; while a subagent still works, another turn follows it."""
        return bool(self._cannot_go_on) or (self._result is not None and self._state in (None, "idle"))

    def outcome(self, finished: Finished) -> Outcome:
        return structs.replace(
            self._ending(finished),
            session_id=self._session_id,
            version=self._version,
            usage=self._tally.total,
            denied=[_headline(denial) for denial in self._denials.values()],
        )

    def _ending(self, finished: Finished) -> Outcome:
        result = self._result
        if self._cannot_go_on:
            return Outcome(ok=False, failure_kind=Kind.PROTOCOL, error=self._cannot_go_on)
        if result is None:
            return _without_result(finished)
        if result.subtype == "success" and not result.is_error:
            return Outcome(ok=True, text=result.result or "")
        # Its text is the error once more, and no answer.
        kind = kind_of_result(result, self._message_error)
        return Outcome(ok=False, failure_kind=kind, error=error_text(result))

    def _hear(self, record: Record) -> list[Event | Ask | Say]:
        heard: Sequence[Event | Ask | Say]
        match record:
            case System():
                heard = self._hear_system(record)
            case Assistant():
                heard = self._hear_assistant(record)
            case User():
                heard = self._hear_results(record)
            case StreamEvent(event=event):
                heard = self._tally.hear(event)
            case Result():
                heard = self._hear_end(record)
            case ControlRequest():
                heard = [self._hear_request(record)]
            case ControlResponse(response=response):
                heard = self._hear_response(response)
        return list(heard)

    def _hear_system(self, record: System) -> list[Event]:
        self._version = record.claude_code_version or self._version
        if record.subtype == "session_state_changed":
            self._state = record.state
        elif record.subtype == "init" and record.session_id and record.session_id != self._session_id:
            self._session_id = record.session_id
            return [SessionNamed(record.session_id)]
        elif record.subtype == "api_retry":
            why = " ".join(str(part) for part in (record.error_status, record.error) if part)
            return [Retried(record.attempt or 0, why)]
        return []

    def _hear_assistant(self, record: Assistant) -> list[Event]:
        if record.message.model == SYNTHETIC:
            # The program's own error in the place of an answer; the result says it again.
            self._message_error = record.error
            return []
        heard: list[Event] = [*self._tally.see(record)]
        for block in record.message.blocks:
            if block.type == "text" and block.text:
                heard.append(Message(block.text))
            elif block.type == "thinking" and block.thinking:
                heard.append(Reasoning(block.thinking))
            elif block.type == "tool_use":
                self._called_at[block.id] = moment(record.timestamp)
                heard.append(ToolCall(block.name, block.id, _kind(block.name), _parameters(block.input)))
        return heard

    def _hear_results(self, record: User) -> list[ToolResult]:
        return [
            ToolResult(
                block.tool_use_id,
                not block.is_error,
                text_of(block.content),
                self._secs_since_call(block.tool_use_id, record.timestamp),
            )
            for block in record.message.blocks
            if block.type == "tool_result"
        ]

    def _secs_since_call(self, call: str, timestamp: str | None) -> float | None:
        begun, ended = self._called_at.pop(call, None), moment(timestamp)
        return None if begun is None or ended is None else max(0.0, round(ended - begun, 3))

    def _hear_end(self, record: Result) -> list[UsageReported]:
        self._result = record
        self._denials |= {denial.tool_use_id: denial for denial in record.permission_denials}
        return self._tally.conclude(record)

    def _hear_request(self, record: ControlRequest) -> Ask | Say:
        wanted = record.request
        told = wanted.get("input")
        if wanted.get("subtype") != "hook_callback" or not isinstance(told, dict):
            # It would wait for an answer forever.
            return Say(_refusal(record.request_id, f"{wanted.get('subtype')} is not understood here"))
        id_ = str(told.get("tool_use_id") or record.request_id)
        self._asked[id_] = record.request_id
        return Ask(id_, Action(str(told.get("tool_name")), _parameters(told.get("tool_input"))))

    def _hear_response(self, response: dict[str, Any]) -> list[Say]:
        """The program is ready: tell it the prompt, once it is sure that it asks where it has to."""
        begun = response.get("request_id")
        if begun not in (BEGIN, BEGIN_ASKING):
            return []
        told = response.get("response")
        if isinstance(told, dict) and isinstance(told.get("claude_code_version"), str):
            self._version = told["claude_code_version"]
        if response.get("subtype") != "success" or not isinstance(told, dict):
            self._cannot_go_on = f"claude could not begin: {response.get('error') or 'it did not say why'}"
        elif begun == BEGIN_ASKING and not _asks_before_every_tool(told):
            self._cannot_go_on = (
                "this version of claude does not promise to ask before it uses a tool, and was given nothing to do; "
                "update it (`claude update`)"
            )
        return [] if self._cannot_go_on else [Say(_prompt(self._request.prompt))]


def _asks_before_every_tool(told: dict[str, Any]) -> bool:
    """Whether the callback is there, and blocks what it does not answer."""
    return told.get("hook_on_failure_supported") is True and told.get("hooks_applied") is not False


def _without_result(finished: Finished) -> Outcome:
    """Why a run without its last word ended, by what it said on its way out."""
    words = finished.stderr.tail(TAIL_BYTES).strip() or plain_words(finished.stdout, TAIL_BYTES)
    kind = kind_of_text(words) or (Kind.OTHER if words else Kind.PROTOCOL)
    return Outcome(ok=False, failure_kind=kind, error=words)


def _kind(tool: str) -> ToolKind:
    return TOOL_KINDS.get(tool, ToolKind.OTHER)


def _parameters(told: Any) -> dict[str, Any]:
    return told if isinstance(told, dict) else {}


def _headline(denial: Denial) -> str:
    """A call in a line: `Bash(rm -rf build)`."""
    given = _parameters(denial.tool_input)
    what = next((str(given[name]) for name in _TELLING if name in given), "")
    shown = " ".join(what.split())[:QUOTED_CHARACTERS]
    return f"{denial.tool_name}({shown})" if shown else denial.tool_name


def _prompt(text: str) -> bytes:
    message = {"role": "user", "content": _clean(text)}
    # As it is written: no `/command` is run, and no `@file` replaced.
    return _line({"type": "user", "message": message, "parent_tool_use_id": None, "client_composed": True})


def _control(id_: str, request: dict[str, Any]) -> bytes:
    return _line({"type": "control_request", "request_id": id_, "request": request})


def _response(id_: str, told: dict[str, Any]) -> bytes:
    response = {"subtype": "success", "request_id": id_, "response": told}
    return _line({"type": "control_response", "response": response})


def _refusal(id_: str, why: str) -> bytes:
    return _line({"type": "control_response", "response": {"subtype": "error", "request_id": id_, "error": why}})


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _clean(text: str) -> str:
    """Text that can be encoded: what came from undecodable bytes is replaced."""
    return text.encode(errors="replace").decode()
