"""Runs as their owner sees them: begun, written, ended. What everybody may do with them is in `_traces`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from trueup.core.usage import Usage
from trueup.runs import Ended, ModelTurn, Record, Started, Turn

from .._method import Call, method

UNNAMED_AGENT = "agent"
# A run has as many turns as it likes; a request has so many, so that others get their turn between them.
MOST_TURNS = 10_000


class StartRun(Struct, frozen=True):
    """What a run is for, and whose it is."""

    intent: str
    agent_id: str | None = None
    agent_name: str | None = None
    outcome_description: str | None = None
    idempotency_key: Annotated[str, Meta(min_length=1)] | None = None


class RunStarted(Struct, frozen=True):
    """The run, which is the connection's current one from now on."""

    run_id: str
    agent_id: str


@method("runs.start")
async def start(call: Call, params: StartRun) -> RunStarted:
    """Begin a run; turns of this connection are recorded on it.

    The same idempotency key, from the same agent, gives the same run, also after a connection was lost.
    """
    agent_id = params.agent_id or call.connection.agent_id or params.agent_name or UNNAMED_AGENT
    started = Started(
        params.intent,
        agent_id=agent_id,
        agent_name=params.agent_name,
        client_id=call.connection.client_id,
        outcome_description=params.outcome_description,
    )
    run = await call.daemon.runs.start(call.connection, started, params.idempotency_key)
    return RunStarted(run.run_id, agent_id)


class Outcome(Struct, frozen=True):
    """How a run ended, in the words of its agent."""

    status: str | UnsetType = UNSET
    summary: str = ""
    evidence: Any | UnsetType = UNSET
    metrics: Any | UnsetType = UNSET
    timestamp: Any | UnsetType = UNSET


class CompleteRun(Struct, frozen=True):
    """A run and its outcome."""

    run_id: str
    outcome: Outcome = Outcome()


class RunAcknowledged(Struct, frozen=True):
    """That it is on disk."""

    run_id: str
    ok: bool = True


@method("runs.complete")
async def complete(call: Call, params: CompleteRun) -> RunAcknowledged:
    """End a run with its outcome, once."""
    ended = Ended("completed", params.outcome.summary, to_builtins(params.outcome))
    await call.daemon.runs.complete(params.run_id, ended, call.connection)
    return RunAcknowledged(params.run_id)


class RunTurn(Struct, frozen=True):
    """A turn that the client made itself. Whatever index it claims, the store numbers it."""

    index: int | None = None
    prompt: str | None = None
    tool: str | None = None
    parameters: dict[str, Any] | None = None
    output: Any | UnsetType = UNSET
    cli_outcome: dict[str, Any] | None = None
    verifier_verdict: Literal["pass", "fail", "not_run"] = "not_run"
    policy_rejected: dict[str, Any] | None = None

    def as_record(self) -> Turn:
        """What the store keeps."""
        return Turn(
            prompt=self.prompt,
            tool=self.tool,
            parameters=self.parameters or {},
            output=self.output,
            cli_outcome=self.cli_outcome,
            verifier_verdict=self.verifier_verdict,
            policy_rejected=self.policy_rejected,
        )


class RecordTurns(Struct, frozen=True):
    """Turns, adjacent and in this order."""

    run_id: str
    turns: Annotated[list[RunTurn], Meta(max_length=MOST_TURNS)]


class TurnsRecorded(Struct, frozen=True):
    """What became of the turns: all of them are on disk, or none and why."""

    run_id: str
    base_index: int
    count: int
    ok: bool
    dropped: Literal["run_not_found", "run_terminal"] | UnsetType = UNSET


@method("runs.record_turns")
async def record_turns(call: Call, params: RecordTurns) -> TurnsRecorded:
    """Record turns that the client made itself, all or none."""
    return await _record(call, params.run_id, [turn.as_record() for turn in params.turns])


class TokenUsage(Struct, frozen=True):
    """What a model used, by the names of trueup or of the common vendors."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def as_usage(self) -> Usage:
        """By the names of trueup."""
        return Usage(
            input_tokens=self.prompt_tokens if self.input_tokens is None else self.input_tokens,
            output_tokens=self.completion_tokens if self.output_tokens is None else self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
            cost_usd=self.cost_usd,
        )


class RequestedToolCall(Struct, frozen=True):
    """A tool that a model wanted called."""

    name: str = ""
    id: str = ""
    arguments: Any = None


class RecordModelTurn(Struct, frozen=True):
    """One answer of a model."""

    run_id: str
    turn_index: int | None = None
    assistant_text: str = ""
    requested_tool_calls: list[RequestedToolCall] = []
    model_id: str | None = None
    token_usage: TokenUsage | None = None
    duration_ms: float | None = None


@method("runs.record_model_turn")
async def record_model_turn(call: Call, params: RecordModelTurn) -> TurnsRecorded:
    """Record what a model answered."""
    turn = ModelTurn(
        assistant_text=params.assistant_text,
        requested_tool_calls=[
            {"id": each.id, "name": each.name, "arguments": each.arguments} for each in params.requested_tool_calls
        ],
        model_id=params.model_id,
        token_usage=None if params.token_usage is None else params.token_usage.as_usage(),
        duration_ms=params.duration_ms,
    )
    return await _record(call, params.run_id, [turn])


async def _record(call: Call, run_id: str, records: list[Record]) -> TurnsRecorded:
    appended = await call.daemon.runs.append(run_id, records, call.connection)
    dropped = UNSET if appended.dropped is None else appended.dropped
    return TurnsRecorded(run_id, appended.base_index, appended.count, appended.dropped is None, dropped)
