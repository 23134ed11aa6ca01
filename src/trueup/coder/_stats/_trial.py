"""One session, as far as it says something about its engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct

from trueup.core.usage import known_dollars

from .._session import Attempt, FailureReason, Sessions, State, Story, Unreadable
from .._verdict import Outcome, Severity

# What a story needs to have heard for this.
_KINDS_OF_RECORDS = frozenset(
    {
        "state_changed",
        "engine_selected",
        "iteration_started",
        "usage_reported",
        "engine_ended",
        "diff_ready",
        "verdict_reached",
    }
)

# What ends a session and is no fault of whoever worked in it.
_NOT_THE_ENGINES = frozenset(
    {
        FailureReason.AUTH_REQUIRED,
        FailureReason.CONFIGURATION,
        FailureReason.INFRASTRUCTURE,
        FailureReason.UNPROVEN,
    }
)
# A gate that says that dependencies cannot be set up, and not that somebody tried to pass by the checks.
_NO_CHEAT = "setup_failed"


class Trial(Struct, frozen=True, kw_only=True):
    """A session that may count.

    `verified` is None where nothing was shown: it goes on, was given up, or failed through no fault of the engine.
    `iterations` are those until the first verified change, else all. `cheats` are changes that a gate finding refused.
    """

    session_id: str
    engine: str
    model: str | None
    verified: bool | None
    reason: FailureReason | None
    iterations: int
    cost_usd: float | None
    engine_secs: float
    cheats: int


async def recorded_trials(sessions: Sessions, *, since: str | None = None) -> AsyncIterator[Trial | Unreadable]:
    """Every recorded session that began since then."""
    async for story in sessions.stories(_KINDS_OF_RECORDS, since=since):
        yield story if isinstance(story, Unreadable) else trial_of(story)


def trial_of(story: Story) -> Trial:
    """What a session says about its engine."""
    first = next((attempt.number for attempt in story.attempts if attempt.verified), None)
    return Trial(
        session_id=story.id,
        engine=_engine_of(story),
        model=story.engine.model if story.engine else story.request.model,
        verified=_verdict_of(story, is_verified=first is not None),
        reason=story.reason if story.state is State.FAILED else None,
        iterations=first or len(story.attempts),
        cost_usd=known_dollars(story.used) if story.usage or story.usage_reported else None,
        engine_secs=story.engine_secs,
        cheats=sum(map(_is_cheat, story.attempts)),
    )


def _engine_of(story: Story) -> str:
    """Who worked: `auto` became somebody, and programs are known by what was called."""
    asked, selected = story.request.engine, story.engine
    return asked if selected is None or asked.startswith(f"{selected.engine}:") else selected.engine


def _verdict_of(story: Story, *, is_verified: bool) -> bool | None:
    if is_verified:
        return True
    is_failure = story.state is State.FAILED and story.attempts and story.reason not in _NOT_THE_ENGINES
    return False if is_failure else None


def _is_cheat(attempt: Attempt) -> bool:
    verdict = attempt.verdict
    return (
        verdict is not None
        and verdict.outcome is Outcome.REFUSED
        and any(finding.severity is Severity.GATE and finding.kind != _NO_CHEAT for finding in verdict.findings)
    )
