"""The runner when things go wrong around it: failed starts, stopped helpers, scarce descriptors, hostile input."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from trueup.core.errors import InfrastructureError, SpawnError
from trueup.core.process import Command, Process, run
from trueup.core.process._reaper import parent_of


async def test_a_failed_start_never_disturbs_commands_beside_it():
    async def one(number: int) -> int | None:
        if number % 2:
            with pytest.raises(SpawnError):
                await run(Command(argv=("./missing",)))
            return 0
        return (await run(Command(argv=("true",), timeout_secs=20))).exit_code

    async with asyncio.timeout(60):
        for _ in range(20):
            assert set(await asyncio.gather(*(one(number) for number in range(8)))) == {0}


async def test_stopping_what_has_ended_hits_nobody_else():
    async with Process(Command(argv=("true",))) as first:
        await first.wait()
        async with Process(Command(shell="sleep 0.3; exit 5")) as second:
            first.stop()
            assert (await second.wait()).exit_code == 5


async def test_a_command_cannot_switch_its_time_out_off_by_stopping_its_parent():
    finished = await run(Command(shell="kill -STOP $PPID; sleep 100", timeout_secs=0.5))
    assert finished.timed_out
    assert finished.duration_secs < 10


async def test_cancelling_a_command_that_stopped_its_parent_works_too(tmp_path):
    task = asyncio.create_task(run(Command(shell="touch started; kill -STOP $PPID; sleep 100", cwd=tmp_path)))
    while not (tmp_path / "started").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_stopped_keeper_is_told_instead_of_waited_for():
    async with Process(Command(shell="sleep 60")) as process:
        keeper = parent_of(parent_of(process.pid))
        os.kill(keeper, signal.SIGSTOP)
        try:
            busy = [asyncio.create_task(run(Command(shell="sleep 1"), start_secs=1)) for _ in range(30)]
            outcomes = await asyncio.gather(*busy, return_exceptions=True)
        finally:
            os.kill(keeper, signal.SIGCONT)
    told = [each for each in outcomes if isinstance(each, InfrastructureError)]
    assert told
    assert "did not start within 1 s" in str(told[0])


async def test_a_cancelled_start_leaves_nothing_that_runs_on(tmp_path):
    for number in range(60):
        task = asyncio.create_task(run(Command(shell=f"sleep 0.05; touch {tmp_path}/{number}")))
        await asyncio.sleep(0.0005 * (number % 8))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.sleep(0.3)
    assert list(tmp_path.iterdir()) == []


async def test_reading_lines_ends_when_another_task_waits():
    async with Process(Command(shell="sleep 0.3; echo late")) as process:
        reader = asyncio.create_task(_collect(process))
        await asyncio.sleep(0.05)
        await process.wait()
        async with asyncio.timeout(5):
            await reader


async def _collect(process: Process) -> list[str]:
    return [line async for line in process.lines()]


async def test_a_slow_reader_really_holds_the_command_back(tmp_path):
    line = "for i in $(seq 1 300); do head -c 100000 /dev/zero | tr '\\0' '\\n'; done; touch finished"
    async with Process(Command(shell=line, cwd=tmp_path)) as process:
        await anext(process.lines())
        await asyncio.sleep(1)
        assert not (tmp_path / "finished").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"argv": ("true",), "env": {"A=B": "x"}}, "variable name"),
        ({"argv": ("true",), "env": {"": "x"}}, "variable name"),
        ({"argv": ("true",), "cwd": "nul\0"}, "NUL byte"),
        ({"argv": ("true",), "cwd": "\ud800"}, "cannot be encoded"),
    ],
)
async def test_what_the_system_would_not_take_is_refused_with_a_reason(command, message):
    with pytest.raises(SpawnError, match=message):
        await run(Command(**command))


async def test_any_text_can_be_looked_for():
    assert (await run(Command(argv=("true",), find="\ud800"))).found is False


async def test_output_may_be_kept_not_at_all():
    finished = await run(Command(shell="echo hello", output_limit=0))
    assert (finished.stdout.data, finished.stdout.seen) == (b"", 6)


async def test_a_deleted_working_folder_is_a_clear_error(tmp_path):
    script = (
        "import asyncio, os\nfrom trueup.core.process import Command, run\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "try: asyncio.run(run(Command(argv=('true',))))\nexcept Exception as error: print(type(error).__name__, error)\n"
    )
    finished = await run(Command(argv=(sys.executable, "-c", script), cwd=tmp_path))
    assert finished.stdout.text.startswith("SpawnError could not start 'true': the working folder is gone")


async def test_scarce_descriptors_are_told_and_none_is_lost():
    script = """
import asyncio, os, resource
from trueup.core.errors import TrueupError
from trueup.core.process import Command, run
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
async def main():
    await run(Command(argv=("true",)))
    before = len(os.listdir("/proc/self/fd"))
    outcomes = await asyncio.gather(*(run(Command(shell="sleep 0.2")) for _ in range(60)), return_exceptions=True)
    odd = {type(each).__name__ for each in outcomes if isinstance(each, Exception) and not isinstance(each, TrueupError)}
    told = sum(isinstance(each, TrueupError) for each in outcomes)
    for _ in range(5):
        await run(Command(argv=("true",)))
    # Idle reapers keep one each.
    print(odd or "no other error", told > 0, len(os.listdir("/proc/self/fd")) - before <= 16)
asyncio.run(main())
"""
    finished = await run(Command(argv=(sys.executable, "-c", script), timeout_secs=60))
    assert finished.stdout.text == "no other error True True\n", finished.stderr.text


def test_many_threads_that_start_at_once_share_one_keeper(tmp_path):
    script = """
import asyncio, threading
from pathlib import Path
from trueup.core.process import Command, run
threads = [threading.Thread(target=lambda: asyncio.run(run(Command(argv=("true",))))) for _ in range(12)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(1 for p in Path("/proc/self/task").glob("*/children") for c in p.read_text().split()))
"""
    finished = asyncio.run(run(Command(argv=(sys.executable, "-c", script), timeout_secs=60)))
    assert finished.stdout.text == "1\n", finished.stderr.text


async def test_without_a_proc_of_its_own_the_runner_refuses_to_pretend(tmp_path):
    script = (
        "import asyncio\nfrom trueup.core.process import Command, run\n"
        "try: asyncio.run(run(Command(argv=('/bin/sleep', '5'), timeout_secs=1)))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    inner = f"umount -l /proc && exec {sys.executable} -c '{script.replace(chr(39), chr(34))}'"
    if os.geteuid() != 0:
        pytest.skip("only root can take /proc away from a process")
    finished = await run(Command(argv=("unshare", "--mount", "bash", "-c", inner), timeout_secs=30))
    assert finished.stdout.text.startswith("InfrastructureError"), finished.stderr.text
    assert "/proc" in finished.stdout.text


async def test_a_fork_of_trueup_does_not_keep_commands_alive(tmp_path):
    script = """
import asyncio, os, sys
from trueup.core.process import Command, Process
async def main():
    async with Process(Command(shell=f"echo $$ > {sys.argv[1]}/pid; sleep 1000")) as process:
        while not os.path.exists(sys.argv[1] + "/pid"): await asyncio.sleep(0.01)
        if os.fork() == 0:
            import time
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    async with Process(Command(argv=(sys.executable, "-c", script, str(tmp_path))), lines=False):
        while not (tmp_path / "pid").exists():
            await asyncio.sleep(0.02)
        pid = int((await asyncio.to_thread(_text_of, tmp_path / "pid")).strip())
        deadline = time.monotonic() + 5
        while parent_of(pid) is not None and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert parent_of(pid) is None


def _text_of(path: Path) -> str:
    while not (text := path.read_text()):
        threading.Event().wait(0.01)
    return text
