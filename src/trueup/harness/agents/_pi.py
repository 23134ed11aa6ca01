"""pi: a stream of events in which every message is told whole at its end, with what it used and how it stopped.

With JSON its exit code is 0 whatever happens, so the last message of the agent decides. Another address for the model
can only be told in a file, in a folder in place of the one that the user configured; the key stays in its variable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, Retried, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._session_files import began_in
from .._vendors import Vendor
from ._base import ANTHROPIC_KEY, OPENAI_KEY, Listening, PromptedAgent, Reach, as_stdin, as_word, reach_of, tool_kind
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import Failure, code_in, failure

_TOOLS = {
    Mode.READ_ONLY: "read,grep,find,ls",
    Mode.EDIT: "read,grep,find,ls,edit,write",
    Mode.FULL: "read,grep,find,ls,edit,write,bash",
}
# The folder must last as long as the agent, and is gone with it. Sessions stay where they are without it.
_WITH_A_FOLDER = """set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
printf %s "$1" >"$folder/models.json"
shift
export PI_CODING_AGENT_DIR="$folder" PI_CODING_AGENT_SESSION_DIR="$HOME/.pi/agent/sessions/trueup"
# What is started aside has no stdin unless it is given one.
exec 3<&0
"$@" <&3 3<&- &
exec 3<&-
wait "$!"
"""


class _Cost(Struct):
    total: float = 0


class _Tokens(Struct):
    input: int = 0
    output: int = 0
    cacheRead: int = 0  # noqa: N815 - its spelling
    cacheWrite: int = 0  # noqa: N815 - its spelling
    cost: _Cost = msgspec.field(default_factory=_Cost)


class _Block(Struct):
    """A part of a message, of which each kind has some of these."""

    type: str = ""
    text: str = ""
    thinking: str = ""


class _Body(Struct):
    role: str = ""
    content: list[_Block] | str = []
    usage: _Tokens | None = None
    stopReason: str = ""  # noqa: N815 - its spelling
    errorMessage: str = ""  # noqa: N815 - its spelling


class _Session(Struct, tag_field="type", tag="session"):
    id: str | None = None


class _MessageEnd(Struct, tag_field="type", tag="message_end"):
    message: _Body


class _ToolStart(Struct, tag_field="type", tag="tool_execution_start"):
    toolName: str  # noqa: N815 - its spelling
    toolCallId: str = ""  # noqa: N815 - its spelling
    args: dict[str, Any] = {}


class _Content(Struct):
    content: list[_Block] = []


class _ToolEnd(Struct, tag_field="type", tag="tool_execution_end"):
    toolCallId: str = ""  # noqa: N815 - its spelling
    result: _Content = msgspec.field(default_factory=_Content)
    isError: bool = False  # noqa: N815 - its spelling


class _Retry(Struct, tag_field="type", tag="auto_retry_start"):
    attempt: int = 0
    errorMessage: str = ""  # noqa: N815 - its spelling


class _Settled(Struct, tag_field="type", tag="agent_settled"):
    pass


class PiListening(Listening):
    """A `Conversation` with pi."""

    decoder = msgspec.json.Decoder(_Session | _MessageEnd | _ToolStart | _ToolEnd | _Retry | _Settled)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._last: _Body | None = None

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Session(id=session_id):
                return self.named(session_id)
            case _MessageEnd(message=message) if message.role == "assistant":
                return self._hear_message(message)
            case _ToolStart():
                return [ToolCall(record.toolName, record.toolCallId, tool_kind(record.toolName), record.args)]
            case _ToolEnd():
                output = "\n".join(block.text for block in record.result.content)
                return [ToolResult(record.toolCallId, not record.isError, output)]
            case _Retry(attempt=attempt, errorMessage=message):
                return [Retried(attempt, message)]
            case _Settled():
                self._settle()
        return []

    def _hear_message(self, message: _Body) -> list[Event]:
        self._last = message
        blocks = message.content if isinstance(message.content, list) else []
        told: list[Event] = [Reasoning(block.thinking) for block in blocks if block.thinking]
        texts = [block.text for block in blocks if block.text]
        if texts:
            self.text = "\n".join(texts)
            told.append(Message(self.text))
        used = message.usage
        if used is not None and (used.input or used.output or used.cacheRead):
            self.calls.append(_usage(used))
            told.append(UsageReported(self.calls[-1]))
        return told

    def _settle(self) -> None:
        """It has come to rest: how, its last message says."""
        if self._last is None:
            self.failure = Failure("it came to rest without asking a model", Kind.PROTOCOL)
        elif self._last.stopReason == "stop":
            self.succeeded = True
        elif self._last.stopReason == "length":
            self.failure = Failure("the model's answer was cut off at its longest", Kind.CONTEXT_LENGTH)
        else:
            self.failure = _failure(self._last.errorMessage or f"it stopped by {self._last.stopReason!r}")


class Pi(PromptedAgent):
    """The `Dialect` of pi."""

    name = "pi"
    program = "pi"
    install = "install it with `npm install -g @earendil-works/pi-coding-agent`"
    vendors: ClassVar[tuple[Vendor, ...]] = (ANTHROPIC_KEY, OPENAI_KEY)
    login_files = (".pi/agent/auth.json", ".pi/agent/models.json")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        cost=True,
        tool_events=True,
        acp=("pi-acp",),
        budget_while_running=True,
        skills=".pi/skills",
        tested="0.87.1",
        notes=("its modes are the tools that it is given", "tells dollars only of models whose prices it knows"),
    )

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        home = environ.get("PI_CODING_AGENT_DIR") or Path(environ.get("HOME", "/"), ".pi/agent")
        return began_in(Path(home), "sessions/*/*_{}.jsonl", session)

    def put(self, request: HarnessRequest) -> Invocation:
        reach = reach_of(request.env, self.vendors)
        words = [self._program, "--mode", "json", "--print", "--offline", "--tools", _TOOLS[request.mode]]
        # Extensions, skills and settings are programs, or can name some; AGENTS.md is words.
        words += [] if self._user_config else "--no-extensions --no-skills --no-prompt-templates --no-approve".split()
        words += [word for name in request.skills or () for word in ("--skill", f"{self.capabilities.skills}/{name}")]
        words += ["--provider", reach.vendor.name] if reach and "/" not in (request.model or "") else []
        words += ["--model", request.model] if request.model else []
        words += ["--session", request.resume] if request.resume else []
        words += ["--append-system-prompt", as_word(request.system, "system prompt")] if request.system else []
        return Invocation(
            argv=_at_address(words, reach),
            env={"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"},
            stdin=as_stdin(request.prompt),
        )

    def converse(self, request: HarnessRequest) -> PiListening:
        return PiListening(request)


def _at_address(words: list[str], reach: Reach | None) -> tuple[str, ...]:
    if reach is None or reach.base_url is None:
        return tuple(words)
    models = json.dumps({"providers": {reach.vendor.name: {"baseUrl": reach.base_url}}})
    return ("/bin/sh", "-c", _WITH_A_FOLDER, "sh", models, *words)


def _failure(said: str) -> Failure:
    """An answer of the vendor's is handed on with its status before it, `401: {…}`."""
    status, _, body = said.partition(": ")
    return failure(said, status=int(status) if status.isdigit() else None, code=code_in(f'{{"error":{body}}}'))


def _usage(used: _Tokens) -> Usage:
    return Usage(
        input_tokens=used.input + used.cacheRead + used.cacheWrite,
        output_tokens=used.output,
        cache_read_tokens=used.cacheRead,
        cache_write_tokens=used.cacheWrite,
        # Of a model whose price it does not know it says 0.
        cost_usd=used.cost.total or None,
    )
