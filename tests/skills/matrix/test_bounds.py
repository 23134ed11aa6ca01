"""How many calls a judge gets at once."""

from __future__ import annotations

import asyncio
import time

import pytest

from matrix_parts import QUICK
from trueup.skills._matrix._bounds import Bound


async def test_those_who_wait_enter_in_turn():
    bound, entered = Bound(1, QUICK), []

    async def enter(number):
        await bound.wait_for_room()
        entered.append(number)

    tasks = [asyncio.create_task(enter(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert entered == [0]
    for expected in ([0, 1], [0, 1, 2]):
        bound.leave()
        await asyncio.sleep(0.001)
        assert entered == expected
    await asyncio.gather(*tasks)


async def test_who_gives_up_waiting_takes_no_room():
    bound = Bound(1, QUICK)
    await bound.wait_for_room()
    waiting = [asyncio.create_task(bound.wait_for_room()) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    bound.leave()
    await waiting[1]
    assert bound.running == 1
    # Let in and cancelled in the same moment.
    last = asyncio.create_task(bound.wait_for_room())
    await asyncio.sleep(0)
    bound.leave()
    last.cancel()
    with pytest.raises(asyncio.CancelledError):
        await last
    assert bound.running == 0


async def test_after_a_refusal_nobody_enters_for_a_while_and_then_half_as_many():
    bound = Bound(8, QUICK)
    for _ in range(8):
        bound.enter()
    bound.was_too_much(time.monotonic(), retry_after=0.05)
    assert bound.limit == 4
    for _ in range(8):
        bound.leave()
    assert not bound.has_room
    started = time.monotonic()
    await asyncio.gather(*(bound.wait_for_room() for _ in range(4)))
    assert 0.04 <= time.monotonic() - started < 0.5
    assert not bound.has_room


async def test_successes_raise_a_bound_by_one_for_as_many_as_it_lets_in_and_never_above_the_most():
    bound = Bound(8, QUICK)
    for _ in range(8):
        bound.enter()
    before = time.monotonic()
    bound.was_too_much(time.monotonic(), None)
    for _ in range(6):
        bound.leave()
    # What was under way already says nothing new.
    bound.was_too_much(before, None)
    bound.succeeded(before)
    assert bound.limit == 4
    for _ in range(5):
        bound.succeeded(time.monotonic())
    assert int(bound.limit) == 5
    for _ in range(200):
        bound.succeeded(time.monotonic())
    assert bound.limit == 8


async def test_a_bound_never_closes_for_good():
    bound = Bound(4, QUICK)
    for _ in range(10):
        bound.enter()
        bound.was_too_much(time.monotonic(), retry_after=0.0)
        bound.leave()
    assert bound.limit == 1
    assert bound.has_room
