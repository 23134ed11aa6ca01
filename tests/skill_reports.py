"""Skill reports with everything that a page of one shows, as an agent and a panel of judges would leave it."""

from __future__ import annotations

from msgspec.structs import replace

from skill_cells import ABOUT, cell, outcome
from trueup.skills import Arm, Message, MockCall, Report, Role, ToolEvent, build_report
from trueup.skills._report import Transcript, Vote

CASES = ["greets by name", "moves an appointment", "asks before it cancels", "answers in the patient's language"]
PLACES = [("claude-code", "sonnet"), ("claude-code", "opus"), ("codex", "gpt-5")]
EVIL = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)> \x1b[31m \u202e \udcff \"'&{{ 7*7 }}"


def full_report(better: bool = False) -> Report:
    """Four cases on three platforms and models, three repeats, both arms; one that ended in an error, and one not run."""
    cells = []
    for number, case in enumerate(CASES):
        for place, (platform, model) in enumerate(PLACES):
            for repeat in (1, 2, 3):
                passed = better or (number + place + repeat) % 4 != 0
                given = {"platform": platform, "model": model, "repeat": repeat}
                cells.append(cell(case, "passed" if passed else "failed", key=f"{number}{place}a", **given))
                if repeat == 1:
                    bare = "passed" if number == 0 else "failed"
                    cells.append(cell(case, bare, key=f"{number}{place}b", arm=Arm.WITHOUT, **given))
    cells[0] = talkative(cells[0])
    cells[-2] = cell(CASES[3], "error", platform="codex", model="gpt-5", repeat=3, key="32a")
    cells.append(cell("reads no other calendar", "skipped", key="40a", run_id=None))
    return build_report(cells, ABOUT, partial=True, notes=["the budget is used up: 1 cell was not begun"])


def evil_report() -> Report:
    """A report in which whatever can be written by somebody else tries to be more than text."""
    bad = talkative(cell(f"evil {EVIL}", "failed", key="e" * 64, skill=EVIL, run_id="no-run-of-ours"), EVIL)
    about = replace(ABOUT, judge_models=[EVIL], versions={EVIL: EVIL}, provider=EVIL)
    return build_report([replace(bad, platform=EVIL, model=EVIL, notes=[EVIL])], about, notes=[EVIL])


def talkative(found, text: str = "Could you move my appointment?"):
    """The same cell with tool calls, votes, and calls that mocks saw."""
    tools = (
        ToolEvent(kind="tool_call", name=f"Bash {text[:30]}", input={"command": f"cat calendar.json # {text}"}),
        ToolEvent(kind="tool_result", name="Bash", output=f'{{"monday": "Smith"}} {text}', ok=False),
    )
    messages = [Message(Role.USER, text), Message(Role.ASSISTANT, f"It is on Tuesday now.\n{text}", tools)]
    votes = [Vote(model=text[:20], value=True, reason=text), Vote(model="gpt-5", value=False, reason="It did not ask.")]
    judged = replace(outcome(found.passed, label=text, reason=text), votes=votes, agreement=0.5)
    calls = [MockCall(tool="Bash", input={"command": text}, action="stub", mock=text)]
    return replace(found, evals=[judged], transcript=Transcript(messages), mock_calls=calls)
