"""The process runner and the start of the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from bench.measure import LoopLag, medians, milliseconds, more_milliseconds, report
from trueup.core.process import Command, run

PLAIN = ("sh", "-c", "true")


async def runner_overhead() -> bool:
    """One command through the runner against `subprocess.run`."""

    async def plain() -> None:
        subprocess.run(PLAIN, check=True, capture_output=True)

    async def ours() -> None:
        await run(Command(argv=PLAIN))

    await ours()
    reference, measured = await medians(200, plain, ours)
    added = measured - reference
    return report(
        "runner over plain sh -c true",
        more_milliseconds(added),
        "+1 ms",
        added <= 0.001,
        reference=f"{milliseconds(reference)} by subprocess.run",
        ratio=measured / reference,
    )


async def memory_of_a_gigabyte() -> bool:
    """Peak memory while a command prints a gigabyte, against one that prints a byte."""
    script = (
        "import asyncio; from pathlib import Path; from trueup.core.process import Command, run\n"
        "asyncio.run(run(Command(shell='head -c 1000000000 /dev/zero')))\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    bare = await run(Command(argv=(sys.executable, "-c", script.replace("1000000000", "1"))))
    full = await run(Command(argv=(sys.executable, "-c", script)))
    base_mb, peak_mb = (int(each.stdout.text) / 1000 for each in (bare, full))
    return report(
        "memory for 1 GB of output",
        f"{peak_mb:.1f} MB",
        "30 MB",
        peak_mb < 30,
        reference=f"{base_mb:.1f} MB for 1 byte",
        ratio=peak_mb / base_mb,
    )


async def loop_lag() -> bool:
    """How late a 1 ms timer fires while 200 children start, print and end."""
    talker = Command(shell="for i in $(seq 20); do echo $i; sleep 0.1; done")
    async with LoopLag() as lag:
        await asyncio.gather(*(run(talker) for _ in range(200)))
    return report("loop lag, 200 children, p99", milliseconds(lag.p99), "50 ms", lag.p99 < 0.050)


async def help_start() -> bool:
    """`trueup --help` against an interpreter that does nothing."""
    trueup = str(Path(sys.executable).with_name("trueup"))

    async def bare() -> None:
        await run(Command(argv=(sys.executable, "-c", "pass")))

    async def with_help() -> None:
        await run(Command(argv=(trueup, "--help")))

    reference, measured = await medians(15, bare, with_help)
    return report(
        "trueup --help",
        milliseconds(measured),
        "8 x",
        measured < 8 * reference,
        reference=f"{milliseconds(reference)} for a bare interpreter",
        ratio=measured / reference,
    )


BENCHES = (runner_overhead, memory_of_a_gigabyte, loop_lag, help_start)
