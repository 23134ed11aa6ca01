"""The conversation of a cell."""

from __future__ import annotations

import pytest

from scripted_provider import ScriptedProvider, cell_of, refusal, tool_call
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.skills._case import Boolean, Contains, CostBelow, TurnsBelow, User
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, RespondRequest, Role, UserTurn
from trueup.skills._report import Arm, CellStatus

POLITE = Boolean(criterion="it is polite")
GUEST = User(persona="a guest")


def said(report) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in report.transcript.messages]


async def test_a_case_without_a_user_is_one_reply():
    provider = ScriptedProvider("Hello, Ada!")
    report = await run_cell(cell_of(POLITE), provider)
    assert report.status is CellStatus.PASSED
    assert said(report) == [("user", "Greet Ada."), ("assistant", "Hello, Ada!")]
    assert report.turns == 1
    assert provider.users == []
    request = provider.requests[0]
    assert (request.platform, request.model, request.session, request.mocks) == ("claude-code", "sonnet", None, None)
    assert request.skill is not None
    assert request.skill.instructions == "Greet people."


async def test_without_the_skill_the_bare_harness_is_asked():
    provider = ScriptedProvider()
    await run_cell(cell_of(POLITE, arm=Arm.WITHOUT), provider)
    assert provider.requests[0].skill is None


async def test_a_user_is_played_until_the_turns_are_used_up():
    provider = ScriptedProvider("One.", "Two.", "Three.", users=["And?", "More."])
    report = await run_cell(cell_of(POLITE, user=GUEST, max_turns=3), provider)
    assert [text for _, text in said(report)] == ["Greet Ada.", "One.", "And?", "Two.", "More.", "Three."]
    assert report.turns == 3
    assert provider.users == [("haiku", "a guest")] * 2


async def test_the_turns_of_the_case_go_before_those_of_the_configuration():
    report = await run_cell(cell_of(POLITE, user=User(persona="a guest", max_turns=2), max_turns=8), ScriptedProvider())
    assert report.turns == 2


async def test_a_skill_that_is_done_ends_the_conversation():
    provider = ScriptedProvider("One.", AssistantTurn(message="Booked.", done=True))
    report = await run_cell(cell_of(POLITE, user=GUEST), provider)
    assert report.turns == 2
    assert said(report)[-1] == ("assistant", "Booked.")


async def test_a_user_who_stops_has_the_last_word():
    provider = ScriptedProvider(users=[UserTurn(message="Thanks, bye.", stop=True)])
    report = await run_cell(cell_of(POLITE, user=GUEST), provider)
    assert report.turns == 1
    assert said(report)[-1] == ("user", "Thanks, bye.")


async def test_a_conversation_ends_when_it_is_judged_to_be_done():
    provider = ScriptedProvider(verdicts={"it is booked": [False, True], "": [True]})
    report = await run_cell(cell_of(POLITE, user=User(persona="a guest", done_when="it is booked")), provider)
    assert report.turns == 2
    assert len(provider.users) == 1
    assert [query.criterion for _, query, _ in provider.judged] == ["it is booked", "it is booked", "it is polite"]


async def test_nobody_asks_whether_the_last_turn_was_enough():
    provider = ScriptedProvider(verdicts={"it is booked": [False], "": [True]})
    user = User(persona="a guest", done_when="it is booked", max_turns=1)
    await run_cell(cell_of(POLITE, user=user), provider)
    assert [query.criterion for _, query, _ in provider.judged] == ["it is polite"]


@pytest.mark.parametrize(("resumes", "sessions"), [(True, [None, "s1", "s2"]), (False, [None, None, None])])
async def test_a_session_is_gone_on_with_where_the_platform_can(resumes: bool, sessions: list[str | None]):
    provider = ScriptedProvider(
        AssistantTurn(message="One.", session_id="s1"),
        AssistantTurn(message="Two.", session_id="s2"),
        "Three.",
        resumes=resumes,
    )
    await run_cell(cell_of(POLITE, user=GUEST, max_turns=3), provider)
    assert [request.session for request in provider.requests] == sessions
    assert [len(request.messages) for request in provider.requests] == [1, 3, 5]


async def test_a_provider_that_fails_half_way_leaves_what_was_said_and_spent():
    first = AssistantTurn(message="One.", usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5))
    failure = refusal(context="oneharness:claude-code", usage=Usage(input_tokens=4, output_tokens=1, cost_usd=0.25))
    report = await run_cell(cell_of(POLITE, user=GUEST), ScriptedProvider(first, failure))
    assert report.status is CellStatus.ERROR
    assert not report.passed
    assert report.error is not None
    assert (report.error.kind, report.error.context) == ("rate_limit", "oneharness:claude-code")
    assert report.error.stage == "conversation"
    assert said(report) == [("user", "Greet Ada."), ("assistant", "One."), ("user", "Go on.")]
    assert report.skill_usage == Usage(input_tokens=14, output_tokens=3, cost_usd=0.75)
    assert report.evals == []


async def test_a_user_who_cannot_be_played_is_an_error():
    report = await run_cell(cell_of(POLITE, user=GUEST), ScriptedProvider(users=[refusal(Kind.AUTH, "user")]))
    assert report.error is not None
    assert (report.error.kind, report.error.context, report.turns) == ("auth", "user", 1)


async def test_what_the_judge_uses_is_told_apart_from_what_the_skill_does():
    from trueup.skills._model import Judgement

    provider = ScriptedProvider(
        AssistantTurn(message="Hi.", usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5)),
        verdicts=Judgement(value=True, usage=Usage(input_tokens=3, output_tokens=1, cost_usd=0.25)),
    )
    report = await run_cell(cell_of(POLITE), provider)
    assert report.skill_usage == Usage(input_tokens=10, output_tokens=2, cost_usd=0.5)
    assert report.judge_usage == Usage(input_tokens=3, output_tokens=1, cost_usd=0.25)
    assert report.usage == Usage(input_tokens=13, output_tokens=3, cost_usd=0.75)


async def test_usage_that_nobody_told_is_unknown_and_not_zero():
    report = await run_cell(cell_of(POLITE), ScriptedProvider())
    assert (report.usage, report.skill_usage, report.judge_usage) == (None, None, None)
    partly = ScriptedProvider(AssistantTurn(message="Hi.", usage=Usage(input_tokens=10)), "Hi again.")
    report = await run_cell(cell_of(Contains(text="Hi"), user=GUEST, max_turns=2), partly)
    assert report.skill_usage == Usage(input_tokens=10, incomplete=True)


async def test_cost_is_below_a_limit_only_where_it_is_known():
    cheap = AssistantTurn(message="Hi.", usage=Usage(input_tokens=1, output_tokens=1, cost_usd=0.01))
    limit = CostBelow(usd=0.02)
    known = await run_cell(cell_of(limit, TurnsBelow(turns=2)), ScriptedProvider(cheap))
    assert known.passed, known.evals
    dear = await run_cell(cell_of(limit, TurnsBelow(turns=2), user=GUEST, max_turns=2), ScriptedProvider(cheap, cheap))
    assert [each.passed for each in dear.evals] == [False, False]
    unknown = await run_cell(cell_of(limit), ScriptedProvider())
    assert not unknown.passed
    assert "Nobody told what the replies cost" in unknown.evals[0].reason
    partly = await run_cell(cell_of(limit, user=GUEST, max_turns=2), ScriptedProvider(cheap, "Hi."))
    assert not partly.passed
    assert "a part is unknown" in partly.evals[0].reason


async def test_notes_of_turns_are_told_once():
    turn = AssistantTurn(message="Hi.", notes=("the skill stood before the prompt",))
    report = await run_cell(cell_of(Contains(text="Hi"), user=GUEST, max_turns=3), ScriptedProvider(turn))
    assert report.notes == ["the skill stood before the prompt"]


async def test_the_judge_gets_what_the_tools_did():
    async def work(request: RespondRequest) -> AssistantTurn:
        return AssistantTurn(message="Done.", events=(tool_call("Bash", "shell", command="ls"),))

    provider = ScriptedProvider(work)
    await run_cell(cell_of(POLITE), provider)
    message = provider.judged[0][2][-1]
    assert message.role is Role.ASSISTANT
    assert message.events[0].input == {"command": "ls"}
