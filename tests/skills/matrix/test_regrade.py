"""Reports that are judged anew."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from matrix_parts import QUICK, ScriptedProvider, case_named, dollars
from trueup.core.errors import InputError, Kind
from trueup.skills._case import Contains
from trueup.skills._matrix import CellCache, MatrixRequest, regrade, run_matrix
from trueup.skills._model import AssistantTurn, Judgement, ProviderError


async def refuse(model):
    return Judgement(value=False, reason="no", usage=dollars(0.25))


async def reply(request):
    return AssistantTurn(message="Hello", usage=dollars(1.0))


@pytest.fixture
def request_for(skill, config):
    def make(*names, **given):
        cases = tuple(case_named(name, skill, judged=True) for name in names)
        return MatrixRequest(**{"cases": cases, "config": config, "patience": QUICK} | given)

    return make


async def test_only_the_judge_is_asked_again(request_for, config):
    request = request_for("a", "b")
    before = await run_matrix(request, ScriptedProvider(reply))
    assert before.passed
    provider = ScriptedProvider(judge=refuse)
    after = await regrade(before, request.cases, replace(config, judge_model="other"), provider, jobs=2)
    assert (provider.replies, provider.verdicts) == (0, 2)
    assert [cell.status.value for cell in after.runs] == ["failed", "failed"]
    assert [cell.transcript for cell in after.runs] == [cell.transcript for cell in before.runs]
    assert after.about.judge_models == ["other"]
    assert after.runs[0].skill_usage.cost_usd == 1.0
    assert after.runs[0].judge_usage.cost_usd == 0.25


async def test_where_only_the_judge_is_another_a_cell_can_be_gone_on_with(request_for, config, skill):
    request = request_for("a")
    other = replace(config, judge_model="other")
    before = await run_matrix(request, ScriptedProvider(reply))
    after = await regrade(before, request.cases, other, ScriptedProvider(), jobs=1)
    provider = ScriptedProvider(reply)
    resumed = await run_matrix(replace(request, config=other, earlier=tuple(after.runs)), provider)
    assert (resumed.runs[0].cached, provider.replies) == (True, 0)

    # The conversation was held with another skill.
    (skill / "more.md").write_text("more")
    after = await regrade(before, request.cases, other, ScriptedProvider(), jobs=1)
    resumed = await run_matrix(replace(request, config=other, earlier=tuple(after.runs)), provider)
    assert (resumed.runs[0].cached, provider.replies) == (False, 1)


async def test_other_evals_can_be_asked_of_the_same_conversation(request_for, config, skill):
    before = await run_matrix(request_for("a"), ScriptedProvider(reply))
    case = replace(case_named("a", skill), evals=(Contains(text="Hello"), Contains(text="Goodbye")))
    after = await regrade(before, [case], config, ScriptedProvider(), jobs=1)
    assert [each.passed for each in after.runs[0].evals] == [True, False]


async def test_what_cannot_be_judged_again_stays_and_is_told(request_for, config):
    async def respond(request):
        if provider.replies == 2:
            raise ProviderError("respond", "odd", kind=Kind.PROTOCOL)
        return AssistantTurn(message="Hello")

    provider = ScriptedProvider(respond)
    request = request_for("a", "b", "c", jobs=1)
    before = await run_matrix(request, provider)
    after = await regrade(before, request.cases[:2], config, ScriptedProvider(judge=refuse), jobs=1)
    assert [cell.status.value for cell in after.runs] == ["failed", "error", "passed"]
    assert "2 cells are as they were: they could not be judged again" in after.notes
    with pytest.raises(InputError, match="nothing can be judged again"):
        await regrade(before, [], config, ScriptedProvider(), jobs=1)


async def test_a_regraded_cell_does_not_replace_one_in_the_cache(request_for, config, tmp_path):
    cache = CellCache(tmp_path / "cells")
    request = request_for("a")
    before = await run_matrix(request, ScriptedProvider(reply), cache=cache)
    await regrade(before, request.cases, config, ScriptedProvider(judge=refuse), jobs=1)
    again = await run_matrix(request, ScriptedProvider(reply), cache=cache)
    assert (again.passed, again.runs[0].cached) == (True, True)
