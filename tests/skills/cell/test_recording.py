"""A cell as a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from command_line import call
from scripted_provider import ScriptedProvider, cell_of, refusal, tool_call
from trueup.core.usage import Usage
from trueup.harness import Message as Said
from trueup.harness import ToolCall
from trueup.runs import Ended, EventRecord, ModelTurn, RunStore, Started
from trueup.skills._case import Boolean, Contains, User
from trueup.skills._cell import regrade_cell, run_cell
from trueup.skills._model import AssistantTurn, RespondRequest
from trueup.skills._report import CellStatus

POLITE = Boolean(criterion="it is polite")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


@pytest.fixture
async def runs(url: str) -> AsyncIterator[RunStore]:
    async with await RunStore.open(url) as store:
        yield store


async def records(runs: RunStore, run_id: str | None) -> list:
    assert run_id is not None
    return [stored.record for stored in await runs.trace(run_id)]


def kinds(found: list) -> list[str]:
    return [each.type if isinstance(each, EventRecord) else str(each.__struct_config__.tag) for each in found]


async def test_every_call_of_the_provider_is_a_turn(runs: RunStore):
    reply = AssistantTurn(message="Hello, Ada!", usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5))
    user = User(persona="a guest", done_when="it is booked", max_turns=2)
    provider = ScriptedProvider(reply, verdicts={"it is booked": [False], "": [True]})
    report = await run_cell(cell_of(POLITE, user=user), provider, runs=runs)
    found = await records(runs, report.run_id)
    assert kinds(found) == [
        *["started", "respond", "model_turn", "done_when", "model_turn", "user", "model_turn"],
        *["respond", "model_turn", "judge", "model_turn", "eval", "ended"],
    ]
    started, asked, turn = found[:3]
    assert isinstance(started, Started)
    assert started.intent == "test 'greets' with skill greeter on claude-code sonnet, repeat 1"
    assert started.data["key"] == report.key
    assert asked.data == {"turn": 1, "platform": "claude-code", "said": "Greet Ada."}
    assert isinstance(turn, ModelTurn)
    assert (turn.assistant_text, turn.model_id, turn.token_usage) == ("Hello, Ada!", "sonnet", reply.usage)
    assert turn.duration_ms is not None
    judge, verdict, outcome, ended = found[-4:]
    assert judge.data == {"criterion": "it is polite", "value": True}
    assert (verdict.assistant_text, verdict.model_id) == ("true: So I say.", "haiku")
    assert outcome.data["label"] == "it is polite"
    assert isinstance(ended, Ended)
    assert (ended.status, ended.summary) == ("completed", "passed: 1 of 1 evals passed")


async def test_tools_are_recorded_once_whether_told_meanwhile_or_with_the_reply(runs: RunStore):
    async def tell(request: RespondRequest) -> AssistantTurn:
        await request.recorder.record(ToolCall("Bash", input={"command": "ls"}))
        return AssistantTurn(message="Done.", events=(tool_call("Bash", "shell", command="ls"),))

    async def talk(request: RespondRequest) -> AssistantTurn:
        await request.recorder.record(Said("Let me see."))
        return silent

    silent = AssistantTurn(message="Done.", events=(tool_call("Bash", "shell", command="ls"),))
    for reply in (tell, talk, silent):
        report = await run_cell(cell_of(Contains(text="Done")), ScriptedProvider(reply), runs=runs)
        found = await records(runs, report.run_id)
        assert [kind for kind in kinds(found) if kind != "message"][:4] == [
            *["started", "respond", "tool_call", "model_turn"]
        ]
        calls = [each for each in found if isinstance(each, EventRecord) and each.type == "tool_call"]
        assert [call.data["input"] for call in calls] == [{"command": "ls"}]
        turn = next(each for each in found if isinstance(each, ModelTurn))
        assert turn.requested_tool_calls == [{"name": "Bash"}]


async def test_a_cell_that_fails_half_way_is_an_incomplete_run(runs: RunStore):
    report = await run_cell(cell_of(POLITE), ScriptedProvider(refusal()), runs=runs)
    found = await records(runs, report.run_id)
    assert kinds(found) == ["started", "respond", "respond_failed", "ended"]
    assert found[2].data["kind"] == "rate_limit"
    assert found[3].status == "incomplete"
    assert found[3].termination == "respond: too many requests; wait a minute"


async def test_a_cancelled_cell_is_a_cancelled_run(runs: RunStore):
    begun = asyncio.Event()

    async def linger(request: RespondRequest) -> AssistantTurn:
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError

    cell = asyncio.create_task(run_cell(cell_of(POLITE), ScriptedProvider(linger), runs=runs))
    await begun.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert [run.status for run in await runs.list()] == ["cancelled"]


@pytest.mark.parametrize("steps", range(1, 9))
async def test_a_cell_cancelled_at_once_leaves_no_open_run(runs: RunStore, steps: int):
    cell = asyncio.create_task(run_cell(cell_of(POLITE), ScriptedProvider(), runs=runs))
    for _ in range(steps):
        await asyncio.sleep(0)
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    # Whatever was on its way to the store has arrived when something later has.
    await runs.start(Started("later"), run_id="later")
    found = {run.run_id: run.status for run in await runs.list()}
    assert found.pop("later") == "in_progress"
    assert "in_progress" not in found.values()


async def test_a_run_has_the_owner_that_it_is_given(runs: RunStore):
    async with runs.owning() as owner:
        report = await run_cell(cell_of(POLITE), ScriptedProvider(), runs=runs, owner=owner)
    assert report.notes == []
    assert (await records(runs, report.run_id))[-1].status == "completed"


async def test_what_cannot_be_recorded_breaks_no_cell(url: str):
    store = await RunStore.open(url)

    async def break_down(request: RespondRequest) -> AssistantTurn:
        await store.aclose()
        await request.recorder.record(ToolCall("Bash"))
        return AssistantTurn(message="Hello!")

    report = await run_cell(cell_of(POLITE), ScriptedProvider(break_down), runs=store)
    assert report.status is CellStatus.PASSED
    assert len(report.notes) == 1
    assert "not recorded as a whole" in report.notes[0]
    unrecorded = await run_cell(cell_of(POLITE), ScriptedProvider(), runs=store)
    assert (unrecorded.status, unrecorded.run_id) == (CellStatus.PASSED, None)
    assert len(unrecorded.notes) == 1


async def test_a_cell_can_be_opened_on_the_command_line(tmp_path: Path, url: str, runs: RunStore):
    reply = AssistantTurn(message="Hello, Ada!", usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5))
    report = await run_cell(cell_of(POLITE, Contains(text="Bob")), ScriptedProvider(reply), runs=runs)
    env = {**os.environ, "TRUEUP_DATABASE_URL": url}
    shown = await call("runs", "show", str(report.run_id), cwd=tmp_path, env=env)
    assert shown.exit_code == 0, shown.stderr.text
    lines = [" ".join(line.split()) for line in shown.stdout.text.splitlines()]
    assert any("turn 0 sonnet Hello, Ada!" in line for line in lines)
    assert any('judge {"criterion":"it is polite","value":true}' in line for line in lines)
    assert any("turn 1 haiku true: So I say." in line for line in lines)
    assert any("eval" in line and "does not contain 'Bob'" in line for line in lines)
    assert any("failed: 1 of 2 evals passed; not contains 'Bob'" in line for line in lines)


async def test_a_regraded_cell_is_a_run_that_names_the_first(runs: RunStore):
    report = await run_cell(cell_of(POLITE), ScriptedProvider(), runs=runs)
    again = await regrade_cell(cell_of(POLITE), report, ScriptedProvider(), runs=runs)
    assert again.run_id != report.run_id
    found = await records(runs, again.run_id)
    assert found[0].data["regrades"] == report.run_id
    assert kinds(found) == ["started", "judge", "model_turn", "eval", "ended"]
