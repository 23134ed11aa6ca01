"""Runs of many cells: what runs, what runs again, what stops them."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
from msgspec.structs import replace

from matrix_parts import QUICK, ScriptedProvider, case_named, dollars
from trueup.core.errors import InputError, Kind
from trueup.skills._case import Match, Mock
from trueup.skills._matrix import Limits, Matrix, MatrixRequest, matching, run_matrix
from trueup.skills._model import AssistantTurn, Judgement, Needs, ProviderError
from trueup.skills._report import Arm, CellStatus


@pytest.fixture
def request_for(skill, config):
    def make(*names, judged=False, platforms=("p",), models=("m",), **given):
        cases = tuple(case_named(name, skill, judged=judged) for name in names)
        changed = replace(config, platforms=platforms, models=models)
        return MatrixRequest(**{"cases": cases, "config": changed, "patience": QUICK} | given)

    return make


def statuses(report):
    return [cell.status.value for cell in report.runs]


def answering(message="Hello", usage=None):
    async def respond(request):
        return AssistantTurn(message=message, usage=usage)

    return respond


async def test_every_case_runs_on_every_platform_and_model_as_often_as_asked(request_for):
    provider = ScriptedProvider()
    report = await run_matrix(request_for("a", "b", platforms=("p", "q"), models=("m", "n"), repeat=3), provider)
    assert report.passed
    assert not report.partial
    assert report.summary.runs == 24
    places = [(cell.case, cell.platform, cell.model, cell.repeat) for cell in report.runs]
    assert len(set(places)) == 24
    assert places[:4] == [("a", "p", "m", 1), ("a", "p", "m", 2), ("a", "p", "m", 3), ("a", "p", "n", 1)]
    assert provider.replies == 24
    assert len({cell.key for cell in report.runs}) == 24
    assert report.about.versions == {"p": "1.0", "q": "1.0"}
    assert report.about.judge_models == ["judge"]


async def test_jobs_bound_the_calls_of_all_cells_together(request_for):
    async def respond(request):
        # Long enough for more to begin, if they could.
        await asyncio.sleep(0.05)
        return AssistantTurn(message="Hello")

    provider = ScriptedProvider(respond)
    await run_matrix(request_for(*map(str, range(20)), judged=True, jobs=8), provider)
    assert 4 < provider.at_once <= 8


async def test_a_judge_that_refuses_is_asked_again_and_the_skill_does_not_run_again(request_for):
    async def judge(model):
        if provider.verdicts == 1:
            raise ProviderError("judge", "slow down", kind=Kind.RATE_LIMIT, retry_after=0.01, usage=dollars(0.25))
        return Judgement(value=True, usage=dollars(0.5))

    provider = ScriptedProvider(answering(usage=dollars(1.0)), judge)
    (cell,) = (await run_matrix(request_for("a", judged=True), provider)).runs
    assert (cell.status, provider.replies, provider.verdicts) == (CellStatus.PASSED, 1, 2)
    assert (cell.usage.cost_usd, cell.judge_usage.cost_usd, cell.skill_usage.cost_usd) == (1.75, 0.75, 1.0)


async def test_a_reply_that_failed_by_something_that_may_pass_makes_the_whole_cell_run_again(request_for):
    folders = []

    async def respond(request):
        folders.append(request.folder)
        if len(folders) == 1:
            (request.folder / "left").write_text("half of the work")
            raise ProviderError("respond", "busy", kind=Kind.OVERLOADED, usage=dollars(1.0))
        assert not (request.folder / "left").exists()
        return AssistantTurn(message="Hello", usage=dollars(2.0))

    (cell,) = (await run_matrix(request_for("a"), ScriptedProvider(respond))).runs
    assert (cell.status, cell.attempts, cell.usage.cost_usd) == (CellStatus.PASSED, 2, 3.0)
    assert cell.notes == ["attempt 1: overloaded: busy"]
    assert folders[0] != folders[1]


async def test_a_platform_that_nobody_is_signed_in_to_is_tried_once_and_others_go_on(request_for):
    async def respond(request):
        if request.platform == "p":
            raise ProviderError("respond", "not signed in", kind=Kind.AUTH)
        return AssistantTurn(message="Hello")

    provider = ScriptedProvider(respond)
    report = await run_matrix(request_for("a", "b", "c", platforms=("p", "q"), jobs=1), provider)
    assert [cell.status.value for cell in report.runs if cell.platform == "q"] == ["passed"] * 3
    broken = [cell for cell in report.runs if cell.platform == "p"]
    assert [cell.error.kind for cell in broken] == ["auth"] * 3
    assert [cell.attempts for cell in broken] == [1, 0, 0]
    assert broken[1].error.message.endswith("cannot work: not signed in")
    assert provider.replies == 1 + 3


async def test_a_judge_that_does_not_exist_is_not_paid_for_with_a_reply_of_each_cell(request_for):
    async def judge(model):
        raise ProviderError("judge", "no such model", kind=Kind.MODEL_NOT_FOUND)

    provider = ScriptedProvider(judge=judge)
    report = await run_matrix(request_for("a", "b", "c", judged=True, jobs=1), provider)
    assert statuses(report) == ["error"] * 3
    assert provider.replies == 1


async def test_a_failure_stops_what_has_not_begun_and_ends_what_runs(request_for):
    sleeping, cancelled = asyncio.Event(), []

    async def respond(request):
        if request.platform == "bad":
            await sleeping.wait()
            return AssistantTurn(message="No")
        sleeping.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(request.platform)
            raise

    provider = ScriptedProvider(respond)
    report = await run_matrix(request_for("a", "b", platforms=("bad", "slow"), jobs=2, fail_fast=True), provider)
    assert [(cell.case, cell.platform, cell.status.value) for cell in report.runs] == [
        ("a", "bad", "failed"),
        ("a", "slow", "skipped"),
        ("b", "bad", "skipped"),
        ("b", "slow", "skipped"),
    ]
    assert cancelled == ["slow"]
    assert report.partial
    assert report.notes[0] == "3 cells were not run: a on bad m failed"


async def test_without_fail_fast_failures_and_errors_stop_nothing(request_for):
    async def respond(request):
        if provider.replies == 2:
            raise ProviderError("respond", "odd", kind=Kind.PROTOCOL)
        return AssistantTurn(message="No" if provider.replies == 1 else "Hello")

    provider = ScriptedProvider(respond)
    report = await run_matrix(request_for(*"abcd", jobs=1), provider)
    assert statuses(report) == ["failed", "error", "passed", "passed"]
    assert not report.partial


async def test_the_budget_counts_the_judge_and_stops_before_it_is_passed(request_for):
    async def judge(model):
        return Judgement(value=True, usage=dollars(0.2))

    provider = ScriptedProvider(answering(usage=dollars(0.1)), judge)
    report = await run_matrix(request_for(*map(str, range(10)), judged=True, jobs=4, limits=Limits(usd=1.0)), provider)
    assert statuses(report) == ["passed"] * 3 + ["skipped"] * 7
    assert report.summary.usage.cost_usd == pytest.approx(0.9)
    assert report.partial
    assert not report.passed
    assert report.notes[0] == (
        "7 cells were not run: the budget of $1 would be passed: $0.9 are spent, and the next cell may take $0.3"
    )


async def test_a_cell_that_passes_the_budget_in_its_middle_makes_no_further_call(request_for):
    provider = ScriptedProvider(answering(usage=dollars(5)))
    report = await run_matrix(request_for("a", "b", judged=True, limits=Limits(usd=1.0)), provider)
    assert statuses(report) == ["skipped", "skipped"]
    assert (provider.replies, provider.verdicts) == (1, 0)
    assert report.runs[0].usage.cost_usd == 5
    assert report.runs[0].notes == ["ended half-way, since the budget of $1 is spent: $5"]


async def test_a_spent_budget_is_no_failure_of_the_judge_or_the_platform(request_for):
    async def respond(request):
        if provider.replies == 2:
            raise ProviderError("respond", "busy", kind=Kind.RATE_LIMIT, retry_after=0.1)
        if provider.replies == 3:
            return AssistantTurn(message="Hello", usage=dollars(5))
        return AssistantTurn(message="Hello", usage=dollars(0.1))

    async def judge(model):
        return Judgement(value=True, usage=dollars(0.1))

    provider = ScriptedProvider(respond, judge)
    report = await run_matrix(
        request_for("a", "b", "c", judged=True, models=("m",), jobs=2, limits=Limits(usd=1.0)), provider
    )
    assert statuses(report) == ["passed", "skipped", "skipped"]


async def test_a_spent_budget_ends_no_call_that_is_under_way(request_for):
    numbers = count(1)

    async def respond(request):
        number = next(numbers)
        await asyncio.sleep({2: 0.15, 3: 0.1, 4: 0.25}.get(number, 0))
        return AssistantTurn(message="Hello", usage=dollars(5 if number == 3 else 0.1))

    request = request_for(*"abcde", jobs=3, fail_fast=True, limits=Limits(usd=1.0))
    report = await run_matrix(request, ScriptedProvider(respond))
    assert statuses(report) == ["passed"] * 4 + ["skipped"]


async def test_a_strict_budget_ends_where_a_call_does_not_report(request_for):
    report = await run_matrix(request_for(*"abc", limits=Limits(usd=1.0, strict=True)), ScriptedProvider())
    assert statuses(report) == ["passed", "skipped", "skipped"]
    assert "a call did not report its dollars" in report.notes[0]
    lenient = await run_matrix(request_for(*"abc", limits=Limits(usd=1.0)), ScriptedProvider())
    assert statuses(lenient) == ["passed"] * 3
    assert any("3 calls did not report any dollars" in note for note in lenient.notes)


async def test_the_arm_without_the_skill_runs_beside_the_other_and_may_fail(request_for):
    async def respond(request):
        return AssistantTurn(message="Hello" if request.skill else "Who are you?")

    report = await run_matrix(request_for("a", "b", baseline=True, fail_fast=True), ScriptedProvider(respond))
    assert [(cell.arm, cell.passed) for cell in report.runs] == [(Arm.WITH, True), (Arm.WITHOUT, False)] * 2
    assert report.passed
    assert report.statistics.deltas[0].comparison.difference == 1.0


async def test_a_run_that_is_cancelled_has_a_report_of_what_had_ended(request_for):
    async def respond(request):
        if provider.replies > 2:
            await asyncio.sleep(60)
        return AssistantTurn(message="Hello")

    provider = ScriptedProvider(respond)
    matrix = Matrix(request_for(*"abcd", jobs=1), provider)
    running = asyncio.create_task(matrix.run())
    while provider.replies < 3:
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    report = matrix.report(interrupted=True)
    assert statuses(report) == ["passed", "passed", "skipped", "skipped"]
    assert report.partial
    assert report.notes[0] == "2 cells were not run: interrupted"


def test_cases_are_picked_by_a_part_of_their_name_or_a_glob(skill):
    cases = [case_named(name, skill) for name in ("greets-ada", "greets-bob", "leaves")]
    assert [case.name for case in matching(cases, [])] == ["greets-ada", "greets-bob", "leaves"]
    assert [case.name for case in matching(cases, ["greets"])] == ["greets-ada", "greets-bob"]
    assert [case.name for case in matching(cases, ["*-bob", "leav"])] == ["greets-bob", "leaves"]
    assert [case.name for case in matching(cases, ["greets*a"])] == ["greets-ada"]
    with pytest.raises(InputError, match="no case has 'nobody' in its name"):
        matching(cases, ["nobody"])


async def test_no_case_is_no_run(request_for):
    with pytest.raises(InputError, match="there is no case to run"):
        await run_matrix(request_for(), ScriptedProvider())


async def test_what_cases_need_is_asked_for_before_anything_is_spent(request_for, skill):
    asked = []

    class Prepared(ScriptedProvider):
        async def prepare(self, platforms, needs):
            asked.append(needs)
            return dict.fromkeys(platforms, "1.0")

        async def respond(self, request):
            return AssistantTurn(message="Hello", mock_calls=())

    mocks = (Mock(name="push", match=Match(tool="Bash"), stub="ok"), Mock(name="seen", match=Match(tool="Read")))
    mocked = replace(case_named("a", skill), mocks=mocks)
    for case in (case_named("plain", skill), case_named("judged", skill, judged=True), mocked):
        await run_matrix(request_for(cases=(case,)), Prepared())
    plain, judged, watched = asked
    assert plain == Needs()
    assert judged == Needs(judge=True)
    assert watched == Needs(mocks=True, mock_actions=("stub",))
