"""mini-swe-agent: text for people, and a file that holds the whole of a run when it has ended.

Of the file the exit status decides: the program exits with 0 also where the model did not know how to end. What the
model was asked for in a wrong form is among the user's messages, with what that call used. It makes the work known at
the end alone. What it is told goes by a file, which is a part of its configuration; there a system prompt is a
template, and stands in the place of its own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, ToolCall, ToolKind, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Probe
from .._vendors import Vendor
from ._base import PromptedAgent
from ._capabilities import Capabilities, SystemPrompt
from ._failures import Failure
from ._folder import FileListening, Layout, Place, Word, in_folder
from ._litellm import QUIET, VENDORS, failure_of, model_of
from ._providers import provider_of

CONFIG = "config.yaml"
TRAJECTORY = "trajectory.json"
SUBMITTED = "Submitted"
TRIES = "3"
_LIMITS = ("LimitsExceeded", "TimeExceeded")
# What JSON may hold as it is, and YAML may not.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")


class _Function(Struct):
    name: str = ""
    arguments: str = ""


class _Call(Struct):
    function: _Function
    id: str = ""


class _Cached(Struct):
    cached_tokens: int | None = None


class _Tokens(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Response(Struct):
    usage: _Tokens | None = None


class _Extra(Struct):
    response: _Response | None = None
    cost: float | None = None
    returncode: int | None = None
    raw_output: str | None = None


class _Message(Struct):
    role: str = ""
    content: Any = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    extra: _Extra = msgspec.field(default_factory=_Extra)


class _Info(Struct):
    exit_status: str = ""
    submission: str | None = None
    mini_version: str | None = None


class _Trajectory(Struct):
    info: _Info
    messages: list[_Message] = []


_TRAJECTORY = msgspec.json.Decoder(_Trajectory)
_ARGUMENTS = msgspec.json.Decoder(dict[str, Any])


class MiniListening(FileListening):
    """A `Conversation` with mini-swe-agent, which says nothing that counts before its file."""

    decoder = msgspec.json.Decoder(_Info)

    def hear(self, record: Any) -> list[Event]:
        # Its lines are for people: JSON among them is what a command printed.
        return []

    def hear_file(self, content: str) -> list[Event]:
        try:
            told = _TRAJECTORY.decode(content.encode(errors="replace"))
        except (msgspec.MsgspecError, RecursionError):
            return []
        self.version = told.info.mini_version
        events = [event for message in told.messages for event in self._hear(message)]
        self.succeeded = told.info.exit_status == SUBMITTED
        if self.succeeded:
            self.text = (told.info.submission or "").strip() or self.text
        else:
            self.failure = _failure(told)
        return events

    def _hear(self, message: _Message) -> list[Event]:
        events: list[Event] = []
        said = message.content if isinstance(message.content, str) else ""
        if message.role == "assistant":
            if said:
                self.text = said
                events.append(Message(said))
            events += [_call(each) for each in message.tool_calls or ()]
        elif message.role == "tool":
            ok = None if message.extra.returncode is None else message.extra.returncode == 0
            events.append(
                ToolResult(
                    message.tool_call_id, ok, said if message.extra.raw_output is None else message.extra.raw_output
                )
            )
        return [*events, *self._count(message.extra)]

    def _count(self, extra: _Extra) -> list[Event]:
        used = extra.response.usage if extra.response else None
        if used is None:
            return []
        call = Usage(
            input_tokens=used.prompt_tokens,
            output_tokens=used.completion_tokens,
            cache_read_tokens=used.prompt_tokens_details.cached_tokens if used.prompt_tokens_details else None,
            # Of a model whose price it does not know it says 0.
            cost_usd=extra.cost or None,
        )
        self.calls.append(call)
        return [UsageReported(call)]


def _call(call: _Call) -> ToolCall:
    try:
        given = _ARGUMENTS.decode(call.function.arguments.encode(errors="replace"))
    except (msgspec.MsgspecError, RecursionError):
        given = {}
    return ToolCall(call.function.name, call.id, ToolKind.SHELL, given)


def _failure(told: _Trajectory) -> Failure:
    status = told.info.exit_status
    last = told.messages[-1].content if told.messages else ""
    said = last if isinstance(last, str) else ""
    if status in _LIMITS:
        return Failure(f"it stopped at its limit ({status}): it is not done; allow it more", Kind.OTHER)
    if not said.startswith("litellm."):
        return Failure(
            f"it ended with {status or 'no status'}, and not with its work done: {said}".strip(": "), Kind.OTHER
        )
    return failure_of(status, said)


class MiniSweAgent(PromptedAgent):
    """The `Dialect` of mini-swe-agent."""

    name = "mini-swe-agent"
    program = "mini"
    install = "install it with `pipx install mini-swe-agent`"
    vendors: ClassVar[tuple[Vendor, ...]] = VENDORS
    login_files = (".config/mini-swe-agent/.env",)
    capabilities = Capabilities(
        system_prompt=SystemPrompt.REPLACES,
        usage=True,
        cost=True,
        tool_events=True,
        budget_while_running=True,
        turns=True,
        budget_usd=True,
        tested="2.4.6",
        notes=("makes its work known at the end only",),
    )

    async def probe(self, environ: Mapping[str, str]) -> Probe:
        path = await asyncio.to_thread(self.program_in, environ)
        if path is None:
            return await super().probe(environ)
        logged_in, note = await asyncio.to_thread(self.login, environ)
        return Probe(harness=self.name, installed=True, path=path, logged_in=logged_in, note=note)

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        # It cannot be asked, and tells it in the file of every run.
        return None

    def put(self, request: HarnessRequest) -> Invocation:
        words: list[Word] = [
            *(self._program, "--yolo", "--exit-immediately", "--config", "mini.yaml", "--config"),
            *(Place(CONFIG), "--output", Place(TRAJECTORY)),
        ]
        env = {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": TRIES}
        layout = Layout(tells=TRAJECTORY, stdin=CONFIG)
        told = _yaml({"run": {"task": request.prompt}, "agent": _agent(request), "model": self._model(request)})
        return in_folder(words, layout, env={**QUIET, **env}, stdin=told)

    def converse(self, request: HarnessRequest) -> MiniListening:
        return MiniListening(request)

    def _model(self, request: HarnessRequest) -> dict[str, Any]:
        # It gives up on a model whose price it does not know, unless it is told not to.
        told: dict[str, Any] = {"cost_tracking": "ignore_errors"}
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return told | ({"model_name": request.model} if request.model else {})
        where = {"model_kwargs": {"api_base": provider.at}} if provider.at else {}
        return {**told, "model_name": model_of(provider), **where}


def _agent(request: HarnessRequest) -> dict[str, Any]:
    told: dict[str, Any] = {"cost_limit": request.budget_usd or 0}
    told |= {"step_limit": request.turns} if request.turns is not None else {}
    return told | ({"system_template": _as_template(request.system)} if request.system else {})


def _as_template(text: str) -> str:
    """A text as a template that says just that text."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'{{{{ "{quoted}" }}}}'


def _yaml(told: Any) -> bytes:
    written = json.dumps(told, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", written).encode(errors="replace")
