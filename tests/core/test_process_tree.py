"""The runner: nothing that a command started outlives it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Process, run
from trueup.core.process._reaper import parent_of

# What a command may leave behind, each with MARK in its arguments so that it can be found again.
VICTIMS = {
    "in the background": "sleep MARK &",
    "in a session of its own": "setsid sleep MARK &",
    "ignoring signals in a session of its own": "setsid bash -c 'trap \"\" TERM INT HUP QUIT; sleep MARK; :' &",
    "forked twice": "(setsid sh -c 'setsid sleep MARK & exit' & exit) &",
    "with an empty environment": "setsid env -i /bin/sleep MARK &",
    "holding no descriptor": "setsid sleep MARK </dev/null >/dev/null 2>&1 &",
    "stopped": "sleep MARK & kill -STOP $!",
    "forking on and on": (
        f"{sys.executable} -c 'import os, sys, time\n"
        "end = time.time() + 60\n"
        "while time.time() < end:\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()' MARK &"
    ),
    # Bounded, so that a runner that loses against it costs a test and not the machine.
    "a bomb of a thousand": "bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & fi; sleep MARK; }; bomb 8 &",
}


@pytest.fixture
def mark():
    """A number that no other process has in its arguments."""
    return f"{os.getpid()}{time.monotonic_ns() % 10**9}"


def running(mark: str) -> list[str]:
    """Command lines of living processes that carry the mark, except ours."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if mark in line and int(entry.name) != os.getpid() and parent_of(int(entry.name)):
                found.append(line)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("victim", VICTIMS.values(), ids=VICTIMS.keys())
async def test_what_a_command_leaves_behind_is_gone_when_it_is_reported(victim, mark):
    finished = await run(Command(shell=victim.replace("MARK", mark) + "\nsleep 0.3; echo claimed done"))
    assert finished.exit_code == 0
    assert not finished.timed_out
    assert running(mark) == []


@pytest.mark.parametrize("victim", VICTIMS.values(), ids=VICTIMS.keys())
async def test_a_time_out_ends_the_whole_tree(victim, mark):
    finished = await run(Command(shell=victim.replace("MARK", mark) + f"\nsleep {mark}", timeout_secs=0.5))
    assert finished.timed_out
    assert finished.exit_code is None
    assert running(mark) == []


async def test_cancellation_ends_the_whole_tree_before_it_returns(mark):
    task = asyncio.create_task(run(Command(shell=f"setsid sleep {mark} & sleep {mark}")))
    while len(running(mark)) < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running(mark) == []


async def test_a_daemon_that_holds_the_pipe_does_not_turn_success_into_a_time_out(mark):
    finished = await run(Command(shell=f"setsid sleep {mark} & echo done", timeout_secs=20))
    assert (finished.exit_code, finished.timed_out, finished.stdout.text) == (0, False, "done\n")
    assert finished.duration_secs < 10


async def test_a_command_that_ignores_sigterm_is_killed_after_its_grace():
    command = Command(shell="trap '' TERM; echo ready; while :; do sleep 0.05; done", timeout_secs=0.3, grace_secs=0.3)
    finished = await run(command)
    assert (finished.timed_out, finished.signal) == (True, signal.SIGKILL)


async def test_grace_lets_a_command_say_goodbye():
    command = Command(
        shell="trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done", timeout_secs=0.3, grace_secs=20
    )
    finished = await run(command)
    assert (finished.timed_out, finished.stdout.text) == (True, "bye\n")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_when_trueup_is_ended_its_children_end_too(how, mark, tmp_path):
    script = tmp_path / "host.py"
    script.write_text(
        "import asyncio\n"
        "from trueup.core.process import Command, run\n"
        f"asyncio.run(run(Command(shell='setsid sleep {mark} & trap \"\" TERM INT; sleep {mark}; :')))\n"
    )
    async with Process(Command(argv=(sys.executable, str(script)))) as host:
        while len(running(mark)) < 3:
            await asyncio.sleep(0.02)
        os.kill(host.pid, how)
        # Not through host.wait(): its reaper would hide what the script's own reaper must do.
        deadline = time.monotonic() + 10
        while running(mark) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert running(mark) == []


async def test_when_a_reaper_is_killed_its_command_dies_and_the_caller_is_told(mark):
    with pytest.raises(InfrastructureError, match="lost .*: the process that runs it was killed"):
        async with Process(Command(shell=f"setsid sleep {mark} & sleep {mark}")) as process:
            while len(running(mark)) < 3:
                await asyncio.sleep(0.01)
            os.kill(parent_of(process.pid), signal.SIGKILL)
            await process.wait()
    deadline = time.monotonic() + 10
    while running(mark) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert running(mark) == []


async def test_when_the_keeper_is_killed_the_next_commands_run():
    async with Process(Command(shell="sleep 5")) as process:
        keeper = parent_of(parent_of(process.pid))
        os.kill(keeper, signal.SIGKILL)
    finished = await asyncio.gather(*(run(Command(shell="sleep 0.2; exit 4")) for _ in range(20)))
    assert {each.exit_code for each in finished} == {4}


async def test_a_command_runs_in_a_session_of_its_own():
    finished = await run(Command(shell="ps -o sid= -p $$; echo $$"))
    session, shell = re.findall(r"\d+", finished.stdout.text)
    assert session == shell
