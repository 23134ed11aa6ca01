"""Cells at once: how many, in which order, how often again."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import aclosing

import pytest

from matrix_parts import QUICK, spec_of
from skill_cells import cell
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.skills._matrix import Attempt, LocalExecutor, Patience


async def each(specs):
    for spec in specs:
        yield spec


def passed(spec):
    return Attempt(report=cell(spec.case.name, platform=spec.platform, model=spec.model))


def refused(spec, kind, retry_after=None, **given):
    return Attempt(report=cell(spec.case.name, "error", **given), failure=kind, retry_after=retry_after)


async def run(specs, work, jobs=4, patience=QUICK):
    async with aclosing(LocalExecutor(jobs, patience).run(each(specs), work)) as ended:
        return [done.report async for done in ended]


class Work:
    """Passes every cell after a while, and remembers what it saw."""

    def __init__(self, secs=0.001):
        self.secs = secs
        self.order = []
        self.running = 0
        self.at_once = 0

    async def __call__(self, spec):
        self.order.append(spec)
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        try:
            await asyncio.sleep(self.secs)
        finally:
            self.running -= 1
        return passed(spec)


async def test_every_cell_ends_once_and_no_more_run_at_once_than_jobs():
    work = Work()
    reports = await run([spec_of(f"case {number}") for number in range(40)], work, jobs=7)
    assert sorted(report.case for report in reports) == sorted(f"case {number}" for number in range(40))
    assert work.at_once == 7


async def test_thousands_of_cells_are_made_when_it_is_their_turn():
    made = ended = ahead = 0

    async def specs():
        nonlocal made, ahead
        for number in range(2_000):
            made += 1
            ahead = max(ahead, made - ended)
            yield spec_of(f"case {number % 50}", repeat=number)

    async def work(spec):
        return passed(spec)

    started = time.monotonic()
    async with aclosing(LocalExecutor(8, QUICK).run(specs(), work)) as done:
        async for _ in done:
            ended += 1
    assert ended == 2_000
    # Those that run, those that ended and were not taken yet, and one more.
    assert ahead < 30
    assert time.monotonic() - started < 15


async def test_a_platform_that_refuses_is_left_alone_and_then_asked_for_half_as_much():
    began, refusals, running, widest = [], 0, 0, 0

    async def work(spec):
        nonlocal refusals, running, widest
        began.append(time.monotonic())
        number = len(began)
        running += 1
        if refusals:
            widest = max(widest, running)
        try:
            await asyncio.sleep(0.005)
        finally:
            running -= 1
        if number == 8:
            refusals += 1
            return refused(spec, Kind.RATE_LIMIT, retry_after=0.2)
        return passed(spec)

    reports = await run([spec_of(f"case {number}") for number in range(24)], work, jobs=8)
    assert len(reports) == 24
    gap = max(after - before for before, after in itertools.pairwise(began))
    assert gap >= 0.18
    assert widest <= 6
    assert [report.attempts for report in reports].count(2) == 1


async def test_a_refusal_to_many_at_once_halves_once():
    widths, running, refusing = [], 0, True

    async def work(spec):
        nonlocal running, refusing
        running += 1
        widths.append(running)
        try:
            await asyncio.sleep(0.005)
        finally:
            running -= 1
        if refusing and running == 0:
            refusing = False
            return refused(spec, Kind.OVERLOADED)
        return refused(spec, Kind.OVERLOADED) if refusing else passed(spec)

    reports = await run([spec_of(f"case {number}") for number in range(16)], work, jobs=8)
    assert all(report.passed for report in reports)
    assert max(widths[8:]) >= 4


async def test_a_platform_that_is_left_alone_holds_up_no_other():
    async def work(spec):
        if spec.platform == "slow" and spec.repeat == 1:
            spec_tries.append(spec)
            if len(spec_tries) == 1:
                return refused(spec, Kind.RATE_LIMIT, retry_after=0.3)
        ended.append((spec.platform, time.monotonic() - started))
        return passed(spec)

    spec_tries, ended = [], []
    specs = [spec_of(platform=each, model=each, repeat=n) for n in range(1, 11) for each in ("slow", "quick")]
    started = time.monotonic()
    await run(specs, work, jobs=2)
    assert max(when for platform, when in ended if platform == "quick") < 0.25
    assert max(when for platform, when in ended if platform == "slow") >= 0.3


async def test_platforms_go_in_turn_where_both_have_cells_waiting():
    order = []

    async def work(spec):
        order.append(spec.platform)
        if order.count(spec.platform) == 1:
            return refused(spec, Kind.RATE_LIMIT, retry_after=0.1)
        await asyncio.sleep(0.02)
        return passed(spec)

    await run([spec_of(platform=each, model=each, repeat=n) for each in "pq" for n in range(4)], work, jobs=1)
    assert order == ["p", "q"] + ["p", "q"] * 4


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        (Kind.RATE_LIMIT, 4),
        (Kind.OVERLOADED, 4),
        (Kind.NETWORK, 3),
        (Kind.TIMEOUT, 2),
        (Kind.AUTH, 1),
        (Kind.QUOTA, 1),
        (Kind.MODEL_NOT_FOUND, 1),
        (Kind.SPAWN, 1),
        (Kind.PROTOCOL, 1),
        (Kind.INPUT, 1),
    ],
)
async def test_only_what_may_pass_is_tried_again_and_not_for_ever(kind, tries):
    count = 0

    async def work(spec):
        nonlocal count
        count += 1
        return refused(spec, kind, usage=Usage(input_tokens=5, cost_usd=0.5))

    (report,) = await run([spec_of()], work)
    assert (count, report.attempts) == (tries, tries)
    assert report.usage == Usage(input_tokens=5 * tries, cost_usd=0.5 * tries)
    assert len(report.notes) == tries - 1


async def test_who_asks_for_a_longer_wait_than_we_have_is_not_asked_again():
    async def work(spec):
        return refused(spec, Kind.RATE_LIMIT, retry_after=3600)

    started = time.monotonic()
    (report,) = await run([spec_of()], work)
    assert report.attempts == 1
    assert time.monotonic() - started < 0.5


async def test_usage_that_an_attempt_did_not_report_leaves_the_sum_incomplete():
    tries = 0

    async def work(spec):
        nonlocal tries
        tries += 1
        if tries == 1:
            return refused(spec, Kind.NETWORK, usage=None)
        return Attempt(report=cell(usage=Usage(input_tokens=5)))

    (report,) = await run([spec_of()], work)
    assert report.usage == Usage(input_tokens=5, incomplete=True)


async def test_closing_ends_what_runs():
    ended = []

    async def work(spec):
        try:
            await asyncio.sleep(0.02 if spec.repeat == 1 else 60)
        except asyncio.CancelledError:
            ended.append(spec.repeat)
            raise
        return passed(spec)

    async with aclosing(LocalExecutor(3, QUICK).run(each([spec_of(repeat=n) for n in (1, 2, 3)]), work)) as done:
        assert (await anext(done)).spec.repeat == 1
    assert sorted(ended) == [2, 3]


async def test_a_mistake_in_the_work_or_in_the_making_of_cells_is_not_swallowed():
    async def broken(spec):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run([spec_of()], broken)

    async def specs():
        raise ZeroDivisionError
        yield

    with pytest.raises(ZeroDivisionError):
        async with aclosing(LocalExecutor(1, QUICK).run(specs(), Work())) as done:
            async for _ in done:
                pass


async def test_waits_grow_up_to_a_limit_and_differ():
    patience = Patience(first_wait_secs=1, most_wait_secs=8)
    waits = [[patience.wait_secs(setback, None) for _ in range(50)] for setback in (1, 2, 3, 10)]
    for longest, each_wait in zip((1, 2, 4, 8), waits, strict=True):
        assert longest / 2 <= min(each_wait) < max(each_wait) <= longest
    assert patience.wait_secs(1, 5.0) == 5.0
    assert patience.wait_secs(1, -1.0) == 0.0
