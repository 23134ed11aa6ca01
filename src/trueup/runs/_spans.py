"""Runs as spans, by the OpenTelemetry conventions for generative AI. What was said is in them only on request.

A run is `invoke_agent`, a turn `execute_tool`, a model turn `chat`. Ids come from the run's id and the record's number,
so that the same run sent twice is the same trace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import UNSET
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from trueup import __version__
from trueup.core.text import written
from trueup.core.usage import Usage

from ._records import CheckRecord, Ended, ModelTurn, Started, StoredRecord, Turn
from ._timeline import as_text

MOST_EVALUATIONS = 1000
_RESOURCE = Resource({"service.name": "trueup", "service.version": __version__})
_SCOPE = InstrumentationScope("trueup.runs", __version__)
_PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini": "gcp.gemini",
}

Attributes = dict[str, Any]


class RunSpans:
    """The spans of one run, made as its records come: a child for each turn, and the run itself when it has ended."""

    def __init__(self, run_id: str, *, content: bool) -> None:
        self._run_id = run_id
        self._content = content
        self._started: tuple[Started, str] | None = None
        self._usage: Usage | None = None
        self._turns = 0
        self._evaluations: list[Event] = []

    @property
    def knows_start(self) -> bool:
        """Whether the first record was seen."""
        return self._started is not None

    def take(self, stored: StoredRecord) -> Iterator[ReadableSpan]:
        """The spans that end with a record."""
        record = stored.record
        if isinstance(record, Started):
            self._started = (record, stored.at)
        elif isinstance(record, Turn):
            self._turns += 1
            yield self._tool_span(stored, record)
        elif isinstance(record, ModelTurn):
            self._turns += 1
            spent = record.token_usage or Usage(incomplete=True)
            self._usage = spent if self._usage is None else self._usage + spent
            yield self._chat_span(stored, record)
        elif isinstance(record, CheckRecord) and len(self._evaluations) < MOST_EVALUATIONS:
            self._evaluations.append(_evaluation(stored, record))
        elif isinstance(record, Ended):
            yield self._run_span(stored.at, record)

    def so_far(self, at: str) -> ReadableSpan:
        """The run itself, where it goes on."""
        return self._run_span(at, None)

    def _run_span(self, at: str, ended: Ended | None) -> ReadableSpan:
        started, began = self._started or (Started(""), at)
        name = started.agent_name or started.agent_id
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "trueup",
            "gen_ai.conversation.id": self._run_id,
            "gen_ai.agent.id": started.agent_id,
            "gen_ai.agent.name": started.agent_name,
            "trueup.run.id": self._run_id,
            "trueup.run.status": "in_progress" if ended is None else ended.status,
            "trueup.run.turns": self._turns,
            **(_used(self._usage) if self._usage is not None else {}),
        }
        if self._content:
            attributes["trueup.run.intent"] = started.intent
            attributes["trueup.run.summary"] = "" if ended is None else ended.summary
        error = "incomplete" if ended is not None and ended.status == "incomplete" else None
        title = "invoke_agent" if name is None else f"invoke_agent {name}"
        return self._span(None, title, SpanKind.INTERNAL, began, at, attributes, error, self._evaluations)

    def _tool_span(self, stored: StoredRecord, turn: Turn) -> ReadableSpan:
        refusal, outcome = turn.policy_rejected, turn.cli_outcome or {}
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": turn.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": self._run_id,
            "trueup.turn.index": turn.index,
            "trueup.verdict": turn.verifier_verdict,
            "trueup.policy.rule": None if refusal is None else str(refusal.get("rule")),
            "trueup.policy.param": None if refusal is None or refusal.get("param") is None else str(refusal["param"]),
            "process.exit.code": outcome["code"] if isinstance(outcome.get("code"), int) else None,
        }
        if self._content:
            attributes["trueup.prompt"] = turn.prompt
            attributes["gen_ai.tool.call.arguments"] = as_text(turn.parameters)
            attributes["gen_ai.tool.call.result"] = None if turn.output is UNSET else as_text(turn.output)
        # A failed verdict is a finding and no error.
        error = "policy_rejected" if refusal is not None else "timeout" if outcome.get("kind") == "timeout" else None
        title = "execute_tool" if turn.tool is None else f"execute_tool {turn.tool}"
        began = _before(stored.at, turn.duration_ms)
        return self._span(stored.seq, title, SpanKind.INTERNAL, began, stored.at, attributes, error)

    def _chat_span(self, stored: StoredRecord, turn: ModelTurn) -> ReadableSpan:
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(turn.model_id or ""),
            "gen_ai.request.model": turn.model_id,
            "gen_ai.conversation.id": self._run_id,
            "trueup.turn.index": turn.index,
            **(_used(turn.token_usage) if turn.token_usage is not None else {}),
        }
        if self._content:
            attributes["gen_ai.output.messages"] = as_text([{"role": "assistant", "parts": _parts(turn)}])
        title = "chat" if turn.model_id is None else f"chat {turn.model_id}"
        began = _before(stored.at, turn.duration_ms)
        return self._span(stored.seq, title, SpanKind.CLIENT, began, stored.at, attributes, None)

    def _span(
        self,
        seq: int | None,
        title: str,
        kind: SpanKind,
        began: str | int,
        ended: str,
        attributes: Attributes,
        error: str | None,
        events: list[Event] | None = None,
    ) -> ReadableSpan:
        known = {
            name: _writable(value) for name, value in {**attributes, "error.type": error}.items() if value is not None
        }
        return ReadableSpan(
            name=written(title),
            context=self._context(seq),
            parent=None if seq is None else self._context(None),
            resource=_RESOURCE,
            attributes=known,
            events=tuple(events or ()),
            kind=kind,
            instrumentation_scope=_SCOPE,
            status=Status(StatusCode.UNSET) if error is None else Status(StatusCode.ERROR, error),
            start_time=began if isinstance(began, int) else _nanoseconds(began),
            end_time=_nanoseconds(ended),
        )

    def _context(self, seq: int | None) -> SpanContext:
        trace = hashlib.sha256(self._run_id.encode()).digest()
        span = hashlib.sha256(f"{self._run_id}/{'run' if seq is None else seq}".encode()).digest()
        return SpanContext(
            int.from_bytes(trace[:16]),
            int.from_bytes(span[:8]),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )


def _evaluation(stored: StoredRecord, record: CheckRecord) -> Event:
    label = "pass" if record.result.get("passed") else "fail"
    attributes = {
        "gen_ai.evaluation.name": written(str(record.result.get("name", "check"))),
        "gen_ai.evaluation.score.label": label,
    }
    return Event("gen_ai.evaluation.result", attributes, _nanoseconds(stored.at))


def _used(usage: Usage) -> Attributes:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "trueup.usage.cost_usd": usage.cost_usd,
        "trueup.usage.estimated_cost_usd": usage.estimated_cost_usd,
        "trueup.usage.incomplete": usage.incomplete,
    }


def _parts(turn: ModelTurn) -> list[dict[str, Any]]:
    said = [{"type": "text", "content": turn.assistant_text}] if turn.assistant_text else []
    return [*said, *({"type": "tool_call", **call} for call in turn.requested_tool_calls)]


def _provider(model: str) -> str:
    """Whose model it is, by its name; the conventions want one, and allow any."""
    vendor, found, _ = model.partition(":")
    known = next((provider for prefix, provider in _PROVIDERS.items() if model.startswith(prefix)), None)
    return known or (vendor if found else "unknown")


def _before(at: str, duration_ms: float | None) -> int:
    """When something began that ended at a time; where nobody measured it, it is a point."""
    return _nanoseconds(at) - round((duration_ms or 0) * 1_000_000)


def _nanoseconds(at: str) -> int:
    # Not by way of a float, which has no room for microseconds.
    moment = datetime.fromisoformat(at)
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000_000 + moment.microsecond * 1000


def _writable(value: Any) -> Any:
    return written(value) if isinstance(value, str) else value
