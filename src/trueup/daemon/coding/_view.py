"""A session as clients see it: functions of what is known of it, and nothing else."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, to_builtins

from trueup.coder import Attempt, SessionSummary, State, Story
from trueup.core.text import writable
from trueup.core.usage import Usage

Need = Literal["contract", "approval"]

_NEEDS: dict[State, tuple[Need, str]] = {
    State.CONTRACT_PROPOSED: ("contract", "agree to the contract, or have it revised"),
    State.NEEDS_APPROVAL: ("approval", "approve the verified change, or send it back"),
}


class SessionRow(Struct, frozen=True, kw_only=True):
    """One of a list of sessions. `live` says that a process works on it now."""

    session_id: str
    state: State
    intent: str
    repo: str
    engine: str
    requested_engine: str
    started_at: str
    updated_at: str
    live: bool
    needs_you: Need | None
    needs_you_label: str | None
    failure_kind: str | None
    error: str | None


class AttemptView(Struct, frozen=True, kw_only=True):
    """One iteration of the engine, and what was found about it."""

    number: int
    outcome: str | None
    reasons: list[str]


class SessionView(Struct, frozen=True, kw_only=True):
    """A whole session: what is wanted, what done means, what was made, what was found, what it waits for."""

    session_id: str
    state: State
    intent: str
    repo: str
    engine: str
    requested_engine: str
    engine_version: str | None
    model: str | None
    base: str
    worktree: str | None
    contract: dict[str, Any] | None
    contract_source: str
    contract_notes: list[str]
    contract_problems: list[str]
    contract_digest: str | None
    baseline: list[dict[str, Any]] | None
    baseline_gates_nothing: bool
    iterations: int
    attempts: list[AttemptView]
    verdict: dict[str, Any] | None
    diff: dict[str, Any] | None
    usage: Usage
    needs_you: Need | None
    needs_you_label: str | None
    failure_kind: str | None
    message: str
    branch: str | None
    commit: str | None
    patch: str | None
    live: bool


def session_row(summary: SessionSummary) -> SessionRow:
    """A session for a list."""
    live = summary.owner is not None and not summary.state.is_final
    need, label = _need(summary.state, live=live)
    return SessionRow(
        session_id=summary.id,
        state=summary.state,
        intent=writable(summary.intent),
        repo=writable(summary.repository),
        engine=summary.engine,
        requested_engine=summary.engine,
        started_at=summary.started_at,
        updated_at=summary.updated_at,
        live=live,
        needs_you=need,
        needs_you_label=label,
        failure_kind=summary.reason,
        error=writable(summary.message) if summary.state is State.FAILED else None,
    )


def session_view(story: Story, *, live: bool) -> SessionView:
    """A session with everything that is known of it; `live` where a process works on it."""
    live = live and not story.state.is_final
    need, label = _need(story.state, live=live)
    baseline, delivered = story.baseline, story.delivered
    return SessionView(
        session_id=story.id,
        state=story.state,
        intent=writable(story.request.intent),
        repo=writable(story.request.folder),
        engine=story.engine.engine if story.engine else story.request.engine,
        requested_engine=story.request.engine,
        engine_version=story.engine.version if story.engine else None,
        model=story.engine.model if story.engine else story.request.model,
        base=story.base,
        worktree=story.workspace,
        contract=writable(story.contract.as_data()) if story.contract else None,
        contract_source=story.contract_source,
        contract_notes=writable(story.contract_notes),
        contract_problems=writable(story.contract_problems),
        contract_digest=story.digest,
        baseline=_plain(baseline.checks) if baseline else None,
        baseline_gates_nothing=baseline is not None and not baseline.goals,
        iterations=len(story.attempts),
        attempts=[_attempt(attempt) for attempt in story.attempts],
        verdict=_plain(story.verdict) if story.verdict else None,
        diff=_plain(story.diff) if story.diff else None,
        usage=story.used,
        needs_you=need,
        needs_you_label=label,
        failure_kind=story.reason,
        message=writable(story.message or story.waits_because),
        branch=delivered.branch if delivered else None,
        commit=delivered.commit if delivered else None,
        patch=delivered.patch if delivered else None,
        live=live,
    )


def _attempt(attempt: Attempt) -> AttemptView:
    verdict = attempt.verdict
    return AttemptView(
        number=attempt.number,
        outcome=verdict.outcome if verdict else None,
        reasons=writable(verdict.reasons) if verdict else [],
    )


def _need(state: State, *, live: bool) -> tuple[Need | None, str | None]:
    """What only a person can do about it; while somebody works on it, nothing."""
    return (None, None) if live else _NEEDS.get(state, (None, None))


def _plain(value: Any) -> Any:
    return writable(to_builtins(value))
