"""The native agent at work: a task over several turns, told as it goes, for every vendor."""

from __future__ import annotations

import subprocess

import pytest

from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Message, PermissionDecided, Retried, ToolCall, ToolKind, ToolResult, UsageReported
from trueup.native import LOOKING
from trueup.testing import Answer, Fault, ScriptedModel, Text, Tokens, Tool

every_wire = pytest.mark.parametrize("wire", ["anthropic", "chat", "responses"])
RUN = "python3 -c 'import calc; print(calc.add(2, 3))'"


@every_wire
async def test_a_task_is_done_over_several_turns(desk, wire):
    script = [
        [Text("I look."), Tool.read("calc.py"), Tool("search", {"pattern": "add"})],
        Tool.edit("calc.py", "a - b", "a + b"),
        Tool.shell(RUN),
        "add() adds now.",
    ]
    async with ScriptedModel(script) as model:
        outcome = await desk.work(model, wire=wire)
        assert model.asked[-1].tool_results == [
            "def add(a, b):\n    return a - b\n",
            "./calc.py:1:def add(a, b):",
            "[1 replaced]",
            "5\n",
        ]
    assert (outcome.ok, outcome.text, outcome.turns) == (True, "add() adds now.", 4)
    assert (desk.folder / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"


@every_wire
async def test_everything_is_told_while_it_happens(desk, denies, wire):
    async with ScriptedModel([[Text("I run it."), Tool("shell", {"command": RUN}, id="c1")], "Done."]) as model:
        outcome = await desk.work(model, wire=wire, gate=denies("nothing"))
    kinds = [type(event) for event in desk.log.events]
    assert kinds == [UsageReported, Message, ToolCall, PermissionDecided, ToolResult, UsageReported, Message]
    [call], [decided], [result] = desk.heard(ToolCall), desk.heard(PermissionDecided), desk.heard(ToolResult)
    assert (call.name, call.tool_kind, call.input["command"]) == ("shell", ToolKind.SHELL, RUN)
    assert (result.id, result.ok, result.output, decided.id, decided.allowed) == (call.id, True, "-1\n", call.id, True)
    assert 0 < result.duration_secs < 10
    assert outcome.usage == Usage.total([event.usage for event in desk.heard(UsageReported)])


async def test_the_model_knows_where_it_works_and_what_it_was_told_besides(desk):
    async with ScriptedModel(["Done."]) as model:
        await desk.work(model, system="Speak like a pirate.")
        [request] = model.asked
        assert f"Working directory: {desk.folder}\n" in request.system
        assert request.system.endswith("\n\nSpeak like a pirate.")
        assert request.prompt == "make add() correct"
        assert [tool.name for tool in request.tools] == ["shell", "read", "write", "edit", "search"]


async def test_a_model_that_may_only_look_cannot_write(desk):
    write = Tool("write", {"path": "calc.py", "content": "gone"})
    [told] = await desk.told(write, tools=LOOKING)
    assert told == "there is no tool 'write'; there are read, search"
    assert (desk.folder / "calc.py").read_text().startswith("def add")


async def test_a_refused_call_is_not_made_and_the_model_is_told_why(desk, denies):
    gate = denies("push")
    async with ScriptedModel([Tool.shell("touch pushed; git push"), "I leave it."]) as model:
        outcome = await desk.work(model, gate=gate)
        assert model.asked[1].tool_results == ["refused: not in this house; do not try to get around it"]
        assert model.asked[1].body["messages"][-1]["content"][0]["is_error"] is True
    assert not (desk.folder / "pushed").exists()
    assert (outcome.ok, outcome.denied) == (True, ["touch pushed; git push"])
    [decided] = desk.heard(PermissionDecided)
    assert (decided.tool, decided.allowed, decided.reason) == ("shell", False, "not in this house")


async def test_a_gate_sees_the_file_that_is_meant_whatever_way_leads_there(desk, denies):
    gate = denies(".git/config")
    before = (desk.folder / ".git" / "config").read_text()
    ways = ["src/../.git/config", f"{desk.folder}/.git/./config", ".//.git//config"]
    tools = [Tool("write", {"path": way, "content": "[evil]"}) for way in ways]
    told = await desk.told(*tools, Tool("edit", {"path": ways[0], "old": "bare", "new": "evil"}), gate=gate)
    assert [action.params["path"] for action in gate.asked] == [".git/config"] * 4
    assert {text.partition(";")[0] for text in told} == {"refused: not in this house"}
    assert (desk.folder / ".git" / "config").read_text() == before


async def test_a_conversation_can_be_gone_on_with(desk):
    async with ScriptedModel([Tool.shell("echo one"), "First done.", "Second done."]) as model:
        first = await desk.work(model)
        second = await desk.work(model, prompt="and now the rest", history=first.history)
        said = [(said.role, said.text) for said in model.asked[-1].conversation if said.role != "system"]
    assert second.text == "Second done."
    assert [text for role, text in said if role == "user"] == ["make add() correct", "and now the rest"]
    assert ("assistant", "First done.") in said
    assert (first.turns, second.turns) == (2, 1)


async def test_a_busy_server_is_waited_for(desk):
    async with ScriptedModel([Fault(429, retry_after=0), "Done."]) as model:
        outcome = await desk.work(model)
    assert (outcome.ok, outcome.text, outcome.turns) == (True, "Done.", 1)


@every_wire
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (401, Kind.AUTH),
        (429, Kind.RATE_LIMIT),
        (500, Kind.OVERLOADED),
        ("refusal", Kind.REFUSED),
        ("garbage", Kind.PROTOCOL),
    ],
)
async def test_what_a_server_does_is_an_outcome_with_its_kind(desk, wire, fault, kind):
    async with ScriptedModel([Tool.write("new.txt", "kept"), Fault(fault)]) as model:
        outcome = await desk.work(model, wire=wire)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)
    assert "127.0.0.1" in outcome.error
    assert (desk.folder / "new.txt").read_text() == "kept"
    assert outcome.usage.incomplete is (fault == "garbage")


async def test_a_refusal_is_paid_for(desk):
    async with ScriptedModel([Fault("refusal")], usage=Tokens(input=70, output=7)) as model:
        outcome = await desk.work(model)
    assert (outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens) == (1, 70, 7)
    assert [event.usage for event in desk.heard(UsageReported)] == [outcome.usage]


@every_wire
async def test_a_blank_answer_gets_another_chance(desk, wire):
    async with ScriptedModel([Tool.shell("true"), Fault("empty"), "Done."]) as model:
        outcome = await desk.work(model, wire=wire)
        assert model.asked[-1].prompt.startswith("Your answer was blank.")
    assert (outcome.ok, outcome.text) == (True, "Done.")


@every_wire
async def test_a_model_that_stays_blank_has_failed(desk, wire):
    async with ScriptedModel([Fault("empty")]) as model:
        outcome = await desk.work(model, wire=wire)
        assert len(model.asked) == 2
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.PROTOCOL)


@every_wire
async def test_an_answer_that_was_cut_is_gone_on_with_and_its_calls_are_not_made(desk, wire):
    half = Answer([Tool.write("calc.py", "def add(")], stop="max_tokens")
    async with ScriptedModel([half, Fault("max_tokens"), "Done."]) as model:
        outcome = await desk.work(model, wire=wire)
        assert "not run: the answer was cut" in model.asked[1].tool_results[0]
        assert model.asked[2].prompt.startswith("Your answer was cut")
    assert outcome.ok
    assert (desk.folder / "calc.py").read_text().endswith("a - b\n")


async def test_what_git_sees_is_what_the_model_did(desk):
    await desk.told(Tool.write("docs/new.md", "new\n"), Tool.shell("git add -A"))
    listed = subprocess.run(["git", "-C", desk.folder, "ls-files"], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == ["calc.py", "docs/new.md"]


@every_wire
async def test_a_call_that_is_tried_again_is_told(desk, wire):
    async with ScriptedModel([Fault(529, times=2), "Done."]) as model:
        await desk.work(model, wire=wire)
    first, second = desk.heard(Retried)
    assert (first.attempt, second.attempt) == (1, 2)
    assert "529" in first.message
    assert first.message.endswith("tried again in 0.01 s")


async def test_a_call_whose_answer_was_lost_is_told_as_one_of_unknown_cost(desk):
    async with ScriptedModel([Tool.shell("true"), Fault("cut")]) as model:
        outcome = await desk.work(model)
    assert not outcome.ok
    reported = [event.usage for event in desk.heard(UsageReported)]
    assert [usage.incomplete for usage in reported] == [False, True]
    assert Usage.total(reported).incomplete


async def test_a_refused_command_of_no_words_is_refused_like_any_other(desk, denies):
    async with ScriptedModel([Tool.shell(""), "Done."]) as model:
        outcome = await desk.work(model, gate=denies(""))
        assert model.asked[1].tool_results[0].startswith("refused")
    assert (outcome.ok, outcome.denied) == (True, [""])


async def test_one_turn_that_says_too_much_for_the_model_is_folded_too(desk):
    def answer(request):
        if not request.answers_so_far:
            return [Tool.shell(f"seq {number} 20000") for number in range(30)]
        return Fault(400, message="prompt is too long") if len(request.raw) > 200_000 else "Done."

    async with ScriptedModel(answer) as model:
        outcome = await desk.work(model)
        told = model.asked[-1].tool_results
    assert outcome.ok, outcome.error
    assert all("folded" in text for text in told)


async def test_a_thousand_calls_in_one_answer_are_all_answered(desk):
    calls = [Tool("write", {"path": f"{number}.txt"}) for number in range(999)]
    async with ScriptedModel([[*calls, Tool.write("last.txt", "last")], "Done."]) as model:
        outcome = await desk.work(model)
        told = model.asked[1].tool_results
    assert (outcome.ok, len(told)) == (True, 1000)
    assert "does not fit" in told[0]
    assert (desk.folder / "last.txt").read_text() == "last"
