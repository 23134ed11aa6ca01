"""Which change of a race goes on: a function of its sessions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from trueup.core.usage import Usage, known_dollars

from .._session import Pick, State, Story
from .._session.events import RaceEntry
from .._verdict import Severity


class Decision(Struct, frozen=True):
    """Who won, if anybody did, and why, in one sentence."""

    winner: str | None
    why: str


def entry_of(story: Story) -> RaceEntry:
    """A session as it is compared with others."""
    verdict, diff, selected = story.verdict, story.diff, story.engine
    severities = [finding.severity for finding in verdict.findings] if verdict else []
    return RaceEntry(
        session_id=story.id,
        engine=story.request.engine,
        model=selected.model if selected else story.request.model,
        state=story.state,
        reason=story.reason,
        outcome=verdict.outcome if verdict else None,
        engine_secs=story.engine_secs,
        # An engine that was stopped before it told anything may have used anything.
        usage=story.used if story.usage or story.usage_reported else Usage(),
        turns=story.calls,
        iterations=len(story.attempts),
        files=diff.files if diff else 0,
        insertions=diff.insertions if diff else 0,
        deletions=diff.deletions if diff else 0,
        gates=severities.count(Severity.GATE),
        flags=severities.count(Severity.FLAG),
        binaries=diff.binaries if diff else 0,
    )


def decide(pick: Pick, entries: Sequence[RaceEntry], first: str | None = None) -> Decision:
    """Pick among the verified. `first` is the session that was verified before all others; what is equal goes by place."""
    verified = [entry for entry in entries if entry.verified and entry.state is State.NEEDS_APPROVAL]
    delivered = [entry for entry in entries if entry.state in (State.MERGED, State.REPORTED)]
    if delivered:
        return Decision(delivered[0].session_id, "a person had it delivered")
    if not verified:
        return Decision(None, "no change was verified")
    match pick:
        case Pick.FIRST:
            winner = next((entry for entry in verified if entry.session_id == first), verified[0])
            return Decision(winner.session_id, "the first that was verified")
        case Pick.SMALLEST:
            # How large a binary file is says nothing about how much of it was changed.
            winner = min(verified, key=lambda entry: (entry.binaries, entry.changed_lines))
            return Decision(winner.session_id, f"the smallest of {_of(verified)}: {_size_of(winner)}")
        case Pick.CHEAPEST:
            return _cheapest(verified)


def _cheapest(verified: list[RaceEntry]) -> Decision:
    costs = {entry.session_id: cost for entry in verified if (cost := known_dollars(entry.usage)) is not None}
    unknown = [entry.session_id for entry in verified if entry.session_id not in costs]
    if not costs:
        return Decision(None, f"what {' and '.join(unknown)} cost is unknown, so none of them is the cheapest")
    winner = min(costs, key=lambda session_id: costs[session_id])
    besides = f"; what {' and '.join(unknown)} cost is unknown, and so not compared" if unknown else ""
    return Decision(winner, f"the cheapest of {_of(verified)}: ${costs[winner]:.4g}{besides}")


def _size_of(entry: RaceEntry) -> str:
    lines = f"{entry.changed_lines} changed lines"
    return f"{lines} and {entry.binaries} binary files" if entry.binaries else lines


def _of(verified: list[RaceEntry]) -> str:
    return f"{len(verified)} that were verified" if len(verified) > 1 else "the one that was verified"
