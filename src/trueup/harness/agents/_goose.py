"""goose: messages as they are, and at the end a record that is the same whether or not the model could be reached.

What went wrong is told as a message of the agent's, and its exit code is 0. Such a message is not kept in the
conversation, or has no sender, and nothing was used. The name of a session is ours to choose. On resume it works in
the folder in which the session began, and counts the whole session, of which this run's part cannot be told.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Reasoning, ToolCall, ToolResult, UsageReported
from .._protocol import HarnessRequest, Invocation
from .._vendors import Vendor
from ._base import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    Directions,
    Listening,
    PromptedAgent,
    Reach,
    as_stdin,
    as_word,
    reach_of,
    tool_kind,
)
from ._capabilities import Capabilities, SystemPrompt
from ._failures import Failure, failure
from ._sessions import folder_in_database

DATABASE = "goose/sessions/sessions.db"
_COMPLAINT = re.compile(
    r"ran into this error:|network error: |the model returned an empty response|(credits|context).{0,40}exhausted",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"reached the maximum number of actions", re.IGNORECASE)


class _Value(Struct):
    name: str = ""
    arguments: dict[str, Any] = {}


class _Call(Struct):
    status: str = ""
    value: _Value | None = None
    error: str = ""


class _Text(Struct):
    text: str = ""


class _Returned(Struct):
    content: list[_Text] = []
    isError: bool = False  # noqa: N815 - its spelling


class _Returning(Struct):
    status: str = ""
    value: _Returned | None = None
    error: str = ""


class _Part(Struct):
    """A part of a message, of which each kind has some of these."""

    type: str = ""
    id: str = ""
    text: str = ""
    thinking: str = ""
    kind: str = ""
    message: str = ""
    toolCall: _Call | None = None  # noqa: N815 - its spelling
    toolResult: _Returning | None = None  # noqa: N815 - its spelling


class _Metadata(Struct):
    inference: Any = None


class _Body(Struct):
    role: str = ""
    content: list[_Part] = []
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Message(Struct, tag_field="type", tag="message"):
    message: _Body


class _Error(Struct, tag_field="type", tag="error"):
    error: str = ""


class _Complete(Struct, tag_field="type", tag="complete"):
    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class GooseListening(Listening):
    """A `Conversation` with goose, in the session of a name."""

    decoder = msgspec.json.Decoder(_Message | _Error | _Complete)

    def __init__(self, request: HarnessRequest, session: str) -> None:
        super().__init__(request)
        self._session = session
        self._answers: list[tuple[str, bool]] = []

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Message(message=body):
                return [*self.named(self._session), *self._hear_parts(body)]
            case _Error(error=error):
                self.failure = self.failure or failure(error)
            case _Complete():
                return self._end(record)
        return []

    def _hear_parts(self, body: _Body) -> list[Event]:
        told: list[Event] = []
        for part in body.content:
            match part.type:
                case "text" if body.role == "assistant":
                    self._answer(part.text, by_a_model=body.metadata.inference is not None)
                    told.append(Message(part.text))
                case "thinking":
                    told.append(Reasoning(part.thinking))
                case "toolRequest":
                    self._answers.clear()
                    told += _request(part)
                case "toolResponse":
                    told.append(_response(part))
                case "error":
                    self.failure = failure(part.message, code=part.kind)
        return told

    def _answer(self, text: str, *, by_a_model: bool) -> None:
        """An answer comes in pieces; goose's own words stand alone."""
        if self._answers and not (by_a_model and self._answers[-1][1]):
            self._answers.clear()
        self._answers.append((text, by_a_model))
        self.text = "".join(piece for piece, _ in self._answers)

    def _end(self, record: _Complete) -> list[Event]:
        self.failure = self.failure or self._complaint(record)
        self.succeeded = self.failure is None
        used = Usage(
            input_tokens=record.input_tokens,
            output_tokens=record.output_tokens,
            cache_read_tokens=record.cache_read_input_tokens,
            cache_write_tokens=record.cache_write_input_tokens,
        )
        if self.request.resume is not None or record.input_tokens is None:
            # It is the whole session's.
            return []
        self.total = used
        return [UsageReported(used)]

    def _complaint(self, record: _Complete) -> Failure | None:
        """What went wrong by goose's own words in place of a model's."""
        by_a_model = bool(self._answers) and self._answers[-1][1]
        said = self.text.strip()
        if _LIMIT.search(said[:200]) and not by_a_model:
            return Failure(f"{said}: it is not done; allow it more, or go on with its session", Kind.OTHER)
        if not by_a_model and _COMPLAINT.match(said):
            return failure(said)
        if not said and not record.output_tokens and self.request.resume is None:
            return Failure("the model returned nothing", Kind.PROTOCOL)
        return None


class Goose(PromptedAgent):
    """The `Dialect` of goose."""

    name = "goose"
    program = "goose"
    install = "see https://block.github.io/goose, or `npm install -g @aaif/goose-binary-linux-x64`"
    vendors: ClassVar[tuple[Vendor, ...]] = (ANTHROPIC_KEY, OPENAI_KEY)
    login_files = (".config/goose/config.yaml",)
    capabilities = Capabilities(
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        tool_events=True,
        acp=("goose", "acp", "--with-builtin", "developer"),
        budget_while_running=True,
        turns=True,
        tested="1.52.0",
        notes=("without a terminal nothing keeps it to less than `full`", "usage of a resumed run is unknown"),
    )

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        query = "SELECT working_dir FROM sessions WHERE name = ? ORDER BY created_at DESC"
        return folder_in_database(environ, DATABASE, query, session)

    def directions(self, request: HarnessRequest) -> Directions:
        return Directions(env=_variables(request, reach_of(request.env, self.vendors)))

    def put(self, request: HarnessRequest) -> Invocation:
        session = request.resume or f"trueup-{uuid.uuid4()}"
        words = [self._program, "run", "--quiet", "--output-format=stream-json", f"--name={session}"]
        words += ["--resume"] if request.resume else []
        words += [] if self._user_config else ["--no-profile"]
        words += ["--with-builtin=developer", "--instructions=-"]
        words += [f"--system={as_word(request.system, 'system prompt')}"] if request.system else []
        words += [f"--max-turns={request.turns}"] if request.turns is not None else []
        return Invocation(
            argv=tuple(words),
            env={"GOOSE_MODE": "auto", **self.directions(request).env},
            stdin=as_stdin(request.prompt),
            conversation=GooseListening(request, session),
        )

    def converse(self, request: HarnessRequest) -> GooseListening:
        return GooseListening(request, request.resume or "")


def _variables(request: HarnessRequest, reach: Reach | None) -> dict[str, str]:
    told = {"GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false"}
    told |= {"GOOSE_MODEL": request.model} if request.model else {}
    if reach is None:
        return told
    told["GOOSE_PROVIDER"] = reach.vendor.name
    if reach.base_url is None:
        return told
    if reach.vendor is ANTHROPIC_KEY:
        return told | {"ANTHROPIC_HOST": reach.base_url}
    url = urlsplit(reach.base_url)
    path = f"{url.path.strip('/')}/chat/completions".lstrip("/")
    return told | {"OPENAI_HOST": f"{url.scheme}://{url.netloc}", "OPENAI_BASE_PATH": path}


def _request(part: _Part) -> list[Event]:
    call = part.toolCall
    if call is None or call.value is None:
        return [ToolResult(part.id, False, call.error)] if call else []
    return [ToolCall(call.value.name, part.id, tool_kind(call.value.name), call.value.arguments)]


def _response(part: _Part) -> ToolResult:
    returned = part.toolResult
    value = returned.value if returned else None
    if returned is None or value is None:
        return ToolResult(part.id, False, returned.error if returned else "")
    ok = returned.status == "success" and not value.isError
    return ToolResult(part.id, ok, "\n".join(each.text for each in value.content))
