"""`codex app-server`: a conversation in JSON-RPC, in which codex asks before it acts and counts call by call.

After a resume, the total that codex tells of a thread is sometimes of the thread and sometimes of the turn; what is
counted here is therefore each call's own usage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Decision, Event
from trueup.core.usage import Usage

from ._codex_asks import Questions, label, rpc_line, rpc_request
from ._codex_exec import broken_sandbox, silent_end
from ._codex_failures import Failure, failure
from ._codex_items import Items, Retries, in_snake_case
from ._events import SessionNamed, ToolResult, UsageReported
from ._json_lines import decoded_line
from ._protocol import Ask, HarnessRequest, Mode, Outcome, Say

SANDBOXES: Mapping[Mode, str] = {
    Mode.READ_ONLY: "read-only",
    Mode.EDIT: "workspace-write",
    Mode.FULL: "danger-full-access",
}
# Under `untrusted` codex asks for every command and every change of a file that no rule of the user's allows. A
# command that was allowed may then be run outside of codex's own sandbox: what only looks stays inside instead.
POLICIES: Mapping[Mode, str] = {Mode.READ_ONLY: "on-request", Mode.EDIT: "untrusted", Mode.FULL: "untrusted"}
ACTS = frozenset({"command_execution", "file_change"})
VANISHED = "the model called tools, and codex carried out none of them; it does not tell which, or why"


class _RpcError(Struct):
    message: str = ""
    data: Any = None


class _Line(Struct):
    id: int | str | None = None
    method: str | None = None
    params: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: _RpcError | None = None


_LINE = msgspec.json.Decoder(_Line)


class _Breakdown(Struct, rename="camel"):
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None


class _Thread(Struct):
    id: str


class _ThreadBegun(Struct, rename="camel"):
    thread: _Thread
    approval_policy: Any = None
    approvals_reviewer: Any = None
    cwd: str = ""


class _TurnError(Struct, rename="camel"):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class _Turn(Struct):
    id: str
    status: str = ""
    error: _TurnError | None = None


class AppServerConversation:
    """Speaks with `codex app-server` through one turn: begins it, puts what codex asks, and reads its end."""

    def __init__(
        self, request: HarnessRequest, *, asks: bool, provider: str | None = None, user_config: bool = False
    ) -> None:
        self._request = request
        self._policy = POLICIES[request.mode] if asks else "never"
        self._asks = asks
        self._provider = provider
        self._user_config = user_config
        self._items = Items()
        self._retries = Retries()
        self._thread = ""
        self._turn = ""
        self._status = ""
        self._calls: list[Usage] = []
        self._total: Any = None
        self._questions = Questions(request.mode)
        self._failure: Failure | None = None
        self._over = False
        self._version: str | None = None

    @property
    def opening(self) -> bytes:
        """What is said first, before anything was answered."""
        client = {"name": "trueup", "title": "trueup", "version": "1"}
        return b"".join(
            [
                rpc_request("initialize", {"clientInfo": client}),
                rpc_line({"method": "initialized"}),
                rpc_request("config/read", {"cwd": ".", "includeLayers": False}),
            ]
        )

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        told = decoded_line(line, _LINE)
        if told is None:
            return []
        try:
            if told.method is None:
                return self._take_answer(told)
            if told.id is not None:
                return self._questions.take(told.id, told.method, told.params)
            return self._take_news(told.method, told.params)
        except msgspec.MsgspecError:
            return []

    def _take_answer(self, told: _Line) -> Sequence[Event | Ask | Say]:
        if told.error is not None:
            if told.id != "turn/interrupt":
                self._end(failure(told.error.message))
            return []
        match told.id:
            case "initialize":
                self._version = _version((told.result or {}).get("userAgent"))
            case "config/read":
                return [Say(self._thread_request(told.result or {}))]
            case "thread/start" | "thread/resume":
                return self._begin_turn(msgspec.convert(told.result, _ThreadBegun))
            case "turn/start":
                self._turn = msgspec.convert((told.result or {}).get("turn"), _Turn).id
        return []

    def _thread_request(self, told: Mapping[str, Any]) -> bytes:
        request = self._request
        wanted = {
            "model": request.model,
            "modelProvider": self._provider,
            "developerInstructions": request.system and _clean(request.system),
            "sandbox": SANDBOXES[request.mode],
            "approvalPolicy": self._policy,
            "approvalsReviewer": "user",
            "config": None if self._user_config else _without_servers(told.get("config")),
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        if request.resume is None:
            return rpc_request("thread/start", given)
        return rpc_request("thread/resume", {"threadId": request.resume, "excludeTurns": True, **given})

    def _begin_turn(self, begun: _ThreadBegun) -> list[Event | Ask | Say]:
        if (begun.approval_policy, begun.approvals_reviewer) != (self._policy, "user"):
            what = f"codex does not ask as it was told to (it says {begun.approval_policy!r}); it was not begun"
            self._end(Failure(what, Kind.PROTOCOL))
            return []
        self._thread = begun.thread.id
        self._questions.folder = begun.cwd
        prompt = [{"type": "text", "text": _clean(self._request.prompt)}]
        begin = rpc_request("turn/start", {"threadId": self._thread, "input": prompt})
        return [SessionNamed(self._thread), Say(self._reminder() + begin)]

    def _reminder(self) -> bytes:
        """A thread keeps the instructions that it began with: others, or new ones, are said into it."""
        if self._request.resume is None or not self._request.system:
            return b""
        said = {"type": "input_text", "text": _clean(self._request.system)}
        item = {"type": "message", "role": "developer", "content": [said]}
        return rpc_request("thread/inject_items", {"threadId": self._thread, "items": [item]})

    def _take_news(self, method: str, params: dict[str, Any]) -> Sequence[Event | Ask | Say]:
        if not self._thread or params.get("threadId") != self._thread:
            return []
        heard: Mapping[str, Callable[[], Sequence[Event | Ask | Say]]] = {
            "item/started": lambda: self._items.started(self._item(params)),
            "item/completed": lambda: self._complete(self._item(params)),
            "item/commandExecution/terminalInteraction": lambda: self._type(params.get("stdin")),
            "thread/tokenUsage/updated": lambda: self._count(params.get("turnId"), params.get("tokenUsage")),
            "error": lambda: self._note(params),
            "turn/completed": lambda: self._finish(msgspec.convert(params.get("turn"), _Turn)),
        }
        return heard[method]() if method in heard else []

    def _item(self, params: Mapping[str, Any]) -> dict[str, Any]:
        item = in_snake_case(msgspec.convert(params.get("item"), dict[str, Any]))
        self._questions.remember(item)
        return item

    def _complete(self, item: dict[str, Any]) -> list[Event | Ask | Say]:
        events = self._items.completed(item)
        if not self._ran_unasked(item):
            return [*events]
        why = "by a rule in CODEX_HOME/rules: take the rule away, or give codex a CODEX_HOME without rules"
        return [*events, *self._give_up(f"codex ran {label(item)!r} without asking, {why}")]

    def _type(self, keys: Any) -> list[Event | Ask | Say]:
        """Keys for a command that runs already: nobody is asked for those, so that there must be none."""
        if not keys or self._policy != "untrusted":
            return []
        return self._give_up(f"codex typed {keys!r} into a running command without asking")

    def _give_up(self, what: str) -> list[Event | Ask | Say]:
        """An agent that does not ask is stopped, and its turn is no success whatever it says."""
        self._failure = self._failure or Failure(what, Kind.PROTOCOL)
        return [Say(self.cancel())]

    def _ran_unasked(self, item: Mapping[str, Any]) -> bool:
        has_run = item.get("status") == "completed" or item.get("exit_code") is not None
        was_due = self._policy == "untrusted" and item["type"] in ACTS
        return was_due and has_run and not self._questions.has_asked(item)

    def _count(self, turn: Any, told: Any) -> list[Event]:
        """Each call's own usage. The same total twice is the same call told twice."""
        if not isinstance(told, dict) or turn != self._turn or told.get("total") == self._total:
            return []
        self._total = told.get("total")
        last = msgspec.convert(told.get("last"), _Breakdown)
        usage = Usage(
            input_tokens=last.input_tokens,
            output_tokens=last.output_tokens,
            cache_read_tokens=last.cached_input_tokens,
            cache_write_tokens=last.cache_write_input_tokens,
        )
        self._calls.append(usage)
        return [UsageReported(usage)]

    def _note(self, params: Mapping[str, Any]) -> list[Event]:
        error = msgspec.convert(params.get("error"), _TurnError)
        if not params.get("willRetry"):
            # The turn's own end comes next, with the same words.
            return []
        said = f"{error.message} ({error.additional_details})" if error.additional_details else error.message
        retried = self._retries.take(said)
        if self._retries.are_endless:
            self._end(failure(said, error.codex_error_info))
        return [retried]

    def _finish(self, turn: _Turn) -> list[Event]:
        if turn.id != self._turn:
            return []
        self._status, self._over = turn.status, True
        if turn.status == "completed":
            return [ToolResult(ok=False, output=VANISHED)] if self._tools_vanished else []
        error = turn.error or _TurnError()
        said = error.message or f"codex ended the turn as {turn.status!r}"
        self._failure = self._failure or failure(said, error.codex_error_info)
        return []

    @property
    def _tools_vanished(self) -> bool:
        return len(self._calls) > 1 and not self._items.tools

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        return self._questions.answer(ask, decision)

    def cancel(self) -> bytes:
        if not self._turn:
            return b""
        return rpc_request("turn/interrupt", {"threadId": self._thread, "turnId": self._turn})

    def _end(self, why: Failure) -> None:
        self._failure, self._over = self._failure or why, True

    @property
    def is_over(self) -> bool:
        return self._over

    def outcome(self, finished: Finished) -> Outcome:
        problem = self._problem(finished)
        return Outcome(
            ok=problem is None,
            text=self._items.text,
            session_id=self._thread or None,
            usage=self._usage(),
            failure_kind=problem.kind if problem else None,
            error=problem.message if problem else "",
            denied=self._questions.denied,
            version=self._version,
        )

    def _usage(self) -> Usage:
        used = Usage.total(self._calls) if self._calls else Usage()
        # Dollars are never told, and a call that was cut off is not counted.
        return msgspec.structs.replace(used, incomplete=self._status != "completed" or not self._calls)

    def _problem(self, finished: Finished) -> Failure | None:
        if self._failure is not None:
            return self._failure
        if self._status != "completed":
            return silent_end(finished, "")
        is_idle = self._request.mode is not Mode.FULL and not self._items.has_done_something
        return broken_sandbox(finished) if is_idle else None


def _without_servers(config: Any) -> dict[str, Any]:
    """Settings of a thread by which none of the user's MCP servers is started; they can be put off by name only."""
    servers = config.get("mcp_servers") if isinstance(config, dict) else None
    return {"mcp_servers": {name: {"enabled": False} for name in servers}} if isinstance(servers, dict) else {}


def _version(user_agent: Any) -> str | None:
    """The version in codex's name for itself, which is ours and its version: `trueup/0.163.0 (…)`."""
    found = re.match(r"[^/\s]+/(\d\S*)", user_agent) if isinstance(user_agent, str) else None
    return found and found[1]


def _clean(text: str) -> str:
    """A text that can be encoded, whatever it was read from."""
    return text.encode(errors="replace").decode()
