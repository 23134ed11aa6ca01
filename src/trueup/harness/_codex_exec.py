"""`codex exec --json`: one prompt, and a record on each line until the turn is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Decision, Event
from trueup.core.usage import Usage

from ._codex_failures import Failure, failure
from ._codex_items import Items, Retries, in_snake_case
from ._events import SessionNamed, UsageReported
from ._json_lines import decoded_line, plain_words
from ._protocol import Ask, HarnessRequest, Mode, Outcome, Say

# On stderr, where codex could not lay out the helper that its own sandbox needs: no command will run.
NO_HELPER = "could not create PATH aliases"
BROKEN_SANDBOX = (
    "codex carried out nothing: it cannot set up its own sandbox where CODEX_HOME lies below the temporary folder; "
    "set TMPDIR to another folder, or run it in mode `full` inside of a sandbox"
)
TAIL_BYTES = 4000


class _ThreadStarted(Struct, tag="thread.started"):
    thread_id: str


class _ItemStarted(Struct, tag="item.started"):
    item: dict[str, Any]


class _ItemCompleted(Struct, tag="item.completed"):
    item: dict[str, Any]


class _TokenUsage(Struct):
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None


class _TurnCompleted(Struct, tag="turn.completed"):
    usage: _TokenUsage | None = None


class _Said(Struct):
    message: str = ""


class _TurnFailed(Struct, tag="turn.failed"):
    error: _Said


class _Error(Struct, tag="error"):
    message: str


_LINE = msgspec.json.Decoder(_ThreadStarted | _ItemStarted | _ItemCompleted | _TurnCompleted | _TurnFailed | _Error)


class ExecConversation:
    """Reads the first turn of a thread, whose total is therefore what the run used."""

    def __init__(self, request: HarnessRequest) -> None:
        self._confines_itself = request.mode is not Mode.FULL
        self._items = Items()
        self._retries = Retries()
        self._session_id: str | None = None
        self._usage: Usage | None = None
        self._completed = False
        self._failure: Failure | None = None
        self._trouble = ""

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        told = decoded_line(line, _LINE)
        match told:
            case None:
                return []
            case _ThreadStarted(thread_id=thread_id):
                self._session_id = thread_id
                return [SessionNamed(thread_id)]
            case _ItemStarted(item=item):
                return self._items.started(in_snake_case(item))
            case _ItemCompleted(item=item):
                return self._items.completed(in_snake_case(item))
            case _Error(message=message):
                return self._note(message)
        return self._end(told)

    def _end(self, told: _TurnCompleted | _TurnFailed) -> list[Event]:
        if isinstance(told, _TurnFailed):
            self._failure = failure(told.error.message or self._trouble)
            return []
        self._completed = True
        return self._count(told.usage)

    def _note(self, message: str) -> list[Event]:
        """An error is the reason of what comes next: another try, or the end."""
        self._trouble = message
        if not message.startswith("Reconnecting"):
            return []
        retried = self._retries.take(message)
        if self._retries.are_endless:
            self._failure = failure(message)
        return [retried]

    def _count(self, usage: _TokenUsage | None) -> list[Event]:
        if usage is None:
            return []
        self._usage = Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_input_tokens,
        )
        return [UsageReported(self._usage)]

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        # It never asks: there is no way to answer.
        return b""

    def cancel(self) -> bytes:
        return b""

    @property
    def is_over(self) -> bool:
        return self._completed or self._failure is not None

    def outcome(self, finished: Finished) -> Outcome:
        problem = self._problem(finished)
        return Outcome(
            ok=problem is None,
            text=self._items.text,
            session_id=self._session_id,
            # A turn that does not come to its end does not tell what it used.
            usage=self._usage or Usage(incomplete=True),
            failure_kind=problem.kind if problem else None,
            error=problem.message if problem else "",
        )

    def _problem(self, finished: Finished) -> Failure | None:
        if self._failure is not None:
            return self._failure
        if not self._completed:
            return silent_end(finished, self._trouble)
        return broken_sandbox(finished) if self._confines_itself and not self._items.has_done_something else None


def broken_sandbox(finished: Finished) -> Failure | None:
    """A run that succeeds and did nothing, because no command could be run: codex tells it on stderr only."""
    return Failure(BROKEN_SANDBOX, Kind.INFRASTRUCTURE) if NO_HELPER in finished.stderr.text else None


def silent_end(finished: Finished, trouble: str) -> Failure:
    """Why a run ended without a word about it: what was said before, or what is on stderr."""
    lines = finished.stderr.tail(TAIL_BYTES).splitlines()
    # A crash of codex comes with a trace of itself, which says nothing.
    first = next((line for line in lines if line.startswith(("Error:", "error:"))), "")
    said = (
        trouble or first.partition(" ")[2] or "\n".join(lines[-5:]).strip() or plain_words(finished.stdout, TAIL_BYTES)
    )
    how = f"exit {finished.exit_code}" if finished.exit_code is not None else f"signal {finished.signal}"
    return failure(said) if said else Failure(f"codex ended ({how}) and said nothing of its turn", Kind.PROTOCOL)
