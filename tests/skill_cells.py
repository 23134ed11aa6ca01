"""Cells of a report, as short as a test can say them."""

from __future__ import annotations

from typing import Any

from trueup.core.usage import Usage
from trueup.skills._model import Message, Role
from trueup.skills._report import (
    About,
    Arm,
    BooleanDetail,
    CellError,
    CellReport,
    CellStatus,
    EvalOutcome,
    Transcript,
)

ABOUT = About(trueup="0", provider="command", judge_models=["judge"], prompts="p1", versions={"claude-code": "2.1"})


def cell(case: str = "greets", status: str = "passed", **given: Any) -> CellReport:
    """A cell that ended as it is said."""
    passed = status == "passed"
    fields: dict[str, Any] = {
        "case": case,
        "skill": "skills/greeter",
        "platform": "claude-code",
        "model": "sonnet",
        "passed": passed,
        "turns": 1,
        "evals": [outcome(passed)] if status in ("passed", "failed") else [],
        "transcript": Transcript([Message(Role.USER, "Greet Ada."), Message(Role.ASSISTANT, "Hello, Ada!")]),
        "status": CellStatus(status),
        "repeat": 1,
        "arm": Arm.WITH,
        "key": f"key-of-{case}",
        "usage": Usage(input_tokens=10, output_tokens=2, cost_usd=0.5),
        "duration_secs": 2.0,
    }
    if status == "error":
        fields["error"] = CellError(kind="rate_limit", message="too many calls", context="respond")
    return CellReport(**fields | given)


def outcome(passed: bool, label: str = "greets by name", reason: str = "It names Ada.") -> EvalOutcome:
    """What a judge said of one criterion."""
    return EvalOutcome(label=label, passed=passed, detail=BooleanDetail(value=passed, expected=True), reason=reason)
