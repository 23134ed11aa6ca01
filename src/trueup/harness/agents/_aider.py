"""Aider: text for people, and nothing else.

That a model has answered is known by the line that counts its tokens, rounded; that it has not, by the words of the
error, with exit 0. It uses no tools: files are changed by what the answer says. Told nothing, it would commit by
itself, and leave its own files in the folder. A session is a file of its history, which is named by us.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from trueup.core.errors import InputError, Kind
from trueup.core.process import Finished
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import Message, Retried, UsageReported
from .._protocol import Ask, HarnessRequest, Invocation, Say
from .._vendors import Vendor
from ._base import Listening, PromptedAgent, as_stdin, as_word
from ._capabilities import Capabilities, SystemPrompt
from ._failures import Failure
from ._folder import Layout, Place, Word, in_folder
from ._litellm import NAMED, QUIET, VENDORS, failure_of, model_of
from ._providers import provider_of

PROMPT, SYSTEM, HISTORY = "prompt.md", "system.md", "history.md"
SESSION = "TRUEUP_AIDER_SESSION"
CACHE = ".aider.tags.cache.v4"
WIDE = "1000"
NO_SESSION = "no session of this name was found"
# The history is brought into the folder, and back when the agent has ended.
_HISTORY = f"""kept="$HOME/.aider/trueup/${SESSION}.md"
mkdir -p "$HOME/.aider/trueup"
"""
_BRING = f"""[ -f "$kept" ] || {{ echo "{NO_SESSION}" >&2; exit 1; }}
cp "$kept" "$folder/{HISTORY}"
"""
_KEEP = f'[ -f "$folder/{HISTORY}" ] && cp "$folder/{HISTORY}" "$kept"\n'
_TOKENS = re.compile(
    r"Tokens: (?P<sent>[\d.,]+k?) sent,"
    r"(?: (?P<write>[\d.,]+k?) cache write,)?(?: (?P<hit>[\d.,]+k?) cache hit,)? (?P<received>[\d.,]+k?) received\."
    r"(?: Cost: \$(?P<cost>[\d.]+) message, \$[\d.]+ session\.)?"
)
_VERSION = re.compile(r"Aider v(\S+)")
_RETRY = re.compile(r"Retrying in [\d.]+ seconds\.\.\.")
# The last line of what it says about itself before the answer begins.
_HEADING = re.compile(r"(Repo-map|Restored previous conversation history|Added \S+ to the chat)")


class AiderListening(Listening):
    """A `Conversation` with Aider."""

    decoder = msgspec.json.Decoder(Any)

    def __init__(self, request: HarnessRequest, session_id: str | None) -> None:
        super().__init__(request)
        self._unsaid = session_id
        self._is_answering = False
        self._answer: list[str] = []
        self._error = ""
        self._retries = 0

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        # A session that we named is there as soon as it says anything.
        named = self.named(self._unsaid)
        self._unsaid = None
        return [*named, *self._take(line)]

    def hear(self, record: Any) -> list[Event]:
        return []

    def _take(self, line: str) -> list[Event]:
        if version := _VERSION.match(line):
            self.version = version[1]
            return []
        if not self._is_answering:
            self._is_answering = _HEADING.match(line) is not None
            return []
        if counted := _TOKENS.fullmatch(line.strip()):
            return self._end_answer(counted)
        if NAMED.match(line):
            self._error, self.succeeded, self._answer = line, False, []
        elif _RETRY.fullmatch(line.strip()):
            self._retries += 1
            return [Retried(self._retries, self._error)]
        elif self._error and not self.succeeded:
            self._error += f"\n{line}"
        else:
            self._answer.append(line)
        return []

    def _end_answer(self, counted: re.Match[str]) -> list[Event]:
        self.succeeded, self._error = True, ""
        self.text = "\n".join(self._answer).strip()
        self._answer = []
        used = _usage(counted)
        self.calls.append(used)
        return [*([Message(self.text)] if self.text else []), UsageReported(used)]

    def problem(self, finished: Finished) -> Failure | None:
        if self._error and not self.succeeded:
            named = NAMED.search(self._error)
            return failure_of(named[1] if named else "", _RETRY.sub("", self._error).strip())
        if NO_SESSION in finished.stderr.text:
            return Failure(NO_SESSION, Kind.SESSION_NOT_FOUND)
        return super().problem(finished)


def _usage(counted: re.Match[str]) -> Usage:
    cost, hit, write = counted["cost"], counted["hit"], counted["write"]
    told = [counted["sent"], counted["received"], *(each for each in (hit, write) if each)]
    return Usage(
        input_tokens=_number(counted["sent"]),
        output_tokens=_number(counted["received"]),
        cost_usd=float(cost) if cost else None,
        cache_read_tokens=_number(hit) if hit else None,
        cache_write_tokens=_number(write) if write else None,
        # Thousands are rounded.
        incomplete=any(each.endswith("k") for each in told),
    )


def _number(told: str) -> int:
    amount = float(told.removesuffix("k").replace(",", ""))
    return round(amount * 1000) if told.endswith("k") else int(amount)


def _named(session: str) -> str:
    if not re.fullmatch(r"[\w-]+", session):
        raise InputError(f"{session!r} is no session of aider's: it is named by letters, digits and dashes")
    return session


class Aider(PromptedAgent):
    """The `Dialect` of Aider."""

    name = "aider"
    program = "aider"
    install = "install it with `pipx install aider-chat`"
    vendors: ClassVar[tuple[Vendor, ...]] = VENDORS
    login_files = (".aider.conf.yml", ".env")
    capabilities = Capabilities(
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        cost=True,
        budget_while_running=True,
        tested="0.86.2",
        notes=("tells tokens rounded to hundreds", "uses no tools: it changes files by its answer"),
    )

    def put(self, request: HarnessRequest) -> Invocation:
        session = _named(request.resume) if request.resume else str(uuid.uuid4())
        words: list[Word] = [self._program, "--yes-always", "--no-pretty", "--no-stream", "--no-fancy-input"]
        words += ["--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-suggest-shell-commands"]
        words += ["--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-show-release-notes"]
        words += ["--no-detect-urls", "--message-file", Place(PROMPT), "--input-history-file", Place("input")]
        words += ["--chat-history-file", Place(HISTORY)]
        words += ["--restore-chat-history"] if request.resume else []
        words += ["--read", Place(SYSTEM)] if request.system else []
        words += self._model(request)
        files = {SYSTEM: as_word(request.system, "system prompt")} if request.system else {}
        first = _HISTORY + (_BRING if request.resume else "")
        layout = Layout(files=files, stdin=PROMPT, first=first, last=_KEEP, leaves=(CACHE,))
        env = {**QUIET, **self._variables(request), "COLUMNS": WIDE, SESSION: session}
        put = in_folder(words, layout, env=env, stdin=as_stdin(request.prompt))
        return msgspec.structs.replace(put, conversation=AiderListening(request, session), tells_version=True)

    def converse(self, request: HarnessRequest) -> AiderListening:
        return AiderListening(request, request.resume)

    def _model(self, request: HarnessRequest) -> list[str]:
        provider = provider_of(self.name, request, self.vendors)
        model = model_of(provider) if provider else request.model
        return [f"--model={model}"] if model else []

    def _variables(self, request: HarnessRequest) -> dict[str, str]:
        """Where the vendor is, by the variables that it knows."""
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            return {}
        names = provider.vendor.name.upper()
        key = {f"{names}_API_KEY": provider.key} if provider.key else {}
        return {**key, **({f"{names}_API_BASE": provider.at} if provider.at else {})}
