"""Moonshot's Kimi Code: messages as the API has them, one a line, and at the end how the session is gone on with.

That last line is all it says of success; why a run failed is on stderr alone, by a code. It tells no tokens. A prompt
is one word of its command line. A system prompt is a file that stands in the place of its own, and only when a session
begins: to one that goes on it is told before the prompt. It refuses a session of another folder by itself.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Event

from .._events import Message, Reasoning, Retried, ToolCall, ToolResult
from .._protocol import HarnessRequest, Invocation
from .._vendors import Vendor
from ._base import OPENAI_KEY, Directions, Listening, PromptedAgent, as_word, tool_kind
from ._capabilities import Capabilities, SystemPrompt
from ._failures import Failure, failure
from ._folder import Layout, Place, Word, in_folder
from ._providers import provider_of

SYSTEM = "agent.md"
ELSEWHERE = "was created under a different directory"
_FAILED = re.compile(r"^error: failed to run prompt: (?:provider\.(\w+): )?(.*)", re.MULTILINE)
_CODES = {
    "auth_error": Kind.AUTH,
    "rate_limit": Kind.RATE_LIMIT,
    "overloaded": Kind.OVERLOADED,
    "not_found": Kind.MODEL_NOT_FOUND,
    "filtered": Kind.REFUSED,
    "connection_error": Kind.NETWORK,
}
QUIET = {"KIMI_DISABLE_TELEMETRY": "1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}


class _Function(Struct):
    name: str
    arguments: str = ""


class _Call(Struct):
    function: _Function
    id: str = ""


class _Assistant(Struct, tag_field="role", tag="assistant"):
    content: Any = None
    reasoning_content: Any = None
    tool_calls: list[_Call] = []


class _Tool(Struct, tag_field="role", tag="tool"):
    tool_call_id: str = ""
    content: Any = None


class _Meta(Struct, tag_field="role", tag="meta"):
    type: str = ""
    version: str | None = None
    session_id: str | None = None
    failed_attempt: int = 0
    error_message: str = ""


_ARGUMENTS = msgspec.json.Decoder(dict[str, Any])


class KimiListening(Listening):
    """A `Conversation` with Kimi Code."""

    decoder = msgspec.json.Decoder(_Assistant | _Tool | _Meta)

    def hear(self, record: Any) -> list[Event]:
        match record:
            case _Assistant():
                return self._say(record)
            case _Tool():
                # Whether it went well is in the words for the model, which are not to be trusted with it.
                return [ToolResult(record.tool_call_id, None, _text(record.content))]
            case _Meta(type="system.version"):
                self.version = record.version
            case _Meta(type="turn.step.retrying"):
                return [Retried(record.failed_attempt, record.error_message)]
            case _Meta(type="session.resume_hint"):
                self.succeeded = True
                return self.named(record.session_id)
        return []

    def _say(self, record: _Assistant) -> list[Event]:
        thought, said = _text(record.reasoning_content), _text(record.content)
        self.text = said or self.text
        return [
            *([Reasoning(thought)] if thought else []),
            *([Message(said)] if said else []),
            *(
                ToolCall(each.function.name, each.id, tool_kind(each.function.name), _input(each))
                for each in record.tool_calls
            ),
        ]

    def problem(self, finished: Finished) -> Failure | None:
        told = _FAILED.search(finished.stderr.text)
        if told is not None:
            if ELSEWHERE in told[2]:
                return Failure(told[2], Kind.SESSION_NOT_FOUND)
            worded, typed = failure(told[2]), _CODES.get(told[1] or "")
            # A used up plan comes as a limit of the rate too, and waiting does not help.
            return worded if typed is None or worded.kind is Kind.QUOTA else Failure(worded.message, typed)
        # A weak record: how to go on is also told by one that ended badly.
        self.succeeded = self.succeeded and finished.exit_code == 0
        return super().problem(finished)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _input(call: _Call) -> dict[str, Any]:
    try:
        return _ARGUMENTS.decode(call.function.arguments.encode(errors="replace"))
    except (msgspec.MsgspecError, RecursionError):
        return {}


class Kimi(PromptedAgent):
    """The `Dialect` of Kimi Code."""

    name = "kimi-code"
    program = "kimi"
    install = "install it with `npm install -g @moonshot-ai/kimi-code`"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY,)
    login_files = (".kimi-code/config.toml",)
    capabilities = Capabilities(
        resume=True,
        system_prompt=SystemPrompt.REPLACES,
        tool_events=True,
        acp=("kimi", "acp"),
        budget_while_running=True,
        tested="2.1.0",
        notes=(
            "tells no tokens",
            "a prompt of more than 64 KiB cannot be given to it",
            "refuses a session of another folder",
        ),
    )

    def directions(self, request: HarnessRequest) -> Directions:
        return Directions(env=self._provider(request))

    def put(self, request: HarnessRequest) -> Invocation:
        env = {**QUIET, **self._provider(request)}
        words: list[Word] = [self._program, "--output-format=stream-json"]
        words += [f"--model={request.model}"] if request.model and "KIMI_MODEL_NAME" not in env else []
        words += [f"--session={request.resume}"] if request.resume else []
        if not request.system:
            return self._invocation([*words, f"--prompt={as_word(request.prompt, 'prompt')}"], {}, env)
        system = as_word(request.system, "system prompt")
        if request.resume is not None:
            prompt = as_word(f"{system}\n\n{request.prompt}", "prompt")
            return self._invocation([*words, f"--prompt={prompt}"], {}, env)
        words += ["--agent-file", Place(SYSTEM), f"--prompt={as_word(request.prompt, 'prompt')}"]
        head = "---\nname: trueup\ndescription: as a request has it\n---\n"
        return self._invocation(words, {SYSTEM: head + system}, env)

    def converse(self, request: HarnessRequest) -> KimiListening:
        return KimiListening(request)

    def _invocation(self, words: list[Word], files: dict[str, str], env: dict[str, str]) -> Invocation:
        if files:
            put = in_folder(words, Layout(files=files), env=env, stdin=b"")
            return msgspec.structs.replace(put, tells_version=True)
        return Invocation(argv=tuple(str(word) for word in words), env=env, tells_version=True)

    def _provider(self, request: HarnessRequest) -> dict[str, str]:
        """The variables by which it calls a vendor; none for the person's own configuration."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return {}
        return {
            "KIMI_MODEL_NAME": provider.model,
            "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_BASE_URL": provider.base_url,
            "KIMI_MODEL_API_KEY": provider.key or "none",
        }
