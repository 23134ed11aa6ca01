"""What a run keeps of an action."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET

from trueup.runs import Turn

from ._model import AnyAction, Issue, ToolCallAction

Verdict = Literal["pass", "fail", "not_run"]


def turn_of(
    action: AnyAction,
    *,
    output: Any = UNSET,
    timed_out: bool = False,
    issues: list[Issue] | None = None,
    duration_ms: float | None = None,
) -> Turn:
    """One turn for an action that ran, was refused or was skipped. An absent output says that no tool gave one."""
    if not isinstance(action, ToolCallAction):
        return Turn(parameters=msgspec.to_builtins(action.parameters), output=output, duration_ms=duration_ms)
    drives = action.tool == "drive_cli"
    return Turn(
        prompt=_prompt(action.parameters) if drives else None,
        tool=action.tool,
        parameters=action.parameters,
        output=output,
        cli_outcome=_cli_outcome(output, timed_out) if drives else None,
        verifier_verdict=_verdict(output) if action.tool == "check_outcome" else "not_run",
        policy_rejected=_policy_rejected(issues or []),
        duration_ms=duration_ms,
    )


def _prompt(parameters: dict[str, Any]) -> str | None:
    prompt = parameters.get("prompt")
    return prompt if isinstance(prompt, str) else None


def _cli_outcome(output: Any, timed_out: bool) -> dict[str, Any] | None:
    said = output if isinstance(output, dict) else {}
    if timed_out or said.get("timed_out") is True:
        return {"kind": "timeout"}
    code = said.get("exit_code")
    # `true` is an int to Python, and no exit code to anybody.
    if isinstance(code, int) and not isinstance(code, bool):
        return {"kind": "exited", "code": code}
    return None


def _verdict(output: Any) -> Verdict:
    passed = output.get("passed") if isinstance(output, dict) else None
    if not isinstance(passed, bool):
        return "not_run"
    return "pass" if passed else "fail"


def _policy_rejected(issues: list[Issue]) -> dict[str, Any] | None:
    for issue in issues:
        if issue.kind == "policy":
            return {"rule": issue.rule, "param": None if issue.param is UNSET else issue.param}
    return None
