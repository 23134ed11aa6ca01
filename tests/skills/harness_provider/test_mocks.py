"""Mocks: which call is meant, what is done about it, and what is told of it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from skill_desk import mocks, script
from trueup.core.errors import Kind
from trueup.core.process import Command, run
from trueup.core.protocols import Action
from trueup.harness import Ask, HarnessRequest, Instead, Mode, PermissionDecided, ToolCall
from trueup.harness._claude_talk import ClaudeConversation
from trueup.harness._codex_asks import Questions
from trueup.skills._case import Match, Mock, Predicate, Stub
from trueup.skills._harness_provider._gate import MockGate
from trueup.skills._harness_provider._witness import Witness
from trueup.skills._mocks import MockAction, as_command, decide, stub_of
from trueup.skills._model import MockCall, ProviderError
from trueup.testing import EventLog

PUSH = {"command": 'git push --force "origin"'}


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (Match(tool="bash"), True),
        (Match(tool="read"), False),
        (Match(contains="git push"), True),
        (Match(contains='\\"origin\\"'), True),
        (Match(contains='"origin"'), False),
        (Match(pattern=r"git push( --force)?\b"), True),
        (Match(pattern="^git"), False),
        (Match(input={"command": Predicate(contains="origin", pattern="^git")}), True),
        (Match(input={"command": "git push"}), False),
        (Match(input={"file_path": Predicate(contains="")}), False),
        (Match(tool="BASH", contains="push", input={"command": Predicate(contains="pull")}), False),
    ],
)
def test_everything_that_is_given_must_hold(match, expected):
    told = decide([Mock(match=match, deny="no")], "Bash", PUSH)
    assert (told.action is MockAction.DENY) is expected


def test_the_first_with_an_action_wins_and_a_spy_decides_nothing():
    spy = Mock(match=Match(tool="bash"), name="all")
    declared = [
        spy,
        Mock(match=Match(contains="pull"), deny="no"),
        Mock(match=Match(contains="push"), stub="up to date"),
    ]
    declared.append(Mock(match=Match(tool="bash"), name="rest", deny="never"))
    told = decide(declared, "Bash", PUSH)
    assert (told.action, told.rule, told.name) == (MockAction.STUB, 1, "mock_2")
    assert decide([spy], "Bash", PUSH).action is MockAction.ALLOW


def test_a_list_of_stubs_is_gone_through_and_its_last_one_stays():
    mock = Mock(match=Match(tool="bash"), stub=["queued", Stub(output="failed", exit_code=1)])
    assert [stub_of(mock, earlier).output for earlier in range(4)] == ["queued", "failed", "failed", "failed"]


@pytest.mark.parametrize(("output", "code"), [("plain", 0), ("it's $HOME `x` %s \\n\nnext", 3), ("-n", 0), ("", 300)])
async def test_the_command_of_a_stub_prints_and_exits_and_does_nothing_else(output, code):
    finished = await run(Command(argv=("bash", "-c", as_command(Stub(output=output, exit_code=code)))))
    assert (finished.stdout.text, finished.exit_code) == (output, code % 256)


async def test_a_shell_command_is_answered_by_another_in_the_order_of_the_cell():
    used: Counter[int] = Counter()
    mock = Mock(match=Match(contains="status"), stub=["queued", Stub(output="done", exit_code=2)])
    asked = Action("Bash", {"command": "jobctl status", "timeout": 5})
    first = await MockGate([mock], used).decide(asked)
    later = await MockGate([mock], used).decide(asked)
    assert isinstance(first, Instead)
    assert not first.allowed
    assert first.params == {"command": "printf '%s' queued", "timeout": 5}
    assert later.params["command"] == "printf '%s' done; (exit 2)"


async def test_a_rewrite_changes_the_arguments_that_it_gives():
    mock = Mock(match=Match(tool="read"), rewrite={"file_path": "fixture.yaml"})
    told = await MockGate([mock], Counter()).decide(Action("Read", {"file_path": "prod.yaml", "limit": 9}))
    assert (told.allowed, told.params) == (False, {"file_path": "fixture.yaml", "limit": 9})


async def test_a_stub_for_what_is_no_command_is_read_as_the_refusal_and_noted():
    gate = MockGate([Mock(match=Match(tool="webfetch"), name="page", stub="It is Monday.")], Counter())
    told = await gate.decide(Action("WebFetch", {"url": "http://x"}))
    assert (told.allowed, told.reason, isinstance(told, Instead)) == (False, "It is Monday.", False)
    assert "mock 'page' answered a call of WebFetch" in gate.notes[0]


def test_claude_is_told_the_other_parameters_and_codex_which_cannot_be_told_is_refused():
    instead = Instead(allowed=False, reason="answered by a mock", params={"command": "printf x"})
    claude = ClaudeConversation(HarnessRequest(prompt=""))
    told = json.loads(claude.answer(Ask("1", Action("Bash", {"command": "ls"})), instead))
    assert told["response"]["response"]["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "printf x"},
    }
    codex = Questions(Mode.FULL)
    [ask] = codex.take(7, "item/commandExecution/requestApproval", {"itemId": "1", "command": "ls"})
    assert json.loads(codex.answer(ask, instead)) == {"id": 7, "result": {"decision": "decline"}}


async def test_a_denied_call_is_not_made_and_everything_else_is_and_all_of_it_is_told(desk):
    danger = Mock(match=Match(tool="bash", contains="touch bad"), name="danger", deny="not in this house")
    done = script("shell touch good", "shell touch bad", "write also.txt x", "say Done.")
    turn = await desk.respond(done, **mocks(Mock(match=Match(tool="bash"), name="spy"), danger))
    assert sorted(file.name for file in desk.folder.iterdir()) == ["also.txt", "good"]
    assert turn.mock_calls == (
        MockCall(tool="Bash", input={"command": "touch good"}),
        MockCall(tool="Bash", input={"command": "touch bad"}, action="deny", rule=0, mock="danger"),
        MockCall(tool="Write", input={"file_path": "also.txt", "content": "x"}),
    )
    assert [event.ok for event in turn.events if event.kind == "tool_result"] == [True, False, True]


async def test_spies_alone_watch_wherever_tools_are_told(desk):
    turn = await desk.respond(script("shell ls", "say Done."), platform="codex", **mocks())
    assert turn.mock_calls == (MockCall(tool="command_execution", input={"command": "ls"}),)


async def test_watched_and_nothing_called_is_an_empty_list_and_not_nothing(desk):
    assert (await desk.respond(script("say Done."), **mocks())).mock_calls == ()
    assert (await desk.respond(script("say Done."))).mock_calls is None


async def test_what_a_harness_cannot_mock_is_refused_and_not_run(desk):
    with pytest.raises(ProviderError, match="stub cannot be done on codex in mode 'full': it can deny") as raised:
        await desk.respond(
            script("shell touch ran"), platform="codex", **mocks(Mock(match=Match(tool="bash"), stub="x"))
        )
    assert raised.value.kind is Kind.INPUT
    assert list(desk.folder.iterdir()) == []


async def test_a_call_that_escaped_its_mock_is_found_out():
    declared = [Mock(match=Match(contains="weather"), name="web", deny="no")]
    gate = MockGate(declared, Counter())
    witness = Witness(EventLog(), gate)
    await witness.record(ToolCall("command_execution", "1", input={"command": "weather --now"}))
    await gate.decide(Action("command_execution", {"command": "weather --now"}))
    await witness.record(PermissionDecided("1", "command_execution", False))
    assert witness.escaped(declared) is None
    await witness.record(ToolCall("web_search", "2", input={"query": "weather"}))
    assert "web_search was called and nobody was asked before, although mock 'web'" in (witness.escaped(declared) or "")


async def test_decisions_that_are_told_late_still_go_to_their_calls():
    declared = [Mock(match=Match(contains="bad"), name="danger", deny="no")]
    gate = MockGate(declared, Counter())
    witness = Witness(EventLog(), gate)
    for number, command in enumerate(("good", "bad")):
        await witness.record(ToolCall("Bash", str(number), input={"command": command}))
        await gate.decide(Action("Bash", {"command": command}))
    for number in range(2):
        await witness.record(PermissionDecided(str(number), "Bash", number == 0))
    assert [call.action for call in witness.calls] == ["allow", "deny"]
