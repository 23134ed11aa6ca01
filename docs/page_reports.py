"""Skill reports for the pictures of the pages: a skill before and after it was rewritten, on three models."""

from __future__ import annotations

import random

from trueup import __version__
from trueup.core.usage import Usage
from trueup.daemon import Daemon
from trueup.skills import (
    About,
    Arm,
    CellReport,
    CellStatus,
    Message,
    Report,
    Role,
    ToolEvent,
    build_report,
    keep_report,
)
from trueup.skills._report import BooleanDetail, EvalOutcome, Transcript, Vote

CASES = [
    "greets by name",
    "moves an appointment",
    "asks before it cancels",
    "answers in the patient's language",
    "keeps other patients' data to itself",
    "says when nobody is free",
    "reads the calendar before it promises",
    "leaves the calendar as it was",
    "hands over to a person",
    "confirms in writing",
]
PLACES = [("claude-code", "sonnet"), ("claude-code", "opus"), ("codex", "gpt-5")]
ABOUT = About(
    trueup=__version__,
    provider="harness",
    judge_models=["opus", "gpt-5"],
    prompts="p1",
    versions={"claude-code": "2.1.0", "codex": "0.58.0"},
)


async def reports(daemon: Daemon) -> str:
    """Three reports, one of them partial."""
    keep_report(_report(0.35, 1, notes=["the budget of $40.00 is used up; 10 cells were not begun"]))
    keep_report(_report(0.45, 2))
    keep_report(_report(0.95, 3))
    return "/reports"


async def report(daemon: Daemon) -> str:
    """A report with both arms."""
    return f"/reports/{keep_report(_report(0.75, 4))}"


async def report_cell(daemon: Daemon) -> str:
    """A cell in which the judges did not agree."""
    return f"/reports/{keep_report(_report(0.75, 4))}/cells/moves-an-appointment-1-with-1"


async def report_comparison(daemon: Daemon) -> str:
    """Two reports of the same cases."""
    before, after = keep_report(_report(0.4, 5)), keep_report(_report(0.97, 6))
    return f"/reports/compare?before={before}&after={after}"


def _report(chance: float, seed: int, notes: list[str] | None = None) -> Report:
    luck = random.Random(seed)  # noqa: S311 - pictures, which should look the same every time
    cells = [
        _cell(case, place, repeat, arm, luck.random() < (chance if arm is Arm.WITH else 0.3))
        for case in CASES
        for place in range(len(PLACES))
        for arm, repeats in ((Arm.WITH, 3), (Arm.WITHOUT, 1))
        for repeat in range(1, repeats + 1)
    ]
    return build_report(cells, ABOUT, partial=bool(notes), notes=notes or ())


def _cell(case: str, place: int, repeat: int, arm: Arm, passed: bool) -> CellReport:
    platform, model = PLACES[place]
    return CellReport(
        case=case,
        skill="skills/receptionist",
        platform=platform,
        model=model,
        passed=passed,
        turns=2,
        evals=[_judged(case, passed)],
        transcript=_talk(passed),
        status=CellStatus.PASSED if passed else CellStatus.FAILED,
        repeat=repeat,
        arm=arm,
        key=f"{case.replace(' ', '-')}-{place}-{arm.value}",
        usage=Usage(input_tokens=6200, output_tokens=480, cost_usd=0.0312 + 0.01 * place),
        skill_usage=Usage(input_tokens=4100, output_tokens=350, cost_usd=0.0201 + 0.01 * place),
        judge_usage=Usage(input_tokens=2100, output_tokens=130, cost_usd=0.0111),
        duration_secs=11.4 + place,
    )


def _judged(case: str, passed: bool) -> EvalOutcome:
    reason = "It looked at the calendar, offered a time that is free, and changed the entry after a yes."
    doubt = "The new time was offered before the calendar was read."
    votes = [
        Vote(model="opus", value=passed, reason=reason if passed else doubt),
        Vote(model="gpt-5", value=True, reason=reason),
    ]
    return EvalOutcome(
        label=f"the assistant {case}",
        passed=passed,
        detail=BooleanDetail(value=passed, expected=True),
        reason=reason if passed else doubt,
        votes=votes,
        agreement=1.0 if passed else 0.5,
    )


def _talk(passed: bool) -> Transcript:
    look = (
        ToolEvent(kind="tool_call", name="Bash", input={"command": "cat calendar.json"}),
        ToolEvent(kind="tool_result", name="Bash", output='{"tuesday": {"09:00": "Smith", "10:00": null}}', ok=True),
    )
    change = (
        ToolEvent(kind="tool_call", name="Edit", input={"path": "calendar.json", "old": "09:00", "new": "10:00"}),
        ToolEvent(kind="tool_result", name="Edit", output="1 replacement", ok=True),
    )
    return Transcript(
        [
            Message(Role.USER, "Hello, this is Dr. Smith. Can I come an hour later on Tuesday?"),
            Message(
                Role.ASSISTANT,
                "Good morning, Dr. Smith. Ten o'clock on Tuesday is free. Shall I move it?",
                look if passed else (),
            ),
            Message(Role.USER, "Yes, please."),
            Message(Role.ASSISTANT, "Done: Tuesday at 10:00 instead of 9:00.", change),
        ]
    )
