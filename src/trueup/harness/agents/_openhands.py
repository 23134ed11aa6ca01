"""OpenHands: events as JSON between lines for people, which alone tell the id of the conversation.

It ends with exit 0 whatever happened, so success is that it finished, or had the last word. It tells no tokens. Its
terminal is a server of its own (`tmux -L openhands`), which stays when it has ended: what is left of a run is swept by
the process runner.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.protocols import Event

from .._events import Message, Reasoning, ToolCall, ToolResult
from .._protocol import Ask, HarnessRequest, Invocation, Say
from .._vendors import Vendor
from ._base import MOST_ON_ARGV, Listening, PromptedAgent, as_stdin, as_word, tool_kind
from ._capabilities import Capabilities
from ._folder import Layout, Place, in_folder
from ._litellm import QUIET, VENDORS, failure_of, model_of
from ._providers import provider_of

PROMPT = "prompt.md"
FINISH = "finish"
_CONVERSATION = re.compile(r"Conversation ID: ([0-9a-f]{32})\s*")


class _Part(Struct):
    text: str = ""


class _Said(Struct):
    content: list[_Part] = []


class _MessageEvent(Struct, tag_field="kind", tag="MessageEvent"):
    source: str = ""
    llm_message: _Said | None = None


class _ActionEvent(Struct, tag_field="kind", tag="ActionEvent"):
    tool_name: str = ""
    tool_call_id: str = ""
    thought: list[_Part] = []
    reasoning_content: str | None = None
    action: dict[str, Any] | None = None


class _Observation(Struct):
    content: list[_Part] = []
    is_error: bool = False
    exit_code: int | None = None


class _ObservationEvent(Struct, tag_field="kind", tag="ObservationEvent"):
    tool_name: str = ""
    tool_call_id: str = ""
    observation: _Observation | None = None


class _AgentErrorEvent(Struct, tag_field="kind", tag="AgentErrorEvent"):
    tool_call_id: str = ""
    error: str = ""


class _ConversationErrorEvent(Struct, tag_field="kind", tag="ConversationErrorEvent"):
    code: str = ""
    detail: str = ""


class OpenHandsListening(Listening):
    """A `Conversation` with OpenHands."""

    decoder = msgspec.json.Decoder(
        _MessageEvent | _ActionEvent | _ObservationEvent | _AgentErrorEvent | _ConversationErrorEvent
    )

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        told = _CONVERSATION.fullmatch(line)
        return self.named(str(uuid.UUID(told[1]))) if told else super().feed(line)

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _MessageEvent(source="agent", llm_message=_Said(content=content)):
                return self._have_last_word(_text(content))
            case _ActionEvent():
                return self._act(record)
            case _ObservationEvent(observation=_Observation() as seen) if record.tool_name != FINISH:
                ok = not seen.is_error and seen.exit_code in (None, 0)
                return [ToolResult(record.tool_call_id, ok, _text(seen.content))]
            case _AgentErrorEvent():
                return [ToolResult(record.tool_call_id, False, record.error)]
            case _ConversationErrorEvent(code=code, detail=detail):
                self.failure = failure_of(code, detail or code)
        return []

    def _have_last_word(self, text: str) -> list[Event]:
        self.succeeded, self.text = True, text or self.text
        return [Message(text)] if text else []

    def _act(self, record: _ActionEvent) -> list[Event]:
        thought, action = _text(record.thought), record.action or {}
        events: list[Event] = [Reasoning(record.reasoning_content)] if record.reasoning_content else []
        events += [Message(thought)] if thought else []
        if record.tool_name == FINISH:
            message = action.get("message")
            return [*events, *self._have_last_word(message if isinstance(message, str) else "")]
        self.succeeded = False
        given = {name: value for name, value in action.items() if name != "kind" and value is not None}
        return [*events, ToolCall(record.tool_name, record.tool_call_id, tool_kind(record.tool_name), given)]


def _text(parts: Sequence[_Part]) -> str:
    return "\n".join(part.text for part in parts if part.text)


class OpenHands(PromptedAgent):
    """The `Dialect` of OpenHands."""

    name = "openhands"
    program = "openhands"
    install = "install it with `uv tool install openhands --python 3.12`"
    vendors: ClassVar[tuple[Vendor, ...]] = VENDORS
    login_files = (".openhands/agent_settings.json",)
    capabilities = Capabilities(
        resume=True,
        tool_events=True,
        budget_while_running=True,
        tested="1.16.0",
        notes=(
            "tells no tokens",
            "a prompt of more than 64 KiB is given to it as a file, of which it is told so",
            "tries again for minutes and says nothing",
        ),
    )

    def put(self, request: HarnessRequest) -> Invocation:
        words = [self._program, "--headless", "--json", "--override-with-envs", "--always-approve"]
        # It takes the next word for the id, or none.
        words += [f"--resume={request.resume}"] if request.resume else []
        env = {"OPENHANDS_SUPPRESS_BANNER": "1", **QUIET, **self._provider(request)}
        if len(as_stdin(request.prompt)) <= MOST_ON_ARGV:
            return Invocation(argv=(*words, f"--task={as_word(request.prompt, 'prompt')}"), env=env)
        layout = Layout(stdin=PROMPT)
        return in_folder([*words, Place(PROMPT, "--file=")], layout, env=env, stdin=as_stdin(request.prompt))

    def converse(self, request: HarnessRequest) -> OpenHandsListening:
        return OpenHandsListening(request)

    def _provider(self, request: HarnessRequest) -> dict[str, str]:
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return {"LLM_MODEL": request.model} if request.model else {}
        where = {"LLM_BASE_URL": provider.at} if provider.at else {}
        return {"LLM_MODEL": model_of(provider), "LLM_API_KEY": provider.key or "none", **where}
