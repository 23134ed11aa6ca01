"""Speed, as ratios and differences against a reference measured in the same run: `make bench`."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from trueup.core.process import Command, run

PLAIN = ["sh", "-c", "true"]
ROUNDS = 200


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def report(what: str, measured: str, limit: str, holds: bool) -> bool:
    print(f"{'ok  ' if holds else 'MISS'}  {what:<48} {measured:<42} limit {limit}", flush=True)
    return holds


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def runner_overhead() -> bool:
    """One command through the runner against `subprocess.run`, alternating so that both see the same machine."""

    async def plain() -> None:
        subprocess.run(PLAIN, check=True, capture_output=True)

    async def ours() -> None:
        await run(Command(argv=tuple(PLAIN)))

    await ours()
    pairs = [(await timed(plain), await timed(ours)) for _ in range(ROUNDS)]
    reference, measured = (statistics.median(column) for column in zip(*pairs, strict=True))
    added = measured - reference
    told = f"+{milliseconds(added)} ({measured / reference:.2f} x {milliseconds(reference)})"
    return report("runner over plain sh -c true", told, "+1 ms", added <= 0.001)


async def memory_of_a_gigabyte() -> bool:
    script = (
        "import asyncio; from pathlib import Path; from trueup.core.process import Command, run\n"
        "asyncio.run(run(Command(shell='head -c 1000000000 /dev/zero')))\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    bare = await run(Command(argv=(sys.executable, "-c", script.replace("1000000000", "1"))))
    full = await run(Command(argv=(sys.executable, "-c", script)))
    base_mb, peak_mb = (int(each.stdout.text) / 1000 for each in (bare, full))
    told = f"+{peak_mb - base_mb:.1f} MB (peak {peak_mb:.1f} MB against {base_mb:.1f} for 1 byte)"
    return report("memory for 1 GB of output", told, "+30 MB", peak_mb - base_mb < 30)


async def loop_lag() -> bool:
    """How late a 1 ms timer fires while 200 children start, print and end."""
    lags: list[float] = []

    async def watch() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            lags.append(time.perf_counter() - started - 0.001)

    watcher = asyncio.create_task(watch())
    await asyncio.gather(*(run(Command(shell="for i in $(seq 20); do echo $i; sleep 0.1; done")) for _ in range(200)))
    watcher.cancel()
    p99 = statistics.quantiles(lags, n=100)[-1]
    return report("loop lag, 200 children, p99", milliseconds(p99), "50 ms", p99 < 0.050)


async def help_start() -> bool:
    trueup = str(Path(sys.executable).with_name("trueup"))

    async def bare() -> None:
        await run(Command(argv=(sys.executable, "-c", "pass")))

    async def with_help() -> None:
        await run(Command(argv=(trueup, "--help")))

    pairs = [(await timed(bare), await timed(with_help)) for _ in range(15)]
    reference, measured = (statistics.median(column) for column in zip(*pairs, strict=True))
    told = f"{measured / reference:.1f} x a bare interpreter ({milliseconds(reference)})"
    return report("trueup --help", told, "8 x", measured < 8 * reference)


async def main() -> int:
    held = [await bench() for bench in (runner_overhead, memory_of_a_gigabyte, loop_lag, help_start)]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
