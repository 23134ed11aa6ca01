"""Mistral's Vibe: what it does as one JSON object a line, and how it went in a file that it writes in the end.

Its lines say nothing of a failure, and a prompt that was refused looks like one that is still worked on. The file says
it by a code, with tokens and dollars of the run alone. On resume it works in the folder in which the session began.
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

from .._events import Message, ToolCall, ToolKind, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._vendors import Vendor
from ._base import OPENAI_KEY, Directions, PromptedAgent, as_stdin, tool_kind
from ._capabilities import ALL_MODES, Capabilities
from ._failures import Failure, failure
from ._folder import FileListening, Layout, Place, Word, in_folder
from ._providers import Provider, provider_of
from ._session_records import folder_in_records

MISTRAL = Vendor(
    name="mistral",
    key_variables=("MISTRAL_API_KEY",),
    base_url_variables=("MISTRAL_BASE_URL",),
    default_base_url="https://api.mistral.ai/v1",
    login_base_url="https://api.mistral.ai/v1",
    login_hosts=("console.mistral.ai",),
)
EXPORT = "export.json"
PROVIDER = "trueup"
KEY = "TRUEUP_VIBE_KEY"
_MODES = {Mode.READ_ONLY: ("--agent=ask",), Mode.EDIT: ("--agent=accept-edits",), Mode.FULL: ("--auto-approve",)}
_KINDS = {"shell": ToolKind.SHELL, "file_write": ToolKind.WRITE, "file_edit": ToolKind.WRITE}
_DENIED = "tool_denied"
NO_STREAM = "Stream chunk improperly formatted"


class _Part(Struct):
    text: str = ""


class _Message(Struct, tag_field="type", tag="message"):
    sessionId: str | None = None  # noqa: N815 - its spelling
    role: str = ""
    content: list[_Part] = []


class _Detail(Struct):
    toolName: str = ""  # noqa: N815 - its spelling
    kind: str = ""
    input: Any = None


class _Trouble(Struct):
    message: str = ""
    code: str | None = None


class _State(Struct):
    status: str = ""
    outputText: str = ""  # noqa: N815 - its spelling
    error: _Trouble | None = None
    durationMs: float | None = None  # noqa: N815 - its spelling


class _Effect(Struct, tag_field="type", tag="effect"):
    detail: _Detail
    state: _State
    id: str = ""
    sessionId: str | None = None  # noqa: N815 - its spelling


class _Tokens(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


class _Export(Struct):
    outcome: str = ""
    stop_reason: str | None = None
    error: _Trouble | None = None
    session_id: str | None = None
    usage: _Tokens | None = None
    cost_usd: float | None = None
    vibe_version: str | None = None


_EXPORT = msgspec.json.Decoder(_Export)


class VibeListening(FileListening):
    """A `Conversation` with Vibe."""

    decoder = msgspec.json.Decoder(_Message | _Effect)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._begun: set[str] = set()

    def hear(self, record: Any) -> list[Event]:
        named = self.named(record.sessionId)
        if isinstance(record, _Effect):
            return [*named, *self._tool(record)]
        text = "\n".join(part.text for part in record.content if part.text)
        if record.role != "assistant" or not text:
            return named
        self.text = text
        return [*named, Message(text)]

    def _tool(self, record: _Effect) -> list[Event]:
        events: list[Event] = []
        if record.id not in self._begun:
            self._begun.add(record.id)
            bare = record.detail.toolName.rpartition(".")[2]
            kind = _KINDS.get(record.detail.kind) or tool_kind(bare)
            given = record.detail.input if isinstance(record.detail.input, dict) else {}
            events.append(ToolCall(record.detail.toolName, record.id, kind, given))
        state = record.state
        if state.status in ("completed", "failed"):
            if state.error is not None and state.error.code == _DENIED:
                self.denied.append(record.detail.toolName)
            said = state.outputText or (state.error.message if state.error else "")
            secs = None if state.durationMs is None else state.durationMs / 1000
            events.append(ToolResult(record.id, state.status == "completed", said, secs))
        return events

    def hear_file(self, content: str) -> list[Event]:
        try:
            told = _EXPORT.decode(content.encode(errors="replace"))
        except (msgspec.MsgspecError, RecursionError):
            return []
        self.version = told.vibe_version
        self.succeeded = told.outcome == "finished" and told.error is None
        self.failure = None if self.succeeded else _failure(told)
        return [*self.named(told.session_id), *self._count(told)]

    def _count(self, told: _Export) -> list[Event]:
        if told.usage is None or told.usage.input_tokens is None:
            return []
        self.total = Usage(
            input_tokens=told.usage.input_tokens,
            output_tokens=told.usage.output_tokens,
            cache_read_tokens=told.usage.cached_input_tokens,
            # Of a model whose price it does not know it says 0.
            cost_usd=told.cost_usd or None,
            incomplete=not self.succeeded,
        )
        return [UsageReported(self.total)]


def _failure(told: _Export) -> Failure:
    if told.stop_reason == "limit":
        what = f"it stopped at its limit ({told.outcome})"
        return Failure(f"{what}: it is not done; allow it more, or go on with its session", Kind.OTHER)
    if told.error is None:
        return Failure(f"it ended with {told.outcome or 'nothing'}, and not with an answer", Kind.OTHER)
    said = failure(told.error.message or told.outcome, code=told.error.code)
    return Failure(said.message, Kind.PROTOCOL) if NO_STREAM in said.message else said


class Vibe(PromptedAgent):
    """The `Dialect` of Vibe."""

    name = "vibe"
    program = "vibe"
    install = "install it with `pipx install mistral-vibe`"
    vendors: ClassVar[tuple[Vendor, ...]] = (MISTRAL, OPENAI_KEY)
    login_files = (".vibe/.env", ".vibe/config.toml")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        usage=True,
        cost=True,
        tool_events=True,
        acp=("vibe-acp",),
        budget_while_running=True,
        turns=True,
        budget_usd=True,
        tested="3.0.3",
        notes=("tells tokens and dollars at the end only", "says nothing while it tries again"),
    )

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        home = Path(environ.get("VIBE_HOME") or Path(environ.get("HOME", "/"), ".vibe"))
        return folder_in_records(home, "logs/session/*/{}/meta.json", session, "origin_directory")

    def directions(self, request: HarnessRequest) -> Directions:
        return Directions(env=self._provider(request))

    def put(self, request: HarnessRequest) -> Invocation:
        words: list[Word] = [self._program, "--prompt", "--output=streaming", "--trust", *_MODES[request.mode]]
        words += [f"--resume={request.resume}"] if request.resume else []
        words += [f"--max-turns={request.turns}"] if request.turns is not None else []
        words += [f"--max-price={request.budget_usd}"] if request.budget_usd is not None else []
        words += ["--output-dir", Place("told")]
        layout = Layout(tells=f"told/{EXPORT}")
        put = in_folder(words, layout, env=self._provider(request), stdin=as_stdin(request.prompt))
        # Its file tells it, however the run ended.
        return msgspec.structs.replace(put, tells_version=True)

    def converse(self, request: HarnessRequest) -> VibeListening:
        return VibeListening(request)

    def _provider(self, request: HarnessRequest) -> dict[str, str]:
        """The variables by which it calls a vendor; without them it is as the person has configured it."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None or (provider.vendor is MISTRAL and provider.at is None):
            return {"VIBE_ACTIVE_MODEL": request.model} if request.model else {}
        return {
            "VIBE_PROVIDERS": json.dumps([_described(provider)]),
            "VIBE_MODELS": json.dumps([{"name": provider.model, "provider": PROVIDER, "alias": PROVIDER}]),
            "VIBE_ACTIVE_MODEL": PROVIDER,
            KEY: provider.key or "none",
        }


def _described(provider: Provider) -> dict[str, str]:
    return {
        "name": PROVIDER,
        "api_base": provider.base_url,
        "api_key_env_var": KEY,
        "backend": "generic",
    }
