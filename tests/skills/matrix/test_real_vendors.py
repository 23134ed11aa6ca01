"""Runs of many cells whose provider is a real program, and whose judge is a vendor behind HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from matrix_parts import QUICK, case_named
from trueup.skills._case import ApiJudge, CommandProviderConfig, Config, Vendor
from trueup.skills._matrix import MatrixRequest, run_matrix
from trueup.skills._providers import ApiJudgeProvider, CommandProvider, SplitProvider
from trueup.testing import Fault, ScriptedModel, Text

CASES = 12
YES = Text('{"value": true, "reason": "It greets."}')


def at_once(_: float):
    """A wait that is over."""
    return asyncio.sleep(0)


@pytest.fixture
def judged_by(tmp_path: Path, skill: Path):
    """Runs cells with a judge at an address, and gives the report."""
    program = CommandProviderConfig(command=["sh", "-c", 'read -r _; echo \'{"message": "Hello, Ada"}\''])

    async def judged_by(model: ScriptedModel):
        judge = ApiJudge(vendor=Vendor.ANTHROPIC, base_url=model.url)
        provider = SplitProvider(
            CommandProvider(program, {"PATH": "/usr/bin:/bin"}, tmp_path),
            ApiJudgeProvider(judge, {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}, sleep=at_once),
        )
        config = Config(provider=program, judge=judge, platforms=("p",), models=("m",), judge_model="claude-x")
        cases = [case_named(f"case {number}", skill, judged=True) for number in range(CASES)]
        return await run_matrix(MatrixRequest(cases=cases, config=config, jobs=6, patience=QUICK), provider)

    return judged_by


@pytest.mark.parametrize("fault", [Fault(429), Fault(529)])
async def test_a_vendor_that_refuses_for_a_while_costs_no_cell_and_no_reply_twice(judged_by, fault):
    asked = 0

    def overloaded_at_first(_):
        nonlocal asked
        asked += 1
        return fault if asked <= 10 else YES

    async with ScriptedModel(overloaded_at_first, is_aside=lambda _: False) as model:
        report = await judged_by(model)
    assert report.passed
    assert len(model.requests) == CASES + 10
    assert {cell.attempts for cell in report.runs} == {1}


async def test_a_key_that_is_wrong_is_shown_to_the_vendor_a_few_times_and_not_for_every_cell(judged_by):
    async with ScriptedModel(lambda _: Fault(401), is_aside=lambda _: False) as model:
        report = await judged_by(model)
    assert {cell.error.kind for cell in report.runs} == {"auth"}
    assert len(model.requests) <= 8
