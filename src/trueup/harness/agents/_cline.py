"""Cline: what happens as one JSON object a line, and a result at the end that says how it went and what it used.

A session cannot be gone on with unless somebody sits at a terminal. Unless it is told to keep to itself it leaves a
daemon behind, which all its sessions on the machine share. A prompt on stdin is read only if one stands among its
words too, and is put behind it.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation
from .._vendors import Vendor
from ._base import OPENAI_KEY, Listening, PromptedAgent, as_stdin, as_word, tool_kind
from ._capabilities import Capabilities, SystemPrompt
from ._failures import Failure, failure
from ._folder import Layout, Place, Word, in_folder
from ._providers import provider_of

PROVIDER = "openai-compatible"
DATA = "data"
LEAD = "Do what follows."
# In its own process: no daemon is started, and none that is there is asked.
QUIET = {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1", "CLINE_TELEMETRY_DISABLED": "1"}


class _Happening(Struct):
    type: str = ""
    contentType: str = ""  # noqa: N815 - its spelling
    text: str = ""
    toolName: str = ""  # noqa: N815 - its spelling
    toolCallId: str = ""  # noqa: N815 - its spelling
    input: Any = None
    output: Any = None
    durationMs: float | None = None  # noqa: N815 - its spelling
    error: Any = None
    errorClass: str = ""  # noqa: N815 - its spelling
    inputTokens: int | None = None  # noqa: N815 - its spelling
    outputTokens: int | None = None  # noqa: N815 - its spelling
    cacheReadTokens: int | None = None  # noqa: N815 - its spelling
    cacheWriteTokens: int | None = None  # noqa: N815 - its spelling


class _AgentEvent(Struct, tag_field="type", tag="agent_event"):
    event: _Happening


class _Error(Struct, tag_field="type", tag="error"):
    message: str = ""


class _Tokens(Struct):
    inputTokens: int | None = None  # noqa: N815 - its spelling
    outputTokens: int | None = None  # noqa: N815 - its spelling
    cacheReadTokens: int | None = None  # noqa: N815 - its spelling
    cacheWriteTokens: int | None = None  # noqa: N815 - its spelling
    totalCost: float | None = None  # noqa: N815 - its spelling


class _Result(Struct, tag_field="type", tag="run_result"):
    finishReason: str = ""  # noqa: N815 - its spelling
    text: str = ""
    usage: _Tokens | None = None


class ClineListening(Listening):
    """A `Conversation` with Cline."""

    decoder = msgspec.json.Decoder(_AgentEvent | _Error | _Result)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._trouble: Failure | None = None

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _AgentEvent(event=event):
                return self._hear(event)
            case _Error(message=message):
                self.failure = failure(message)
            case _Result():
                return self._end(record)
        return []

    def _hear(self, event: _Happening) -> list[Event]:
        match event:
            case _Happening(type="error", error=error):
                # It gets over some: only its result says whether this one was the end.
                self._trouble = failure(_message(error), code=event.errorClass)
            case _Happening(type="usage"):
                used = _usage(event)
                self.calls.append(used)
                return [UsageReported(used)]
            case _Happening(type="content_start", contentType="tool"):
                given = event.input if isinstance(event.input, dict) else {}
                return [ToolCall(event.toolName, event.toolCallId, tool_kind(event.toolName), given)]
            case _Happening(type="content_end"):
                return self._content(event)
        return []

    def _content(self, event: _Happening) -> list[Event]:
        if event.contentType == "tool":
            secs = None if event.durationMs is None else event.durationMs / 1000
            return [ToolResult(event.toolCallId, _is_ok(event.output), _said(event.output), secs)]
        if not event.text:
            return []
        if event.contentType == "reasoning":
            return [Reasoning(event.text)]
        self.text = event.text
        return [Message(event.text)]

    def _end(self, record: _Result) -> list[Event]:
        self.succeeded = record.finishReason == "completed"
        if self.succeeded:
            self.text = record.text or self.text
        else:
            # What it gives as its answer is the error then.
            said = record.text or f"it ended with {record.finishReason!r}"
            self.failure = self._trouble or failure(said)
        if record.usage is not None:
            cost = record.usage.totalCost or None
            self.total = msgspec.structs.replace(_usage(record.usage), cost_usd=cost, incomplete=not self.succeeded)
        return []


def _message(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) else ""


def _usage(told: _Tokens | _Happening) -> Usage:
    return Usage(
        input_tokens=told.inputTokens,
        output_tokens=told.outputTokens,
        cache_read_tokens=told.cacheReadTokens,
        # What was not written it leaves out.
        cache_write_tokens=told.cacheWriteTokens or 0,
    )


def _parts(output: Any) -> list[Any]:
    return output if isinstance(output, list) else [output]


def _is_ok(output: Any) -> bool | None:
    told = [part.get("success", "error" not in part) for part in _parts(output) if isinstance(part, dict)]
    return all(each is True for each in told) if told else None


def _said(output: Any) -> str:
    texts = [part.get("result") or part.get("error") for part in _parts(output) if isinstance(part, dict)]
    return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in texts if text)


class Cline(PromptedAgent):
    """The `Dialect` of Cline."""

    name = "cline"
    program = "cline"
    install = "install it with `npm install -g cline`"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY,)
    login_files = (".cline/data/settings/providers.json",)
    capabilities = Capabilities(
        system_prompt=SystemPrompt.REPLACES,
        usage=True,
        cost=True,
        tool_events=True,
        budget_while_running=True,
        tested="3.0.65",
        notes=(
            "goes on with a session only at a terminal",
            "speaks ACP only to those who are logged in at its vendor",
            "takes no notice of SIGTERM while it works, and is killed",
        ),
    )

    def put(self, request: HarnessRequest) -> Invocation:
        files = self._provider(request)
        words: list[Word] = [self._program, "--json", "--auto-approve=true"]
        words += [f"--provider={PROVIDER}", "--data-dir", Place(DATA)] if files else []
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--system={as_word(request.system, 'system prompt')}"] if request.system else []
        return in_folder([*words, LEAD], Layout(files=files), env=QUIET, stdin=as_stdin(request.prompt))

    def converse(self, request: HarnessRequest) -> ClineListening:
        return ClineListening(request)

    def _provider(self, request: HarnessRequest) -> dict[str, str]:
        """The file by which it calls a vendor; without it, it is as the person has logged it in."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return {}
        settings = {
            "provider": PROVIDER,
            "apiKey": provider.key or "none",
            "model": provider.model,
            "baseUrl": provider.base_url,
        }
        known = {"settings": settings, "tokenSource": "manual", "updatedAt": "1970-01-01T00:00:00.000Z"}
        told = {"version": 1, "lastUsedProvider": PROVIDER, "modes": {}, "providers": {PROVIDER: known}}
        return {f"{DATA}/settings/providers.json": json.dumps(told)}
