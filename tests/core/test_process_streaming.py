"""The runner's streaming form: lines while a command runs, and input meanwhile."""

from __future__ import annotations

import asyncio
import time

import pytest

from trueup.core.process import Command, Process


async def test_lines_arrive_while_the_command_runs():
    async with Process(Command(shell="echo first; sleep 5; echo second")) as process:
        started = time.monotonic()
        assert await anext(process.lines()) == "first"
        assert time.monotonic() - started < 4


async def test_the_last_line_needs_no_end():
    async with Process(Command(shell="printf 'one\ntwo'")) as process:
        assert [line async for line in process.lines()] == ["one", "two"]


async def test_a_conversation_takes_turns():
    async with Process(Command(shell="while read -r x; do echo got $x; done; echo bye", stdin=None)) as process:
        lines = process.lines()
        await process.write(b"one\n")
        assert await anext(lines) == "got one"
        await process.write(b"two\n")
        assert await anext(lines) == "got two"
        process.close_stdin()
        assert await anext(lines) == "bye"
        assert (await process.wait()).exit_code == 0


async def test_a_slow_reader_slows_the_command_down_and_loses_nothing():
    async with Process(Command(shell="seq 1 400000", output_limit=1 << 20)) as process:
        lines = process.lines()
        first = await anext(lines)
        await asyncio.sleep(0.3)
        rest = [line async for line in lines]
    assert [first, *rest] == [str(n) for n in range(1, 400001)]


async def test_a_line_without_an_end_is_delivered_in_pieces():
    async with Process(Command(shell="head -c 3000 /dev/zero | tr '\\0' x", output_limit=1000)) as process:
        assert [len(line) async for line in process.lines()] == [1000, 1000, 1000]


async def test_waiting_drops_lines_that_nobody_took():
    async with Process(Command(shell="seq 1 400000; exit 3")) as process:
        assert (await process.wait()).exit_code == 3


async def test_lines_end_when_the_command_times_out():
    async with Process(Command(shell="echo one; sleep 60", timeout_secs=0.3)) as process:
        assert [line async for line in process.lines()] == ["one"]
        assert (await process.wait()).timed_out


async def test_stop_ends_a_command_early():
    async with Process(Command(shell="echo ready; sleep 60")) as process:
        await anext(process.lines())
        process.stop()
        process.stop()
        assert (await process.wait()).signal == 9


async def test_an_exception_in_the_block_ends_the_command():
    with pytest.raises(ZeroDivisionError):
        async with Process(Command(shell="sleep 60")):
            _ = 1 / 0


async def test_input_for_a_command_that_takes_none_is_a_mistake():
    async with Process(Command(argv=("cat",))) as process:
        with pytest.raises(TypeError, match="stdin=None"):
            await process.write(b"x")


async def test_writing_to_a_command_that_went_away_returns():
    async with Process(Command(argv=("true",), stdin=None)) as process:
        await process.write(b"x" * (4 << 20))
        assert (await process.wait()).exit_code == 0
