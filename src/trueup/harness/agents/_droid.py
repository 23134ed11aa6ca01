"""Factory's droid: one JSON object a line, and a completion at the end that says what it used.

A session that goes on is a copy of it with a new id: the way to go on in the old one ends without a word. A copy works
in the folder in which the session began, wherever it is started. A server that is busy is asked again for ever, and
nothing is said of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._session_files import began_in
from .._vendors import Vendor
from ._base import ANTHROPIC_KEY, OPENAI_KEY, Listening, PromptedAgent, as_stdin, as_word, tool_kind
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import Failure, failure
from ._folder import Layout, Place, Word, in_folder
from ._providers import provider_of

SETTINGS = "settings.json"
# The file of settings is the agent's to read, and names the key by this variable.
KEY = "TRUEUP_DROID_KEY"
MODEL = "trueup"
MOST_OUTPUT_TOKENS = 16_384
_PROVIDERS = {OPENAI_KEY.name: "generic-chat-completion-api", ANTHROPIC_KEY.name: "anthropic"}
_MODES = {Mode.READ_ONLY: (), Mode.EDIT: ("--auto=low",), Mode.FULL: ("--skip-permissions-unsafe",)}
NO_OUTPUT = "no usable output"
UNKNOWN_SESSION = "as it does for a session that it does not know"


class _Init(Struct, tag_field="type", tag="system"):
    session_id: str | None = None


class _Message(Struct, tag_field="type", tag="message"):
    role: str = ""
    text: str = ""


class _Thought(Struct, tag_field="type", tag="reasoning"):
    text: str = ""


class _ToolCall(Struct, tag_field="type", tag="tool_call"):
    toolName: str  # noqa: N815 - its spelling
    id: str = ""
    parameters: dict[str, Any] = {}


class _ToolError(Struct):
    message: str = ""


class _ToolResult(Struct, tag_field="type", tag="tool_result"):
    id: str = ""
    isError: bool = False  # noqa: N815 - its spelling
    value: Any = None
    error: _ToolError | None = None


class _Error(Struct, tag_field="type", tag="error"):
    source: str = ""
    message: str = ""


class _Tokens(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class _Completion(Struct, tag_field="type", tag="completion"):
    finalText: str = ""  # noqa: N815 - its spelling
    session_id: str | None = None
    usage: _Tokens | None = None


class DroidListening(Listening):
    """A `Conversation` with droid."""

    decoder = msgspec.json.Decoder(_Init | _Message | _Thought | _ToolCall | _ToolResult | _Error | _Completion)

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Init(session_id=session_id):
                return self.named(session_id)
            case _Message(role="assistant", text=text) if text:
                self.text = text
                return [Message(text)]
            case _Error():
                self._fail(record.message)
            case _Completion():
                return self._end(record)
        return _work(record)

    def problem(self, finished: Finished) -> Failure | None:
        said_nothing = self._named is None and not finished.stderr.text.strip()
        if self.request.resume is not None and said_nothing and finished.exit_code == 1:
            return Failure(f"it ended without a word: {UNKNOWN_SESSION}", Kind.SESSION_NOT_FOUND)
        return super().problem(finished)

    def _fail(self, message: str) -> None:
        # What comes last says only that it failed.
        if self.failure is None:
            said = failure(message)
            self.failure = Failure(message, Kind.PROTOCOL) if NO_OUTPUT in message else said

    def _end(self, record: _Completion) -> list[Event]:
        self.succeeded = True
        self.text = record.finalText or self.text
        used = record.usage
        if used is None:
            return self.named(record.session_id)
        cached, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
        self.total = Usage(
            input_tokens=used.input_tokens + cached + written,
            output_tokens=used.output_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=written,
        )
        return [*self.named(record.session_id), UsageReported(self.total)]


def _work(record: Any) -> list[Event]:
    match record:
        case _Thought(text=text) if text:
            return [Reasoning(text)]
        case _ToolCall():
            return [ToolCall(record.toolName, record.id, tool_kind(record.toolName), record.parameters)]
        case _ToolResult():
            said = record.error.message if record.error else record.value
            return [ToolResult(record.id, not record.isError, said if isinstance(said, str) else json.dumps(said))]
    return []


class Droid(PromptedAgent):
    """The `Dialect` of droid."""

    name = "droid"
    program = "droid"
    install = "install it with `npm install -g droid`, or see https://docs.factory.ai"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY, ANTHROPIC_KEY)
    login_files = (".factory/auth.json", ".factory/auth.encrypted", ".factory/settings.json")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        tool_events=True,
        acp=("droid", "exec", "--output-format", "acp"),
        budget_while_running=True,
        tested="0.215.0",
        notes=(
            "goes on with a copy of a session, which has a new id",
            "its modes are its own judgement of what a command does",
            "says nothing while it tries again",
        ),
    )

    def login(self, environ: Mapping[str, str]) -> tuple[bool | None, str]:
        return (True, "by FACTORY_API_KEY") if environ.get("FACTORY_API_KEY") else super().login(environ)

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return began_in(Path(environ.get("HOME", "/"), ".factory"), "sessions/*/{}.jsonl", session)

    def put(self, request: HarnessRequest) -> Invocation:
        settings, env = self._provider(request)
        words: list[Word] = [self._program]
        words += ["--settings", Place(SETTINGS)] if settings else []
        words += ["exec", "--output-format=stream-json", *_MODES[request.mode]]
        model = f"custom:{MODEL}-0" if settings else request.model
        words += [f"--model={model}"] if model else []
        words += [f"--fork={request.resume}"] if request.resume else []
        words += [f"--append-system-prompt={as_word(request.system, 'system prompt')}"] if request.system else []
        layout = Layout(files={SETTINGS: settings} if settings else {})
        return in_folder(words, layout, env=env, stdin=as_stdin(request.prompt))

    def converse(self, request: HarnessRequest) -> DroidListening:
        return DroidListening(request)

    def _provider(self, request: HarnessRequest) -> tuple[str, dict[str, str]]:
        """The settings by which it calls a vendor, and the variables for it; nothing for the person's own account."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return "", {}
        model = {
            "model": provider.model,
            "displayName": MODEL,
            "baseUrl": provider.base_url,
            "apiKey": f"${{{KEY}}}",
            "provider": _PROVIDERS[provider.vendor.name],
            "maxOutputTokens": MOST_OUTPUT_TOKENS,
        }
        # It wants an account too, and asks nobody for it when it keeps to itself.
        account = {"FACTORY_API_KEY": request.env.get("FACTORY_API_KEY") or "none", "FACTORY_AIRGAP_ENABLED": "true"}
        return json.dumps({"customModels": [model]}), {KEY: provider.key or "none", **account}
