"""Evals once more, on what was said before."""

from __future__ import annotations

import msgspec
import pytest

from scripted_provider import ScriptedProvider, cell_of, refusal, tool_call
from trueup.core.usage import Usage
from trueup.skills._case import Boolean, CommandEval, Contains, CostBelow, FileEval, ToolCalled
from trueup.skills._cell import can_regrade, regrade_cell, run_cell
from trueup.skills._model import AssistantTurn, Judgement, RespondRequest
from trueup.skills._report import CellReport, CellStatus

POLITE = Boolean(criterion="it is polite")
PAID = Usage(input_tokens=10, output_tokens=2, cost_usd=0.5)


async def greet(request: RespondRequest) -> AssistantTurn:
    (request.folder / "hello.txt").write_text("Hello!")
    return AssistantTurn(message="Hello, Ada!", usage=PAID, events=(tool_call("Write", "write", path="hello.txt"),))


async def test_only_the_evals_are_done_again():
    first = await run_cell(cell_of(POLITE, Contains(text="Bob"), CostBelow(usd=1)), ScriptedProvider(greet))
    judge = ScriptedProvider(verdicts=Judgement(value=False, reason="Curt.", usage=Usage(input_tokens=3)))
    spec = cell_of(POLITE, Contains(text="Ada"), CostBelow(usd=1), ToolCalled(tool="write"), judges=("opus",))
    again = await regrade_cell(spec, msgspec.convert(msgspec.to_builtins(first), CellReport), judge)
    assert judge.requests == []
    assert [model for model, _, _ in judge.judged] == ["opus"]
    assert [each.passed for each in again.evals] == [False, True, True, True]
    assert again.status is CellStatus.FAILED
    assert again.evals[0].reason == "Curt."
    assert (again.usage, again.judge_usage) == (Usage(input_tokens=3), Usage(input_tokens=3))
    assert again.skill_usage == PAID
    assert again.transcript == first.transcript
    assert again.key == spec.key != first.key


async def test_what_needs_the_workspace_stays_as_it_was_with_a_note():
    evals = (FileEval(path="hello.txt"), CommandEval(command="grep -q Bob hello.txt"), POLITE)
    first = await run_cell(cell_of(*evals), ScriptedProvider(greet))
    again = await regrade_cell(cell_of(*evals), first, ScriptedProvider(verdicts=False))
    assert again.evals[:2] == first.evals[:2]
    assert [each.passed for each in again.evals] == [True, False, False]
    assert again.notes == [
        "not looked at again, as the workspace is gone: file hello.txt, command grep -q Bob hello.txt"
    ]
    third = await regrade_cell(cell_of(*evals), again, ScriptedProvider())
    assert third.notes == again.notes


async def test_what_was_never_looked_at_cannot_be_now():
    first = await run_cell(cell_of(POLITE), ScriptedProvider(greet))
    again = await regrade_cell(cell_of(POLITE, FileEval(path="hello.txt")), first, ScriptedProvider())
    assert again.status is CellStatus.ERROR
    assert again.error is not None
    assert "run it again" in again.error.message


async def test_a_cell_that_only_its_judge_failed_gets_its_verdict():
    first = await run_cell(cell_of(POLITE, FileEval(path="hello.txt")), ScriptedProvider(greet, verdicts=refusal()))
    assert first.status is CellStatus.ERROR
    again = await regrade_cell(cell_of(POLITE, FileEval(path="hello.txt")), first, ScriptedProvider())
    assert (again.status, again.error) == (CellStatus.PASSED, None)
    assert [each.label for each in again.evals] == ["it is polite", "file hello.txt"]


async def test_a_judge_that_fails_again_is_an_error():
    first = await run_cell(cell_of(POLITE), ScriptedProvider())
    again = await regrade_cell(cell_of(POLITE), first, ScriptedProvider(verdicts=refusal()))
    assert again.error is not None
    assert (again.error.kind, again.passed, again.evals) == ("rate_limit", False, [])


@pytest.mark.parametrize("failure", [refusal()])
async def test_a_conversation_that_broke_off_is_given_back_as_it_is(failure):
    first = await run_cell(cell_of(POLITE), ScriptedProvider(failure))
    assert not can_regrade(first)
    judge = ScriptedProvider()
    again = await regrade_cell(cell_of(POLITE), first, judge)
    assert again.error == first.error
    assert again.notes == ["not regraded: the conversation did not come to its end"]
    assert judge.judged == []


async def test_tools_that_could_not_be_seen_cannot_be_seen_later():
    blind = AssistantTurn(message="Done.", events_told=False)
    first = await run_cell(cell_of(Contains(text="Done")), ScriptedProvider(blind))
    again = await regrade_cell(cell_of(ToolCalled(tool="Bash", expected=False)), first, ScriptedProvider())
    assert again.status is CellStatus.ERROR
