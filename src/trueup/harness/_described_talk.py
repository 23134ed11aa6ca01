"""Reads what a described agent prints, as text or as JSON, by the rules of its description."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.protocols import Decision, Event
from trueup.core.usage import Usage

from ._described_failures import failing_words, kind_of_failure
from ._described_model import Described, Rule, ToolCallPaths, ToolResultPaths, UsagePaths
from ._described_paths import fits, look
from ._events import Message, Reasoning, Retried, SessionNamed, ToolCall, ToolKind, ToolResult, UsageReported
from ._json_lines import decoded_line
from ._protocol import Ask, HarnessRequest, Outcome, Say

MOST_ENTRIES = 1000
MOST_TEXT = 1 << 20
MOST_TOKENS = 10**15
TAIL_BYTES = 4000

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any)


class DescribedConversation:
    """One run of a described agent. Its last word about success counts: what it got over is no failure."""

    def __init__(self, description: Described, request: HarnessRequest, session_id: str | None = None) -> None:
        self._description = description
        self._resumes = request.resume is not None
        self._session_id = session_id
        self._unsaid = None if self._resumes else session_id
        self._version: str | None = None
        self._documents = _Documents()
        self._fitted = 0
        self._text: str | None = None
        self._message: str | None = None
        self._pieces = _Pieces()
        self._amounts: dict[str, float] = {}
        self._is_partly_counted = False
        self._retries = 0
        self._denied: list[str] = []
        self._succeeded: bool | None = None
        self._error = ""
        self._code: Any = None
        self._is_over = False

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        # A session that we named is there as soon as the agent says anything.
        named = [] if self._unsaid is None else [SessionNamed(self._unsaid)]
        self._unsaid = None
        match self._description.output:
            case "text":
                return [*named, Message(line)] if line.strip() else named
            case "json":
                return [*named, *self._read(self._documents.take(line))]
            case "jsonl":
                return [*named, *self._read(_decoded(line))]

    def _read(self, record: Any) -> Iterator[Event]:
        if not isinstance(record, dict | list):
            return
        for rule in self._description.records:
            if fits(record, rule.where):
                for part in _parts(record, rule):
                    self._fitted += 1
                    yield from self._apply(rule, part)

    def _apply(self, rule: Rule, part: Any) -> Iterator[Event]:
        yield from self._name(rule, part)
        yield from self._hear(rule, part)
        if rule.usage is not None:
            yield from self._count(rule.usage, part)
        if rule.tool_call is not None:
            yield self._call(rule.tool_call, part)
        if rule.tool_result is not None:
            yield _result(rule.tool_result, part)
        self._judge(rule, part)

    def _name(self, rule: Rule, part: Any) -> Iterator[Event]:
        self._version = _text_at(part, rule.version) or self._version
        session = _text_at(part, rule.session)
        # It becomes a word of the program when the session goes on, and must not be an option there.
        if session and session != self._session_id and _is_id(session):
            self._session_id = session
            yield SessionNamed(session)

    def _hear(self, rule: Rule, part: Any) -> Iterator[Event]:
        self._text = _text_at(part, rule.text) or self._text
        if message := _text_at(part, rule.message):
            self._message = message
            yield Message(message)
        if piece := _text_at(part, rule.piece):
            self._pieces.add(piece)
            yield Message(piece)
        if reasoning := _text_at(part, rule.reasoning):
            yield Reasoning(reasoning)
        if retry := _text_at(part, rule.retry):
            self._retries += 1
            yield Retried(self._retries, retry)
        if (denied := _text_at(part, rule.denied)) and len(self._denied) < MOST_ENTRIES:
            self._denied.append(denied)

    def _count(self, paths: UsagePaths, part: Any) -> Iterator[Event]:
        if paths.of == "session" and self._resumes:
            # It counts from before this run, and from where nobody knows.
            self._is_partly_counted = True
            return
        told = {name: amount for name, path in paths.paths() if (amount := _amount(name, look(part, path))) is not None}
        before = dict.fromkeys(told, 0.0) if paths.of == "call" else {name: self._amounts.get(name, 0) for name in told}
        # A total that shrinks would let an agent use as much as it likes.
        news = {name: max(0, amount - before[name]) for name, amount in told.items()}
        for name, amount in news.items():
            self._amounts[name] = self._amounts.get(name, 0) + amount
        if news:
            yield UsageReported(_usage(news))

    def _call(self, paths: ToolCallPaths, part: Any) -> ToolCall:
        name = _text_at(part, paths.name) or ""
        kind = self._description.tools.get(name, ToolKind.OTHER)
        return ToolCall(name, _text_at(part, paths.id) or "", kind, _input(paths.input, part))

    def _judge(self, rule: Rule, part: Any) -> None:
        if rule.success is not None:
            self._succeeded = rule.success
        code = look(part, rule.code) if rule.code else None
        self._code = self._code if code is None else code
        # `"error": false`, `{}` and `null` are ways to say that there is none.
        if rule.error is not None and look(part, rule.error):
            self._error = _text_at(part, rule.error) or ""
            self._succeeded = False
        self._is_over = self._is_over or rule.last

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        # It never asks: there is no way to answer.
        return b""

    def cancel(self) -> bytes:
        return b""

    @property
    def is_over(self) -> bool:
        return self._is_over

    def outcome(self, finished: Finished) -> Outcome:
        if self._description.output == "json" and not self._fitted:
            # Laid out in a way that its lines do not show: then all of it is the document.
            list(self._read(_decoded(finished.stdout.text) if finished.stdout.whole else None))
        text = self._answer(finished)
        error = self._problem(finished, text)
        kind = None if error is None else self._kind(error, finished)
        return Outcome(
            ok=error is None,
            # An error that is also given as the answer is none.
            text="" if text.strip() == error else text,
            session_id=None if kind is Kind.SESSION_NOT_FOUND else self._session_id,
            usage=_usage(self._amounts, incomplete=self._is_partly_counted or not self._amounts),
            failure_kind=kind,
            error=error or "",
            denied=self._denied,
            version=self._version,
        )

    def _answer(self, finished: Finished) -> str:
        if self._description.output == "text":
            return finished.stdout.text.strip()
        return next((text for text in (self._text, self._message) if text is not None), self._pieces.text)

    def _problem(self, finished: Finished, text: str) -> str | None:
        """What is wrong with the run, where anything is; nothing may be known of it but that."""
        failing = failing_words(self._description, (text, finished.stderr.tail(TAIL_BYTES)))
        if failing is not None:
            return failing.strip()
        if self._succeeded is False:
            return self._error.strip()
        if self._description.tells_success:
            return None if self._succeeded else ""
        if self._description.output != "text" and not self._fitted:
            return "" if finished.exit_code else "it printed nothing that its description knows"
        return None if finished.exit_code == 0 else ""

    def _kind(self, error: str, finished: Finished) -> Kind:
        known = kind_of_failure(self._description, self._code, error, finished)
        says_nothing = bool(self._description.records) and (not self._fitted or self._succeeded is None)
        return known or (Kind.PROTOCOL if says_nothing else Kind.OTHER)


class _Pieces:
    """An answer that comes in pieces; of a very long one, the end."""

    def __init__(self) -> None:
        self._parts: deque[str] = deque()
        self._size = 0

    def add(self, piece: str) -> None:
        self._parts.append(piece)
        self._size += len(piece)
        while self._size > MOST_TEXT and len(self._parts) > 1:
            self._size -= len(self._parts.popleft())

    @property
    def text(self) -> str:
        return "".join(self._parts)


class _Documents:
    """JSON over several lines among other text: one begins with a line `{` or `[`, and ends with a line `}` or `]`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0

    def take(self, line: str) -> Any:
        """The document that a line completes; None where it completes none."""
        bare = line.rstrip()
        if bare in {"{", "["}:
            self._lines, self._size = [bare], 1
            return None
        if not self._lines:
            return _decoded(bare)
        self._size += len(bare)
        if self._size > MOST_TEXT:
            self._lines = []
            return None
        self._lines.append(bare)
        if bare not in {"}", "]"}:
            return None
        whole, self._lines = "\n".join(self._lines), []
        return _decoded(whole)


def _decoded(text: str) -> Any:
    return decoded_line(text, _ANY) if text.lstrip().startswith(("{", "[")) else None


def _parts(record: Any, rule: Rule) -> Sequence[Any]:
    if rule.each is None:
        return [record]
    entries = look(record, rule.each)
    return [entry for entry in entries[:MOST_ENTRIES] if fits(entry, rule.item)] if isinstance(entries, list) else []


def _text_at(part: Any, path: str | None) -> str | None:
    """What stands there as text; None where nothing does."""
    told = None if path is None else look(part, path)
    if told is None or isinstance(told, str):
        return told
    return msgspec.json.encode(told).decode()


def _is_id(session: str) -> bool:
    return len(session) <= 200 and session.isprintable() and not session.startswith("-") and " " not in session


def _amount(name: str, told: Any) -> float | None:
    """A number of tokens or dollars; what is none is not told."""
    if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told <= MOST_TOKENS:
        return None
    if name == "cost_usd":
        return float(told)
    return int(told) if math.floor(told) == told else None


def _usage(amounts: dict[str, float], *, incomplete: bool = False) -> Usage:
    whole: dict[str, Any] = {name: amount if name == "cost_usd" else int(amount) for name, amount in amounts.items()}
    return Usage(**whole, incomplete=incomplete)


def _input(paths: str | dict[str, str] | None, part: Any) -> dict[str, Any]:
    if isinstance(paths, dict):
        told = {name: look(part, path) for name, path in paths.items()}
        return {name: value for name, value in told.items() if value is not None}
    value = None if paths is None else look(part, paths)
    if value is None or isinstance(value, dict):
        return value or {}
    return {"input": value}


def _result(paths: ToolResultPaths, part: Any) -> ToolResult:
    return ToolResult(_text_at(part, paths.id) or "", _is_ok(paths, part), _text_at(part, paths.output) or "")


def _is_ok(paths: ToolResultPaths, part: Any) -> bool | None:
    """Good if nothing that is told says otherwise; None where nothing is told."""
    ok, failed, code = (
        None if path is None else look(part, path) for path in (paths.ok, paths.failed, paths.exit_code)
    )
    said = [ok] if isinstance(ok, bool) else []
    said += [not failed] if isinstance(failed, bool) else []
    said += [code == 0] if isinstance(code, int) and not isinstance(code, bool) else []
    return all(said) if said else None
