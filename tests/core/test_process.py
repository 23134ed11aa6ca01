"""The runner: what a command did, told truly."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.core.errors import Kind, SpawnError
from trueup.core.process import Command, Output, run


async def test_exit_code_and_both_streams_are_reported():
    finished = await run(Command(argv=("sh", "-c", "echo out; echo err >&2; exit 3")))
    assert (finished.exit_code, finished.signal) == (3, None)
    assert (finished.stdout.text, finished.stderr.text) == ("out\n", "err\n")


async def test_a_command_that_a_signal_ended_has_no_exit_code():
    finished = await run(Command(argv=("sh", "-c", "kill -SEGV $$")))
    assert (finished.exit_code, finished.signal) == (None, 11)


async def test_a_shell_line_runs_in_bash_with_pipefail():
    finished = await run(Command(shell="[[ -n $BASH ]] && exit 7 | cat"))
    assert finished.exit_code == 7


async def test_merged_streams_keep_the_order_in_which_they_were_written():
    finished = await run(Command(shell="for i in 1 2 3; do echo out$i; echo err$i >&2; done", merge_stderr=True))
    assert finished.stdout.text.split() == ["out1", "err1", "out2", "err2", "out3", "err3"]
    assert finished.stderr.seen == 0


async def test_input_and_output_larger_than_any_pipe_flow_at_the_same_time():
    text = os.urandom(8 << 20)
    finished = await run(Command(shell="tee /dev/stderr", stdin=text, output_limit=len(text)))
    assert finished.stdout.data == text
    assert finished.stderr.data == text


async def test_a_command_that_reads_none_of_its_input_is_no_error():
    finished = await run(Command(argv=("true",), stdin=b"x" * (4 << 20)))
    assert finished.exit_code == 0


async def test_without_input_a_command_reads_end_of_file():
    assert (await run(Command(argv=("cat",), timeout_secs=10))).exit_code == 0


async def test_binary_output_is_decoded_with_replacement():
    finished = await run(Command(shell=r"printf '\xff\xfe ok'"))
    assert finished.stdout.text == "\ufffd\ufffd ok"


async def test_of_long_output_the_end_is_kept_and_all_of_it_is_counted():
    finished = await run(Command(shell="seq 1 200000", output_limit=1000))
    assert finished.stdout.seen == len("".join(f"{n}\n" for n in range(1, 200001)))
    assert len(finished.stdout.data) == 1000
    assert finished.stdout.text.endswith("199999\n200000\n")
    assert not finished.stdout.whole


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_a_tail_is_the_end_of_the_text_cut_between_characters(text, limit):
    data = text.encode(errors="replace")
    tail = Output(data, len(data)).tail(limit)
    assert data.decode().endswith(tail)
    assert limit - 3 <= len(tail.encode()) <= limit or tail == data.decode()


async def test_a_text_is_found_however_much_output_surrounds_it():
    line = "head -c 3000000 /dev/zero; echo -n nee; sleep 0.1; echo dle; head -c 3000000 /dev/zero"
    assert (await run(Command(shell=line, find="needle", output_limit=10))).found is True


async def test_a_text_that_was_not_printed_is_not_found():
    assert (await run(Command(shell="echo haystack", find="needle"))).found is False
    assert (await run(Command(shell="echo haystack"))).found is None


async def test_the_environment_is_exactly_what_was_given():
    finished = await run(Command(argv=("/usr/bin/env",), env={"ONLY": "this"}))
    assert finished.stdout.text == "ONLY=this\n"


async def test_a_command_sees_no_descriptor_but_its_own_three():
    finished = await run(Command(argv=("/bin/ls", "/proc/self/fd")))
    # The fourth is the one through which ls reads the folder.
    assert finished.stdout.text.split() == ["0", "1", "2", "3"]


async def test_signals_that_python_ignores_work_in_a_command():
    finished = await run(Command(argv=("grep", "SigIgn", "/proc/self/status")))
    ignored = int(finished.stdout.text.split()[1], 16)
    assert [number for number in range(1, 32) if ignored >> (number - 1) & 1] == []


async def test_a_folder_with_spaces_and_newlines_is_a_folder(tmp_path):
    folder = tmp_path / "a b\nc'\"d"
    folder.mkdir()
    finished = await run(Command(argv=("sh", "-c", "pwd; touch here"), cwd=folder))
    assert finished.stdout.text == f"{folder}\n"
    assert (folder / "here").exists()


async def test_a_command_may_delete_its_own_folder(tmp_path):
    folder = tmp_path / "doomed"
    folder.mkdir()
    finished = await run(Command(shell=f"rm -rf {folder}; echo done", cwd=folder))
    assert finished.stdout.text == "done\n"


async def test_the_next_command_in_a_deleted_folder_gets_a_clear_error(tmp_path):
    with pytest.raises(SpawnError, match=r"could not start 'ls' in folder '.*gone': No such file"):
        await run(Command(argv=("ls",), cwd=tmp_path / "gone"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no-such-program-here",), "no such program on PATH"),
        (("./missing",), "No such file"),
        (("/etc/passwd",), "Permission denied"),
        (("echo", "x" * (4 << 20)), "Argument list too long"),
        (("echo", "nul\0byte"), "NUL byte"),
        (("echo", "\ud800"), "cannot be encoded"),
    ],
)
async def test_a_program_that_cannot_be_started_says_why(argv, message):
    with pytest.raises(SpawnError, match=message) as caught:
        await run(Command(argv=argv))
    assert caught.value.kind is Kind.SPAWN


async def test_after_a_failed_start_the_next_command_runs():
    with pytest.raises(SpawnError):
        await run(Command(argv=("./missing",)))
    assert (await run(Command(argv=("true",)))).exit_code == 0


async def test_a_request_larger_than_a_socket_buffer_arrives_whole():
    finished = await run(Command(argv=("/usr/bin/env",), env={f"V{n}": "x" * 10_000 for n in range(90)}))
    assert finished.stdout.seen > 900_000


async def test_a_program_is_found_on_the_path_of_its_own_environment(tmp_path):
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    assert (await run(Command(argv=("only-here",), env={"PATH": str(tmp_path)}))).stdout.text == "found\n"


async def test_five_hundred_commands_run_at_once():
    started = asyncio.get_running_loop().time()
    finished = await asyncio.gather(*(run(Command(shell=f"sleep 2; echo {n}")) for n in range(500)))
    assert [int(each.stdout.text) for each in finished] == list(range(500))
    assert asyncio.get_running_loop().time() - started < 60


def test_the_runner_serves_several_event_loops_in_several_threads():
    codes = []

    def work():
        for _ in range(3):
            codes.append(asyncio.run(run(Command(argv=("sh", "-c", "exit 5")))).exit_code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [5] * 12


def test_a_command_has_argv_or_shell_and_not_both():
    for wrong in ({}, {"argv": ("a",), "shell": "b"}):
        with pytest.raises(TypeError, match="either argv or shell"):
            Command(**wrong)


async def test_a_gigabyte_of_output_costs_little_memory(tmp_path):
    script = tmp_path / "much.py"
    script.write_text(
        "import asyncio\n"
        "from pathlib import Path\n"
        "from trueup.core.process import Command, run\n"
        "def peak(): return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
        "asyncio.run(run(Command(argv=('true',))))\n"
        "before = peak()\n"
        "finished = asyncio.run(run(Command(shell='head -c 1000000000 /dev/zero')))\n"
        "print(finished.stdout.seen, peak() - before)\n"
    )
    seen, growth_kib = (await run(Command(argv=(sys.executable, str(script))))).stdout.text.split()
    assert int(seen) == 1_000_000_000
    assert int(growth_kib) < 30_000


async def test_a_full_disk_is_the_commands_own_error_and_no_output_is_lost():
    finished = await run(Command(shell="echo before; echo x > /dev/full; echo after"))
    assert finished.stdout.text == "before\nafter\n"
    assert "No space left" in finished.stderr.text


async def test_a_reaper_does_not_hold_the_folder_of_its_last_command(tmp_path):
    await run(Command(argv=("true",), cwd=tmp_path))
    held = [link for link in Path("/proc").glob("[0-9]*/cwd") if _points_to(link, tmp_path)]
    assert held == []


def _points_to(link: Path, folder: Path) -> bool:
    try:
        return link.readlink() == folder
    except OSError:
        return False
