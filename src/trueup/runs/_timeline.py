"""A record as a line of a timeline: what it was, who did it, what came of it. Terminals and pages draw the same."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct

from trueup.core.usage import Usage

from ._encoding import encode_json
from ._records import AnyRecord, CheckRecord, Ended, EventRecord, ModelTurn, RunInfo, Started, StoredRecord, Turn

# A check or verdict that failed is a healthy finding and not a failure of the run: amber.
Tone = Literal["plain", "good", "amber", "refused"]
# No call yet, which is not the same as a call of which nothing is known.
NOTHING = Usage()


class Step(Struct, frozen=True):
    """One line. `said` is the text that is worth a glance, `after_secs` the time since the run began."""

    seq: int
    after_secs: float
    what: str
    who: str = ""
    outcome: str = ""
    tone: Tone = "plain"
    said: str = ""
    duration_ms: float | None = None
    usage: Usage | None = None
    output_characters: int | None = None

    @property
    def after(self) -> str:
        return _span(self.after_secs)

    @property
    def took(self) -> str:
        return "" if self.duration_ms is None else _span(self.duration_ms / 1000)

    @property
    def tokens(self) -> str:
        return "" if self.usage is None else _tokens(self.usage)

    @property
    def cost(self) -> str:
        return "" if self.usage is None else _cost(self.usage)


class Totals:
    """What a run, or a part of it, came to."""

    def __init__(self, usage: Usage = NOTHING) -> None:
        self.turns = 0
        self.refused = 0
        self.failed_verdicts = 0
        self.usage = usage

    def add(self, stored: StoredRecord) -> None:
        """Count one record."""
        record = stored.record
        self.turns += isinstance(record, Turn | ModelTurn)
        if isinstance(record, Turn):
            self.refused += record.policy_rejected is not None
            self.failed_verdicts += record.verifier_verdict == "fail"
        elif isinstance(record, ModelTurn):
            self.spend(record.token_usage)

    def spend(self, usage: Usage | None) -> None:
        """Count one call of a model, of which nobody may have said what it used."""
        spent = usage or Usage(incomplete=True)
        self.usage = spent if self.usage == NOTHING else self.usage + spent

    @property
    def cost(self) -> str:
        """What was spent until now."""
        return _cost(self.usage)

    @property
    def tokens(self) -> str:
        """What was used until now, in and out."""
        return _tokens(self.usage)

    def __str__(self) -> str:
        parts = [_count(self.turns, "turn")]
        parts += [f"{self.refused:,} refused"] if self.refused else []
        parts += [_count(self.failed_verdicts, "failed verdict")] if self.failed_verdicts else []
        spent = [f"{self.tokens} tokens"] if self.tokens else []
        spent += [self.cost] if self.cost else []
        unknown = ["more that nobody reported"] if spent and self.usage.incomplete else []
        return " · ".join([*parts, *spent, *unknown])


def as_step(stored: StoredRecord, run: RunInfo) -> Step:
    """A record as a line of its run."""
    return Step(stored.seq, _seconds(run.started_at, stored.at), **_told(stored.record))


def elapsed(run: RunInfo) -> str:
    """How long a run took; nothing where it goes on."""
    return "" if run.ended_at is None else _span(_seconds(run.started_at, run.ended_at))


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _tokens(usage: Usage) -> str:
    """In and out; `?` for what nobody reported."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    return " + ".join("?" if each is None else f"{each:,}" for each in (usage.input_tokens, usage.output_tokens))


def _cost(usage: Usage) -> str:
    """In dollars; `~` for what comes from a price table."""
    if usage.cost_usd is not None:
        return f"${usage.cost_usd:.4f}"
    return "" if usage.estimated_cost_usd is None else f"~${usage.estimated_cost_usd:.4f}"


def _told(record: AnyRecord) -> dict[str, Any]:
    match record:
        case Started():
            return {"what": "started", "who": record.agent_name or record.agent_id or "", "said": record.intent}
        case Turn():
            return _turn(record)
        case ModelTurn():
            return _model_turn(record)
        case CheckRecord(result=result):
            outcome, tone = ("green", "good") if result.get("passed") else ("red", "amber")
            said = str(result.get("reason") or "")
            return {"what": "check", "who": str(result.get("name", "")), "outcome": outcome, "tone": tone, "said": said}
        case EventRecord():
            return {"what": record.type, **_event(record.data)}
        case Ended():
            tone = "good" if record.status == "completed" else "amber"
            said = record.summary or record.termination or ""
            return {"what": "ended", "outcome": record.status, "tone": tone, "said": said}


_VERDICTS: dict[str, Tone] = {"verified": "good", "refused": "refused", "unproven": "amber"}


def _event(data: dict[str, Any]) -> dict[str, Any]:
    """What is worth a glance, where an event has it in few fields; else all of it."""
    told: dict[str, Any] = {"said": as_text(data) if data else ""}
    match data:
        case {"text": str(text)}:
            told = {"said": text}
        case {"name": str(name), "input": given}:
            told = {"who": name, "said": as_text(given) if given else ""}
        case {"ok": bool(ok), "output": output}:
            told = _judged("ok" if ok else "failed", "plain" if ok else "amber", as_text(output))
        case {"tool": str(tool), "allowed": bool(allowed)}:
            judged = _judged("allowed" if allowed else "refused", "plain" if allowed else "refused", data.get("reason"))
            told = {"who": tool, **judged}
        case {"label": str(label), "passed": bool(passed)}:
            judged = _judged("passed" if passed else "failed", "good" if passed else "amber", data.get("reason"))
            told = {"who": label, **judged}
        case {"verdict": {"outcome": str(outcome), "reasons": [*reasons]}}:
            told = _judged(outcome, _VERDICTS.get(outcome, "plain"), "\n".join(str(each) for each in reasons))
        case {"state": str(state), "previous": str()}:
            told = _judged(state, "plain", data.get("message"))
    return told


def _judged(outcome: str, tone: Tone, said: object) -> dict[str, Any]:
    return {"outcome": outcome, "tone": tone, "said": str(said or "")}


def _turn(turn: Turn) -> dict[str, Any]:
    outcome, tone = _outcome(turn)
    return {
        "what": f"turn {turn.index}",
        "who": turn.tool or "",
        "outcome": outcome,
        "tone": tone,
        "said": turn.prompt or (as_text(turn.parameters) if turn.parameters else ""),
        "duration_ms": turn.duration_ms,
        "output_characters": None if turn.output is UNSET else len(as_text(turn.output)),
    }


def _outcome(turn: Turn) -> tuple[str, Tone]:
    if turn.policy_rejected is not None:
        return f"refused by {turn.policy_rejected.get('rule')}", "refused"
    if turn.verifier_verdict != "not_run":
        return turn.verifier_verdict, "good" if turn.verifier_verdict == "pass" else "amber"
    if turn.cli_outcome is not None:
        code = turn.cli_outcome.get("code")
        return ("timed out", "amber") if turn.cli_outcome.get("kind") == "timeout" else (f"exit {code}", "plain")
    return "", "plain"


def _model_turn(turn: ModelTurn) -> dict[str, Any]:
    calls = [str(each.get("name", "")) for each in turn.requested_tool_calls]
    return {
        "what": f"turn {turn.index}",
        "who": turn.model_id or "a model",
        "outcome": f"calls {', '.join(calls)}" if calls else "",
        "said": turn.assistant_text,
        "duration_ms": turn.duration_ms,
        "usage": turn.token_usage,
    }


def as_text(value: object) -> str:
    """A text as it is, and any other data as JSON."""
    return value if isinstance(value, str) else encode_json(value).decode()
