"""Evals of what the agent did."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scripted_provider import ScriptedProvider, cell_of, seen_call, tool_call
from trueup.skills._case import (
    Activated,
    Called,
    Match,
    Mock,
    NotActivated,
    NotCalled,
    Predicate,
    ToolCalled,
    ToolOrder,
    User,
)
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, MockCall, ToolEvent
from trueup.skills._report import Arm, CallsDetail, CellReport, CellStatus

WORK = AssistantTurn(
    message="Done.",
    events=(
        tool_call("Read", "read", file_path="a.txt"),
        ToolEvent(kind="tool_result", output="Bash"),
        tool_call("Bash", "shell", command="git push --force", depth=3, quiet=True),
        tool_call("Bash", "shell", command="ls"),
    ),
)


async def seen(*evals, turn: AssistantTurn = WORK, **given) -> CellReport:
    return await run_cell(cell_of(*evals, **given), ScriptedProvider(turn))


@pytest.mark.parametrize(
    ("eval_", "passed"),
    [
        (ToolCalled(tool="Bash"), True),
        (ToolCalled(tool="bash"), True),
        (ToolCalled(tool="shell"), True),
        (ToolCalled(tool="Write"), False),
        (ToolCalled(tool="Write", expected=False), True),
        (ToolCalled(tool="shell", expected=False), False),
        (ToolCalled(tool="shell", times=2), True),
        (ToolCalled(tool="shell", times=1), False),
        (ToolCalled(tool="write", times=0), True),
        (ToolCalled(tool="shell", input={"command": "ls"}), True),
        (ToolCalled(tool="shell", input={"command": Predicate(contains="push")}, times=1), True),
        (ToolCalled(tool="shell", input={"command": Predicate(pattern="^git .*--force$")}), True),
        (ToolCalled(tool="shell", input={"command": Predicate(contains="push", pattern="^ls")}), False),
        (ToolCalled(tool="shell", input={"depth": 3}), True),
        (ToolCalled(tool="shell", input={"depth": "3"}), True),
        (ToolCalled(tool="shell", input={"depth": True}), False),
        (ToolCalled(tool="shell", input={"quiet": 1}), False),
        (ToolCalled(tool="shell", input={"quiet": True}), True),
        (ToolCalled(tool="shell", input={"cwd": "/"}), False),
        (ToolOrder(tools=["read", "bash", "shell"]), True),
        (ToolOrder(tools=["bash", "read"]), False),
        (ToolOrder(tools=["bash", "bash", "bash"]), False),
    ],
)
async def test_tools_are_known_by_name_or_kind(eval_, passed: bool):
    report = await seen(eval_)
    assert report.error is None
    assert report.evals[0].passed is passed, report.evals[0].reason


async def test_the_reason_tells_what_was_called_instead():
    report = await seen(ToolCalled(tool="Write"), ToolOrder(tools=["Bash", "Write"]))
    assert report.evals[0].reason == "Write was never called (all calls: Read, Bash × 2)."
    assert report.evals[1].reason == "Write was not called in its turn of Bash, Write (all calls: Read, Bash × 2)."


async def test_calls_of_all_turns_count():
    report = await seen(ToolCalled(tool="shell", times=4), user=User(persona="a guest"), max_turns=2)
    assert report.passed


@pytest.mark.parametrize("eval_", [ToolCalled(tool="Bash", expected=False), ToolOrder(tools=["Bash"])])
async def test_a_platform_that_does_not_tell_its_tools_is_an_error_and_no_pass(eval_):
    report = await seen(eval_, turn=AssistantTurn(message="Done.", events_told=False))
    assert report.status is CellStatus.ERROR
    assert report.error is not None
    assert "does not tell which tools" in report.error.message


MOCKS = (
    Mock(name="git", match=Match(tool="bash", pattern=r"\bgit\b")),
    Mock(name="push", match=Match(tool="bash", contains="git push"), stub="Everything up-to-date"),
    Mock(match=Match(contains="rm -rf"), deny="blocked"),
)
WATCHED = AssistantTurn(
    message="Done.",
    mock_calls=(
        seen_call("Bash", "git status"),
        seen_call("Bash", "git push origin", "stub", 0),
        seen_call("Bash", "rm -rf /", "deny", 1),
        MockCall(tool="Read", input={"file_path": "git push"}),
    ),
)


@pytest.mark.parametrize(
    ("eval_", "passed", "count"),
    [
        (Called(mock="push"), True, 1),
        (Called(mock="push", times=1), True, 1),
        (Called(mock="push", times=2), False, 1),
        (Called(mock="push", where={"command": Predicate(contains="origin")}), True, 1),
        (Called(mock="push", where={"command": "git push"}), False, 0),
        (NotCalled(mock="push"), False, 1),
        (NotCalled(mock="push", where={"command": Predicate(contains="--force")}), True, 0),
        (Called(mock="git", times=2), True, 2),
        (Called(mock="mock_2"), True, 1),
    ],
)
async def test_a_mock_counts_what_it_answered_and_a_spy_all_that_it_matches(eval_, passed: bool, count: int):
    report = await seen(eval_, turn=WATCHED, mocks=MOCKS)
    assert report.error is None
    outcome = report.evals[0]
    assert outcome.passed is passed, outcome.reason
    assert outcome.detail == CallsDetail(
        count=count, negated=isinstance(eval_, NotCalled), times=getattr(eval_, "times", None)
    )


async def test_the_report_names_the_mock_that_answered():
    report = await seen(Called(mock="push"), turn=WATCHED, mocks=MOCKS)
    assert report.mock_calls is not None
    assert [call.mock for call in report.mock_calls] == [None, "push", "mock_2", None]
    assert "Bash(git push origin) [stub]" in report.evals[0].reason


async def test_a_provider_gets_the_mocks_and_none_where_nobody_watches():
    provider = ScriptedProvider(replace(WATCHED, mock_calls=()))
    await run_cell(cell_of(ToolCalled(tool="x"), spy=True), provider)
    await run_cell(cell_of(ToolCalled(tool="x"), mocks=MOCKS), provider)
    await run_cell(cell_of(ToolCalled(tool="x")), provider)
    assert [request.mocks for request in provider.requests] == [(), MOCKS, None]


async def test_a_provider_that_ignores_the_mocks_is_an_error():
    report = await seen(NotCalled(mock="push"), turn=AssistantTurn(message="Done."), mocks=MOCKS)
    assert report.error is not None
    assert (report.error.kind, report.error.context) == ("protocol", "respond")


async def test_a_channel_that_did_not_see_what_was_called_vouches_for_nothing():
    called = ToolEvent(kind="tool_call", name="bash", input={"command": "git push"})
    deaf = AssistantTurn(message="Done.", events=(called,), mock_calls=())
    report = await seen(NotCalled(mock="push"), turn=deaf, mocks=MOCKS)
    assert report.error is not None
    assert (report.error.kind, report.error.context) == ("protocol", "respond")
    assert "bash" in report.error.message
    heard = AssistantTurn(message="Done.", events=(called,), mock_calls=(MockCall(tool="Bash", input={}),))
    assert (await seen(NotCalled(mock="push"), turn=heard, mocks=MOCKS)).passed


async def test_an_eval_about_no_mock_of_the_case_is_an_error_of_input():
    report = await seen(NotCalled(mock="psuh"), turn=WATCHED, mocks=MOCKS)
    assert report.error is not None
    assert report.error.kind == "input"
    assert "it has: git, push, mock_2" in report.error.message


async def test_nothing_watched_is_not_nothing_called():
    report = await seen(NotCalled(mock="push"))
    assert report.error is not None
    assert "nobody watched" in report.error.message


@pytest.mark.parametrize(
    ("turns", "activated"),
    [
        ([True], True),
        ([False], False),
        ([False, True], True),
        ([True, None], True),
        ([False, None], None),
        ([None], None),
    ],
)
async def test_a_skill_is_used_if_it_was_in_any_turn(turns: list[bool | None], activated: bool | None):
    replies = [AssistantTurn(message="Hi.", activated=each) for each in turns]
    spec = cell_of(Activated(), NotActivated(), user=User(persona="a guest"), max_turns=len(turns))
    report = await run_cell(spec, ScriptedProvider(*replies))
    assert report.activated is activated
    if activated is None:
        assert report.error is not None
        assert "could not be seen" in report.error.message
    else:
        assert [each.passed for each in report.evals] == [activated, not activated]


async def test_without_the_skill_none_is_used():
    report = await seen(Activated(), NotActivated(), arm=Arm.WITHOUT)
    assert [each.passed for each in report.evals] == [False, True]
