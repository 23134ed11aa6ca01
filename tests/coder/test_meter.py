"""An engine's limits, call by call."""

from __future__ import annotations

import asyncio

import pytest

from proxied import ask, client, message, proxied, streamed, vendor
from trueup.coder import CodeRequest, FailureReason, Limits, Story
from trueup.coder._session._engine_turn import engine_turn
from trueup.coder._session._meter import BudgetExceededError, Meter
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import EngineError, Task, UsageReported, Work
from trueup.testing import EventLog

CALL = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=0, estimated_cost_usd=0.4)
NOTHING_YET = Usage.total([])


@pytest.mark.parametrize("before", [NOTHING_YET, CALL], ids=["first-turn", "later-turn"])
async def test_an_estimate_counts_for_a_limit_on_dollars_from_the_first_turn_on(before):
    meter = Meter(EventLog(), Limits(usd=1), before, 0 if before is NOTHING_YET else 1)
    await meter.record(UsageReported(CALL))
    with pytest.raises(BudgetExceededError, match="dollars of the 1"):
        for _ in range(2):
            await meter.record(UsageReported(CALL))


@pytest.mark.parametrize(
    ("call", "unit"),
    [
        (Usage(input_tokens=1, output_tokens=1), "dollars"),
        (Usage(input_tokens=1, output_tokens=1, estimated_cost_usd=0.1, incomplete=True), "tokens and dollars"),
    ],
    ids=["unknown-model", "cut-off"],
)
async def test_whoever_is_strict_is_not_kept_waiting_for_what_nobody_knows(call, unit):
    lax = Meter(EventLog(), Limits(usd=1, tokens=10**6), NOTHING_YET, 0)
    await lax.record(UsageReported(call))
    strict = Meter(EventLog(), Limits(usd=1, tokens=10**6, strict=True), NOTHING_YET, 0)
    with pytest.raises(BudgetExceededError, match=f"its {unit} is unknown"):
        await strict.record(UsageReported(call))


async def test_whoever_is_strict_goes_on_while_all_is_known():
    meter = Meter(EventLog(), Limits(usd=1, tokens=10**6, strict=True), NOTHING_YET, 0)
    await meter.record(UsageReported(CALL))
    later = Meter(EventLog(), Limits(usd=1, tokens=10**6, strict=True), meter.usage, 1)
    await later.record(UsageReported(CALL))


async def test_an_estimate_counts_for_a_limit_on_tokens_too():
    cut_off = Usage(input_tokens=10, estimated_tokens=2000, incomplete=True)
    meter = Meter(EventLog(), Limits(tokens=2000), NOTHING_YET, 0)
    with pytest.raises(BudgetExceededError, match="2010 tokens of the 2000"):
        await meter.record(UsageReported(cut_off))


LIMITS = {"turns": Limits(turns=2), "tokens": Limits(tokens=2100), "dollars": Limits(usd=0.8)}


@pytest.mark.parametrize("unit", LIMITS)
async def test_what_may_be_used_may_be_used_whole_and_then_no_further_call_is_made(unit):
    meter = Meter(EventLog(), LIMITS[unit], NOTHING_YET, 0)
    for _ in range(2):
        meter.admit()
        await meter.record(UsageReported(CALL))
    with pytest.raises(BudgetExceededError, match=f"{unit} of the"):
        meter.admit()
    later = Meter(EventLog(), LIMITS[unit], meter.usage, meter.turns)
    with pytest.raises(BudgetExceededError, match=f"{unit} of the"):
        later.admit()


@pytest.mark.parametrize("unit", LIMITS)
async def test_an_engine_that_is_heard_of_only_afterwards_is_ended_by_the_first_call_too_many(unit):
    meter = Meter(EventLog(), LIMITS[unit], NOTHING_YET, 0)
    for _ in range(2):
        await meter.record(UsageReported(CALL))
    with pytest.raises(BudgetExceededError, match=f"{unit} of the"):
        await meter.record(UsageReported(CALL))


class Talker:
    """An `Engine` that calls its model so often, fails as often as it is to, and says of itself what it likes."""

    name, vendor, login, asks_first, files = "talker", None, None, False, {}

    def __init__(self, calls=1, *, at_once=False, claims=None, failures=0, reports=()):
        self.calls, self.at_once, self.claims, self.failures, self.reports = calls, at_once, claims, failures, reports
        self.proxy = None
        self.answers = []

    async def version(self):
        return None

    async def work(self, task, launcher, recorder):
        for usage in self.reports:
            await recorder.record(UsageReported(usage))
        if self.failures:
            self.failures -= 1
            raise EngineError("come back later", kind=Kind.OVERLOADED)
        if self.proxy is not None:
            await self._call_all()
        return Work(exit_code=0, signal=None, duration_secs=0, output_tail="", usage=self.claims)

    async def _call_all(self):
        async with client() as session:
            if self.at_once:
                await asyncio.gather(*(self._call(session) for _ in range(self.calls)))
                return
            for _ in range(self.calls):
                await self._call(session)

    async def _call(self, session):
        async with ask(self.proxy, session) as answer:
            await answer.read()
            self.answers.append(answer.status)


async def turn_of(engine, limits, *, used=NOTHING_YET, turns=0, through_proxy=True, pause=0.01):
    """One turn of an engine at a vendor on loopback: how it ended, and how often the vendor was asked."""
    asked = []

    async def answer(request):
        asked.append(request.path)
        return await streamed(request, message("hi"), pause=pause)

    request = CodeRequest(intent="x", folder="/", engine="talker", limits=limits)
    story = Story(id="s", request=request, base="b")
    meter = Meter(EventLog(), limits, used, turns)
    task = Task(prompt="x", prompt_file="x")
    if not through_proxy:
        return await engine_turn(engine, task, None, meter, story), asked
    async with vendor(answer) as url, proxied(url, meter, admit=meter.admit) as (proxy, _):
        engine.proxy = proxy
        ended = await engine_turn(engine, task, None, meter, story, proxy)
    return ended, asked


async def test_what_is_booked_is_what_the_wire_saw_and_not_what_the_agent_says_of_itself():
    claims = Usage(input_tokens=0, output_tokens=0, cost_usd=0.0)
    ended, _ = await turn_of(Talker(calls=2, claims=claims, reports=[claims]), Limits())
    assert (ended.usage.input_tokens, ended.usage.output_tokens, ended.turns) == (22, 14, 2)


@pytest.mark.parametrize("at_once", [False, True], ids=["one-by-one", "at-once"])
async def test_no_call_more_than_may_be_made_reaches_the_vendor(at_once):
    ended, asked = await turn_of(Talker(calls=5, at_once=at_once), Limits(turns=2))
    assert len(asked) == 2
    assert (ended.reason, ended.turns) == (FailureReason.BUDGET_EXHAUSTED, 2)
    assert "2 turns of the 2 it may use" in ended.message


async def test_an_engine_that_needs_exactly_what_it_may_use_is_done():
    ended, asked = await turn_of(Talker(calls=2), Limits(turns=2))
    assert (len(asked), ended.reason) == (2, None)


async def test_an_engine_that_used_up_everything_before_is_not_begun():
    engine = Talker(reports=[CALL])
    ended, _ = await turn_of(engine, Limits(turns=1), used=CALL, turns=1, through_proxy=False)
    assert (ended.reason, ended.turns) == (FailureReason.BUDGET_EXHAUSTED, 0)


async def test_by_its_own_word_an_engine_that_was_tried_again_pays_for_every_try():
    engine = Talker(reports=[CALL], claims=CALL, failures=1)
    ended, _ = await turn_of(engine, Limits(retry_secs=0), through_proxy=False)
    assert (ended.usage.input_tokens, ended.turns) == (2000, 2)


async def test_a_call_that_was_cut_off_with_its_engine_is_booked_too():
    ended, _ = await turn_of(Talker(), Limits(engine_secs=0.5), pause=60)
    assert (ended.reason, ended.turns) == (FailureReason.BUDGET_EXHAUSTED, 1)
    assert (ended.usage.input_tokens, ended.usage.incomplete) == (11, True)
