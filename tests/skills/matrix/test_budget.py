"""A budget over all cells: it stops before it is passed."""

from __future__ import annotations

import asyncio

import pytest

from matrix_parts import dollars, spec_of
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.skills._matrix._budget import Budget, BudgetSpentError, Limits
from trueup.skills._model import ProviderError


async def is_admitted(budget, spec):
    """Whether it is let in by now."""
    asking = asyncio.create_task(budget.admits(spec))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if asking.done():
        return asking.result()
    asking.cancel()
    return None


async def ended(budget, spec, usage):
    assert await budget.admits(spec)
    budget.charge(spec, usage)
    budget.settle(spec, judged=True)


async def test_without_limits_everything_is_let_in():
    budget = Budget(Limits())
    assert all([await budget.admits(spec_of(repeat=number)) for number in range(100)])
    budget.must_not_be_spent()


async def test_the_first_cell_runs_alone_and_shows_what_others_may_take():
    budget = Budget(Limits(usd=1.0))
    first = spec_of()
    assert await budget.admits(first)
    assert await is_admitted(budget, spec_of(repeat=2)) is None
    budget.charge(first, dollars(0.25))
    budget.settle(first, judged=True)
    rest = [await is_admitted(budget, spec_of(repeat=number)) for number in range(2, 6)]
    assert rest == [True, True, True, None]


async def test_the_next_cell_is_refused_when_it_would_pass_the_limit_and_nothing_runs():
    budget = Budget(Limits(usd=1.0))
    for number in range(3):
        await ended(budget, spec_of(repeat=number), dollars(0.3))
    assert await budget.admits(spec_of(repeat=4)) is False
    assert budget.refusal == "the budget of $1 would be passed: $0.9 are spent, and the next cell may take $0.3"


async def test_cells_that_take_less_than_was_held_back_make_room():
    budget = Budget(Limits(usd=1.0))
    await ended(budget, spec_of(repeat=1), dollars(0.4))
    running = spec_of(repeat=2)
    assert await budget.admits(running)
    waiting = asyncio.create_task(budget.admits(spec_of(repeat=3)))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    budget.charge(running, dollars(0.1))
    budget.settle(running, judged=True)
    assert await waiting is True


async def test_a_budget_can_be_spent_to_the_cent():
    budget = Budget(Limits(usd=1.0))
    for number in range(10):
        await ended(budget, spec_of(repeat=number), dollars(0.1))
    assert await budget.admits(spec_of(repeat=11)) is False


async def test_of_those_with_an_unknown_price_one_runs_at_a_time():
    budget = Budget(Limits(tokens=1000))
    await ended(budget, spec_of(model="small"), Usage(input_tokens=5, output_tokens=5))
    large = spec_of(model="large")
    assert await budget.admits(large)
    assert await is_admitted(budget, spec_of(model="huge")) is None
    assert await is_admitted(budget, spec_of(model="small", repeat=2)) is True
    budget.charge(large, Usage(input_tokens=400, output_tokens=100))
    budget.settle(large, judged=True)
    assert await is_admitted(budget, spec_of(model="huge")) is None
    assert await is_admitted(budget, spec_of(model="large", repeat=2)) is None


async def test_the_largest_cell_of_the_same_case_counts_before_others():
    budget = Budget(Limits(usd=1.0))
    await ended(budget, spec_of("long"), dollars(0.5))
    await ended(budget, spec_of("short"), dollars(0.01))
    assert await budget.admits(spec_of("long", repeat=2)) is False
    assert await is_admitted(budget, spec_of("short", repeat=2)) is True


async def test_no_call_is_made_once_the_budget_is_passed():
    budget = Budget(Limits(usd=1.0))
    spec = spec_of()
    assert await budget.admits(spec)
    budget.must_not_be_spent()
    budget.charge(spec, dollars(1.5))
    with pytest.raises(BudgetSpentError, match=r"the budget of \$1 is spent: \$1.5"):
        budget.must_not_be_spent()
    assert await budget.admits(spec_of(repeat=2)) is False


async def test_a_call_that_does_not_report_is_noted_or_taken_for_everything():
    lenient, strict = Budget(Limits(usd=1.0)), Budget(Limits(usd=1.0, strict=True))
    for budget in (lenient, strict):
        spec = spec_of()
        assert await budget.admits(spec)
        budget.charge(spec, Usage(input_tokens=5))
        budget.settle(spec, judged=True)
    assert list(lenient.notes()) == [
        "1 call did not report any dollars, or not all: the budget does not count what is unknown"
    ]
    assert await lenient.admits(spec_of(repeat=2))
    assert await strict.admits(spec_of(repeat=2)) is False
    assert "did not report its dollars" in strict.refusal


async def test_a_failed_call_counts_what_it_says_and_one_that_was_not_served_nothing():
    budget = Budget(Limits(tokens=100, strict=True))
    spec = spec_of()
    assert await budget.admits(spec)
    budget.charge_failed(spec, ProviderError("judge", "busy", kind=Kind.RATE_LIMIT))
    budget.charge_failed(
        spec, ProviderError("judge", "odd", kind=Kind.PROTOCOL, usage=Usage(input_tokens=60, output_tokens=1))
    )
    budget.must_not_be_spent()
    budget.charge_failed(spec, ProviderError("respond", "slow", kind=Kind.TIMEOUT))
    with pytest.raises(BudgetSpentError, match="did not report its tokens"):
        budget.must_not_be_spent()


async def test_both_limits_hold():
    budget = Budget(Limits(usd=100.0, tokens=10))
    await ended(budget, spec_of(), Usage(input_tokens=6, output_tokens=0, cost_usd=0.1))
    assert await budget.admits(spec_of(repeat=2)) is False
    assert (
        budget.refusal
        == "the budget of 10 tokens would be passed: 6 tokens are spent, and the next cell may take 6 tokens"
    )
