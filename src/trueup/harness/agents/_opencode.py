"""opencode: one JSON object a line, steps that each tell what they used, and no record of the end but the last step's.

Its configuration is one variable. The key is not in it: opencode looks it up in the variable that the vendor's
libraries know. A server that does not answer in JSON is asked for ever, without an error, so steps in which nothing
happens are counted. On resume it works in the folder in which the session began, wherever it is started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError, Kind
from trueup.core.process import Finished
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation, Mode
from .._vendors import Vendor
from ._base import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    Directions,
    Listening,
    PromptedAgent,
    as_stdin,
    as_word,
    reach_of,
    tool_kind,
)
from ._capabilities import ALL_MODES, Capabilities, SystemPrompt
from ._failures import Failure, code_in, failure
from ._opencode_start import STARTER, given_up
from ._sessions import folder_in_database

# So many steps without a word, a tool or a token: it would go on like this for ever.
MOST_EMPTY_STEPS = 3
DATABASE = "opencode/opencode.db"

QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
_LOOKING: dict[str, str] = dict.fromkeys("read glob grep list lsp todoread todowrite skill".split(), "allow")
# The last rule that fits counts. What would be asked for is denied: nobody is there to answer.
_PERMISSIONS: Mapping[Mode, Mapping[str, str]] = {
    Mode.READ_ONLY: {"*": "deny", **_LOOKING},
    Mode.EDIT: {"*": "deny", **_LOOKING, "edit": "allow"},
    Mode.FULL: {"*": "allow"},
}


class _Cache(Struct):
    read: int = 0
    write: int = 0


class _Tokens(Struct):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _Time(Struct):
    start: float = 0
    end: float | None = None


class _Metadata(Struct):
    exit: int | None = None


class _State(Struct):
    status: str = ""
    input: dict[str, Any] = {}
    output: str = ""
    error: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    time: _Time = msgspec.field(default_factory=_Time)


class _TextPart(Struct):
    text: str = ""


class _ToolPart(Struct):
    tool: str
    callID: str = ""  # noqa: N815 - its spelling
    state: _State = msgspec.field(default_factory=_State)


class _StepPart(Struct):
    reason: str = ""
    tokens: _Tokens | None = None
    cost: float | None = None


class _ErrorData(Struct):
    message: str = ""
    statusCode: int | None = None  # noqa: N815 - its spelling
    responseBody: str = ""  # noqa: N815 - its spelling


class _ErrorPart(Struct):
    name: str = ""
    data: _ErrorData = msgspec.field(default_factory=_ErrorData)


class _Record(Struct, tag_field="type"):
    sessionID: str | None = None  # noqa: N815 - its spelling


class _StepStart(_Record, tag="step_start"):
    pass


class _Text(_Record, tag="text", kw_only=True):
    part: _TextPart


class _Reasoning(_Record, tag="reasoning", kw_only=True):
    part: _TextPart


class _ToolUse(_Record, tag="tool_use", kw_only=True):
    part: _ToolPart


class _StepFinish(_Record, tag="step_finish", kw_only=True):
    part: _StepPart


class _Error(_Record, tag="error", kw_only=True):
    error: _ErrorPart


class OpenCodeListening(Listening):
    """A `Conversation` with opencode."""

    decoder = msgspec.json.Decoder(_StepStart | _Text | _Reasoning | _ToolUse | _StepFinish | _Error)

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._empty_steps = 0
        self._is_empty = True

    @property
    def is_over(self) -> bool:
        return self._empty_steps >= MOST_EMPTY_STEPS

    def problem(self, finished: Finished) -> Failure | None:
        why = given_up(finished)
        return failure(why) if why else super().problem(finished)

    def hear(self, record: Any) -> list[Event]:
        return [*self.named(record.sessionID), *self._hear(record)]

    def _hear(self, record: Any) -> list[Event]:
        match record:
            case _StepStart():
                self.succeeded, self._is_empty = False, True
            case _Text(part=_TextPart(text=text)):
                self.text, self._is_empty = text, False
                return [Message(text)]
            case _Reasoning(part=_TextPart(text=text)):
                self._is_empty = False
                return [Reasoning(text)]
            case _ToolUse(part=part):
                self._is_empty = False
                return _tool(part)
            case _StepFinish(part=part):
                return self._end_step(part)
            case _Error(error=error):
                said, code = error.data.message or error.name, code_in(error.data.responseBody) or error.name
                self.failure = failure(said, status=error.data.statusCode, code=code)
        return []

    def _end_step(self, part: _StepPart) -> list[Event]:
        used = _usage(part)
        self.succeeded = part.reason == "stop"
        if part.reason in _ENDINGS:
            self.failure = _ENDINGS[part.reason]
        has_used = used is not None and bool(used.input_tokens or used.output_tokens)
        self._empty_steps = 0 if has_used or not self._is_empty or self.succeeded else self._empty_steps + 1
        if self.is_over:
            self.failure = Failure("the model answers with nothing that can be read, again and again", Kind.PROTOCOL)
        if used is None or not has_used:
            return []
        self.calls.append(used)
        return [UsageReported(used)]


_ENDINGS = {
    "length": Failure("the model's answer was cut off at its longest", Kind.CONTEXT_LENGTH),
    "content-filter": Failure("the model's answer was withheld by its vendor's filter", Kind.REFUSED),
}


class OpenCode(PromptedAgent):
    """The `Dialect` of opencode."""

    name = "opencode"
    program = "opencode"
    install = "install it with `npm install -g opencode-ai`"
    vendors: ClassVar[tuple[Vendor, ...]] = (ANTHROPIC_KEY, OPENAI_KEY)
    login_files = (".local/share/opencode/auth.json", ".config/opencode/opencode.json")
    capabilities = Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.REPLACES,
        usage=True,
        cost=True,
        tool_events=True,
        acp=("opencode", "acp"),
        budget_while_running=True,
        skills=".agents/skills",
        user_skills=True,
        tested="1.18.33",
        notes=(
            "tells dollars only of models whose prices it knows",
            "says nothing while it tries again, for many minutes where the vendor is busy",
            "your own settings for it are in force in `trueup harness run`",
        ),
    )

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return folder_in_database(environ, DATABASE, "SELECT directory FROM session WHERE id = ?", session)

    def directions(self, request: HarnessRequest) -> Directions:
        vendor = self._vendor(request, self._model(request))
        # What the person has set there stays, where nothing has to be said.
        told = {"OPENCODE_CONFIG_CONTENT": json.dumps(vendor)} if vendor else {}
        return Directions(before=STARTER, env={**QUIET, **told})

    def put(self, request: HarnessRequest) -> Invocation:
        model = self._model(request)
        words = [self._program, "run", "--format=json"]
        words += ["--auto"] if request.mode is Mode.FULL else []
        words += [f"--model={model}"] if model else []
        words += [f"--session={request.resume}"] if request.resume else []
        return Invocation(
            argv=(*STARTER, *words),
            env={**self._quiet, "OPENCODE_CONFIG_CONTENT": self._configuration(request, model)},
            stdin=as_stdin(request.prompt),
        )

    def converse(self, request: HarnessRequest) -> OpenCodeListening:
        return OpenCodeListening(request)

    @property
    def _quiet(self) -> dict[str, str]:
        # Files of the project can name servers, plugins and commands that run by themselves.
        own = {} if self._user_config else {"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_PURE": "1"}
        return {**QUIET, **own}

    def _model(self, request: HarnessRequest) -> str | None:
        reach = reach_of(request.env, self.vendors)
        if request.model is None or "/" in request.model or reach is None:
            return request.model
        return f"{reach.vendor.name}/{request.model}"

    def _configuration(self, request: HarnessRequest, model: str | None) -> str:
        told: dict[str, Any] = {
            "autoupdate": False,
            "share": "disabled",
            "permission": {**_PERMISSIONS[request.mode], **_of_skills(request)},
        }
        if request.system:
            told["agent"] = {"build": {"prompt": request.system}}
        return as_word(json.dumps({**told, **self._vendor(request, model)}), "system prompt")

    def _vendor(self, request: HarnessRequest, model: str | None) -> dict[str, Any]:
        """The settings by which it calls a vendor."""
        reach = reach_of(request.env, self.vendors)
        # A key alone, without a model of the vendor's, may be there for something else.
        if reach is None or (reach.base_url is None and not (model or "").startswith(f"{reach.vendor.name}/")):
            return {}
        options = {"baseURL": _base_url(reach.vendor, reach.base_url)} if reach.base_url else {}
        named = (model or "").removeprefix(f"{reach.vendor.name}/")
        # A model that it does not know can be used if it is told that there is one.
        models = {named: {"tool_call": True}} if named else {}
        return {
            "provider": {reach.vendor.name: {"options": options, "models": models}},
            "enabled_providers": [reach.vendor.name],
            **({"model": model, "small_model": model} if model else {}),
        }


def _of_skills(request: HarnessRequest) -> dict[str, dict[str, str]]:
    """Which skills it may use; the others, also the user's, are not offered to the model."""
    if request.skills is None:
        return {}
    for name in request.skills:
        _refuse_of_user(name, request.env)
    return {"skill": {"*": "deny", **dict.fromkeys(request.skills, "allow")}}


def _refuse_of_user(skill: str, env: Mapping[str, str]) -> None:
    """Of two skills of one name it takes now the one, now the other."""
    home = env.get("HOME", "/")
    settings = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    for place in (f"{settings}/opencode/skills", f"{home}/.claude/skills", f"{home}/.agents/skills"):
        own = Path(place, skill)
        if own.exists():
            raise InputError(f"opencode may use {own} instead of the skill {skill!r} of the folder: move it away")


def _base_url(vendor: Vendor, base_url: str) -> str:
    # Its library wants the version too, which Anthropic's own adds by itself.
    return f"{base_url.rstrip('/')}/v1" if vendor is ANTHROPIC_KEY else base_url


def _tool(part: _ToolPart) -> list[Event]:
    state = part.state
    ok = state.status == "completed" and state.metadata.exit in (None, 0)
    secs = None if state.time.end is None else (state.time.end - state.time.start) / 1000
    return [
        ToolCall(part.tool, part.callID, tool_kind(part.tool), state.input),
        ToolResult(part.callID, ok, state.output or state.error, secs),
    ]


def _usage(part: _StepPart) -> Usage | None:
    if part.tokens is None:
        return None
    return Usage(
        input_tokens=part.tokens.input + part.tokens.cache.read + part.tokens.cache.write,
        output_tokens=part.tokens.output + part.tokens.reasoning,
        cache_read_tokens=part.tokens.cache.read,
        cache_write_tokens=part.tokens.cache.write,
        # Of a model whose price it does not know it says 0.
        cost_usd=part.cost or None,
    )
