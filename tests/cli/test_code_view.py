"""What of a session is shown: functions of its events and its story."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from trueup.cli._code_board import Board
from trueup.cli._code_lines import noteworthy
from trueup.cli._code_report import Outcome, next_steps, outcome_data, outcome_text, sessions_text
from trueup.cli._code_view import json_line, rendered
from trueup.cli._used import used_text
from trueup.coder import (
    CodeRequest,
    Deliver,
    FailureReason,
    Finding,
    Limits,
    SessionSummary,
    Severity,
    State,
    Step,
    Story,
    Told,
    event_data,
    events,
)
from trueup.contract import CheckCompleted, CheckResult, CheckStarted
from trueup.core.usage import Usage
from trueup.harness import PlanText, SessionNamed, ToolCall, ToolResult, UsageReported

REQUEST = CodeRequest(intent="make it add", folder="/repo", engine="command:agent", limits=Limits(iterations=3))


def board_after(*told) -> Board:
    board = Board.begin(REQUEST)
    for event in told:
        board = board.after(event)
    return board


def shown(*told, elapsed_secs: float = 7) -> list[str]:
    return list(board_after(*told).lines(elapsed_secs))


def entered(state: State) -> events.StateChanged:
    return events.StateChanged(state=state, previous=State.CREATED)


def iteration(number: int) -> events.IterationStarted:
    return events.IterationStarted(number=number, prompt="p", workspace="w")


def ended(usage: Usage) -> events.EngineEnded:
    return events.EngineEnded(number=1, exit_code=0, duration_secs=1, usage=usage, turns=1)


def completed(name: str, *, passed: bool) -> CheckCompleted:
    return CheckCompleted(CheckResult(name=name, passed=passed, exit_code=0, output_tail="", duration_ms=1))


def found(severity: Severity, message: str) -> events.FindingRaised:
    return events.FindingRaised(Finding(severity=severity, kind="k", message=message))


def story(**known) -> Story:
    return Story(id="0abc", request=REQUEST, base="b" * 40, **known)


def test_the_board_says_state_iteration_cost_and_time():
    usage = Usage(input_tokens=900, output_tokens=80, cost_usd=0.004)
    lines = shown(entered(State.RUNNING), iteration(2), UsageReported(usage), UsageReported(usage))
    assert lines == ["running · iteration 2 of 3 · 1,960 tokens, $0.008 · 7 s"]


def test_what_an_engine_does_is_shown_until_it_does_something_else():
    assert shown(PlanText("read it"))[1] == "  read it"
    assert shown(PlanText("read it"), ToolCall("grep", "1", input={"pattern": "add"}))[1] == '  grep {"pattern": "add"}'
    assert len(shown(PlanText("read it"), ended(Usage()))) == 1


def test_checks_are_those_of_the_current_phase():
    lines = shown(CheckStarted("lint"), completed("lint", passed=True), CheckStarted("suite"))
    assert lines[1:] == ["  lint: green", "  suite: running"]
    assert shown(CheckStarted("lint"), entered(State.RUNNING))[1:] == []


def test_many_checks_are_counted_and_those_that_are_not_green_named():
    told = [completed(f"check {number}", passed=number != 5) for number in range(12)]
    assert shown(*told)[1:] == ["  11 checks green", "  check 5: red"]


def test_findings_above_info_are_shown_until_the_next_iteration():
    told = [found(Severity.INFO, "good to know"), found(Severity.GATE, "a cheat"), found(Severity.FLAG, "look")]
    assert shown(*told)[1:] == ["  gate: a cheat", "  flag: look"]
    assert shown(*told, iteration(2))[1:] == []


def test_what_an_engine_used_in_a_go_that_ended_is_counted_once():
    usage = Usage(input_tokens=10, output_tokens=1, cost_usd=1)
    assert "11 tokens, $1" in shown(UsageReported(usage), ended(usage))[0]


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (None, "nothing used yet"),
        (Usage(), "? tokens, $?"),
        (Usage(input_tokens=1000), "1,000 tokens, $?"),
        (Usage(cost_usd=0.5, incomplete=True), "at least ? tokens, $0.5"),
        (Usage(output_tokens=2, estimated_cost_usd=0.25), "2 tokens, about $0.25"),
    ],
)
def test_unknown_is_a_question_mark_and_not_zero(usage, text):
    assert used_text(usage) == text


def test_what_others_write_is_no_markup_and_no_control_character():
    page = io.StringIO()
    text = rendered(board_after(PlanText("[bold]x[/bold] \x1b[8m :smile:")), 0)
    Console(file=page, force_terminal=True, width=100, highlight=False).print(text)
    assert "[bold]x[/bold] \\x1b[8m :smile:" in page.getvalue()
    assert "\x1b[8m" not in page.getvalue()


def test_a_line_is_one_line_and_not_too_long():
    assert noteworthy(PlanText("a\nb\r\nc")) == "a b c"
    assert len(noteworthy(PlanText("x" * 5000))) == 200


@pytest.mark.parametrize(
    "event",
    [UsageReported(Usage()), ToolResult("1", True, "fine"), found(Severity.INFO, "good to know"), PlanText("  ")],
)
def test_what_says_nothing_to_people_is_not_noteworthy(event):
    assert noteworthy(event) is None


def test_an_event_becomes_a_json_line_with_its_place_and_type():
    line = json_line(event_data(Told("0abc", 4, "2026-01-01T00:00:00.000000Z", Step("half a character: \ud800"))))
    assert json.loads(line) == {
        "session_id": "0abc",
        "seq": 4,
        "ts": "2026-01-01T00:00:00.000000Z",
        "type": "step",
        "text": "half a character: \\ud800",
    }
    assert "\n" not in line


def test_an_event_cannot_take_the_place_of_the_sessions_own_id():
    data = event_data(Told("0abc", 4, "now", SessionNamed("theirs")))
    assert (data["session_id"], data["event_session_id"]) == ("0abc", "theirs")


@pytest.mark.parametrize(
    ("known", "interrupted", "exit_code"),
    [
        ({"state": State.MERGED}, False, 0),
        ({"state": State.REPORTED}, False, 0),
        ({"state": State.NEEDS_APPROVAL}, False, 1),
        ({"state": State.ABANDONED}, False, 1),
        ({"state": State.FAILED, "reason": FailureReason.VERIFICATION}, False, 1),
        ({"state": State.FAILED, "reason": FailureReason.CONFIGURATION}, False, 2),
        ({"state": State.FAILED, "reason": FailureReason.CONFIGURATION, "failed_by_engine": True}, False, 3),
        ({"state": State.FAILED, "reason": FailureReason.STALLED, "failed_by_engine": True}, False, 3),
        ({"state": State.RUNNING}, True, 130),
    ],
)
def test_exit_codes_say_how_it_ended(known, interrupted, exit_code):
    outcome = Outcome(story=story(**known), elapsed_secs=1, interrupted=interrupted)
    assert outcome.exit_code == exit_code
    assert outcome_data(outcome)["exit_code"] == exit_code


def test_a_merge_says_where_it_is_and_what_did_not_work_beside_it():
    merged = events.MergeCompleted(
        deliver=Deliver.MERGE, commit="c" * 40, branch="main", note="there is no attestation: x"
    )
    text = outcome_text(Outcome(story=story(state=State.MERGED, delivered=merged), elapsed_secs=1), 100)
    assert "session 0abc: merged\n  commit cccccccccccc on main\n  note: there is no attestation: x\n" in text


def test_a_session_says_what_can_be_done_next_and_an_ended_one_nothing():
    assert any("trueup code approve 0abc" in line for line in next_steps(story(state=State.NEEDS_APPROVAL)))
    assert any("trueup code resume 0abc" in line for line in next_steps(story(state=State.RUNNING)))
    assert list(next_steps(story(state=State.MERGED))) == []


def test_sessions_are_a_table_in_which_a_long_intent_is_cut():
    one = SessionSummary(
        id="0abc",
        state=State.FAILED,
        reason=FailureReason.STALLED,
        message="it fell silent",
        engine="native",
        intent="mend\nthis " + "x" * 200,
        repository="/repo",
        started_at="2026-01-01T10:00:00.000000Z",
        updated_at="2026-01-01T10:20:00.000000Z",
        owner=None,
    )
    head, row = sessions_text([one], 80, datetime(2026, 1, 1, 13, 30, tzinfo=UTC)).splitlines()
    assert head.split() == ["session", "state", "age", "owner", "intent"]
    assert row.startswith("0abc     failed (stalled)  3 h  -      mend this xxx")
    assert (len(row), row[-1]) == (80, "…")
    assert sessions_text([], 80) == "no sessions"
