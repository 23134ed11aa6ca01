"""What a session came to, and what can be done next: functions of its story and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from trueup.coder import FailureReason, Proposal, SessionSummary, State, Story, Verdict
from trueup.contract import Baseline, Contract
from trueup.core.text import visible, writable

from ._code_lines import counted, diff_text, one_line
from ._main import EXIT_BAD_INPUT, EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO
from ._report import findings_text, verdict_data, verdict_text
from ._used import used_text

MOST_NAMED = 5


class Outcome(Struct, frozen=True, kw_only=True):
    """How a command left a session. `asked` is what it waits for a person to say, `interrupted` that it was cut off."""

    story: Story
    elapsed_secs: float
    asked: str = ""
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        story = self.story
        if self.interrupted:
            return EXIT_INTERRUPTED
        if story.state in (State.MERGED, State.REPORTED):
            return 0
        if story.failed_by_engine:
            return EXIT_ENGINE
        return EXIT_BAD_INPUT if story.reason is FailureReason.CONFIGURATION else EXIT_NO

    @property
    def message(self) -> str:
        if self.interrupted:
            return f"interrupted; go on with: trueup code resume {self.story.id}"
        return self.story.message or ("" if self.story.state.is_final else self.asked)


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """The last JSON line of a session."""
    story, delivered = outcome.story, outcome.story.delivered
    return {
        "type": "outcome",
        "session_id": story.id,
        "state": story.state.value,
        "reason": story.reason.value if story.reason else None,
        "message": outcome.message,
        "exit_code": outcome.exit_code,
        "verdict": verdict_data(story.verdict) if story.verdict else None,
        "commit": delivered.commit if delivered else None,
        "branch": delivered.branch if delivered else None,
        "patch": delivered.patch if delivered else None,
        "attested": delivered.attested if delivered else False,
        "usage": msgspec.to_builtins(story.used),
        "iterations": len(story.attempts),
        "elapsed_secs": round(outcome.elapsed_secs, 3),
    }


def outcome_text(outcome: Outcome, width: int) -> str:
    """The final report for people, and what to do next."""
    story = outcome.story
    lines = [verdict_text(story.verdict, width), ""] if story.verdict else _baseline_part(story.baseline)
    lines += [f"{_headline(outcome)}", *_delivery_lines(story)]
    lines += [f"  {_effort(story)}"]
    lines += [f"  {how}" for how in next_steps(story)]
    return "\n".join(lines)


def next_steps(story: Story) -> Iterator[str]:
    """What a person can type next."""
    command = f"trueup code {{}} {story.id}"
    if story.state is State.NEEDS_APPROVAL:
        yield f"read it:      {command.format('diff')}"
        yield f"deliver it:   {command.format('approve')}"
        yield f"send it back: {command.format('respond')} 'what is missing'"
        yield f"drop it:      {command.format('discard')}"
    elif story.state is State.CONTRACT_PROPOSED:
        yield f"read it:      {command.format('show')}"
        yield f"agree to it:  {command.format('approve')}"
        yield f"change it:    {command.format('respond')} 'what should be different'"
        yield f"drop it:      {command.format('discard')}"
    elif not story.state.is_final:
        yield f"go on:        {command.format('resume')}"
        yield f"drop it:      {command.format('cancel')}"
    elif story.state is State.FAILED and story.attempts:
        yield f"what it made: {command.format('diff')}"
        yield f"how it went:  {command.format('show')}"


def proposal_text(proposal: Proposal) -> str:
    """A contract to agree to, and what it is worth."""
    lines = [f"The contract ({proposal.source}):", *contract_lines(proposal.contract, proposal.baseline)]
    lines += [f"note: {note}" for note in proposal.notes]
    lines += [f"weak: {weak}" for weak in proposal.contract.weaknesses() if weak not in proposal.notes]
    lines += [f"problem: {problem}" for problem in proposal.problems]
    return "\n".join(lines)


def approval_text(story: Story, verdict: Verdict, width: int) -> str:
    """A verified change, as somebody must see it who is to approve it."""
    lines = [f"The change for: {one_line(story.request.intent)}", *_diff_lines(story), ""]
    lines += [verdict_text(verdict, width), _effort(story)]
    return "\n".join(lines)


def contract_lines(contract: Contract, baseline: Baseline | None) -> Iterator[str]:
    """A contract with what each check is worth on the base."""
    yield from (f"  {line}" for line in contract.render().rstrip().splitlines())
    for check in baseline.checks if baseline else []:
        yield f"  {check.name} is a {check.check_class.value}: {check.reason}{f'; {check.fix}' if check.fix else ''}"


def story_data(story: Story) -> Any:
    """A session for programs."""
    return writable({**msgspec.to_builtins(story), "used": msgspec.to_builtins(story.used)})


def story_text(story: Story, width: int) -> str:
    """A session for people: what was wanted, what was agreed to, what was tried, what came of it."""
    return "\n".join(_story_lines(story, width))


def _story_lines(story: Story, width: int) -> Iterator[str]:
    yield f"{story.id}  {one_line(story.request.intent)}"
    yield _headline(Outcome(story=story, elapsed_secs=0))
    yield f"repository {story.request.folder}, base {story.base[:12]}, engine {one_line(story.request.engine)}"
    if story.contract is not None:
        yield f"contract ({story.contract_source}){'' if story.digest else ', not agreed to yet'}:"
        yield from contract_lines(story.contract, story.baseline)
        yield from (f"  problem: {problem}" for problem in story.contract_problems)
    for attempt in story.attempts:
        yield f"iteration {attempt.number}: {_judged(attempt.verdict)}"
    if story.verdict is not None:
        yield from ("", verdict_text(story.verdict, width), "")
    yield from _diff_lines(story)
    yield from _delivery_lines(story)
    yield _effort(story)
    yield from next_steps(story)


def sessions_text(sessions: Iterable[SessionSummary], width: int, now: datetime | None = None) -> str:
    """A table of sessions."""
    now = now or datetime.now(UTC)
    rows = [("session", "state", "age", "owner", "intent")]
    rows += [
        (each.id, _state(each), _age(each.started_at, now), str(each.owner or "-"), one_line(each.intent))
        for each in sessions
    ]
    if len(rows) == 1:
        return "no sessions"
    sizes = [max(len(row[column]) for row in rows) for column in range(4)]
    room = max(20, width - sum(sizes) - 8)
    return "\n".join(
        "  ".join([*(cell.ljust(size) for cell, size in zip(row, sizes, strict=False)), _cut(row[-1], room)])
        for row in rows
    )


def warnings_of(verdict: Verdict) -> list[str]:
    """What somebody must have seen before they approve."""
    return [line for line in findings_text(verdict.findings) if not line.startswith("info")]


def _headline(outcome: Outcome) -> str:
    story = outcome.story
    state = story.state.value.replace("_", " ")
    why = ": ".join(part for part in (story.reason, outcome.message) if part)
    return visible(f"session {story.id}: {state}{f': {why}' if why else ''}")


def _delivery_lines(story: Story) -> Iterator[str]:
    delivered = story.delivered
    if delivered is None:
        return
    if delivered.commit is not None:
        where = f"on {delivered.branch}" if delivered.branch else "at a detached HEAD"
        attested = f", attested: trueup attest verify {delivered.commit[:12]}" if delivered.attested else ""
        yield f"  commit {delivered.commit[:12]} {where}{attested}"
    if delivered.patch is not None:
        yield f"  patch {delivered.patch}"
    if delivered.note:
        yield f"  note: {delivered.note}"


def _diff_lines(story: Story) -> Iterator[str]:
    if story.diff is None:
        return
    yield diff_text(story.diff)
    if story.diff.ignored_total:
        some = ", ".join(map(one_line, story.diff.ignored[:MOST_NAMED]))
        more = f" and {story.diff.ignored_total - MOST_NAMED} more" if story.diff.ignored_total > MOST_NAMED else ""
        yield f"no part of it, since git ignores them: {some}{more}"


def _effort(story: Story) -> str:
    used = used_text(story.used if story.usage else None)
    return f"{used}, {counted(len(story.attempts), 'iteration')}, the engine worked for {story.engine_secs:.1f} s"


def _baseline_part(baseline: Baseline | None) -> list[str]:
    checks = baseline.checks if baseline else []
    return [f"{check.name}: {check.check_class.value}, {check.reason}" for check in checks]


def _judged(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not judged"
    return f"{verdict.outcome.value}{''.join(f'; {one_line(reason)}' for reason in verdict.reasons)}"


def _state(session: SessionSummary) -> str:
    return f"{session.state.value} ({session.reason.value})" if session.reason else session.state.value


def _age(started_at: str, now: datetime) -> str:
    secs = max(0, int((now - datetime.fromisoformat(started_at)).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if secs >= size:
            return f"{secs // size} {unit}"
    return f"{secs} s"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
