"""Running a contract's checks through a shell."""

from __future__ import annotations

import asyncio
import time
from itertools import groupby

from trueup.core.errors import Kind, TrueupError
from trueup.core.protocols import Event, Recorder, Shell, ShellCommand

from ._model import LONGEST_SECS, Check, CheckResult, Contract
from ._pipes import forgive_cut_off_stages


class CheckStarted(Event, frozen=True):
    """A check is about to run."""

    name: str


class CheckCompleted(Event, frozen=True):
    """A check has run, or could not."""

    result: CheckResult


async def evaluate(contract: Contract, shell: Shell, recorder: Recorder, *, jobs: int = 1) -> list[CheckResult]:
    """Run every check, also after a failure: a repair needs the whole picture.

    They run in the contract's order, each seeing what the earlier ones left. With `jobs`, neighbours that say they
    are `parallel` run side by side. Results are always in the contract's order.
    """
    results: list[CheckResult] = []
    for parallel, stretch in groupby(contract.checks, key=lambda check: check.parallel):
        width = jobs if parallel else 1
        results += await _run_side_by_side(list(stretch), shell, recorder, width)
    return results


async def _run_side_by_side(checks: list[Check], shell: Shell, recorder: Recorder, width: int) -> list[CheckResult]:
    room = asyncio.Semaphore(max(1, width))

    async def run_when_there_is_room(check: Check) -> CheckResult:
        async with room:
            return await _run(check, shell, recorder)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(run_when_there_is_room(check)) for check in checks]
    return [task.result() for task in running]


async def _run(check: Check, shell: Shell, recorder: Recorder) -> CheckResult:
    await recorder.record(CheckStarted(check.name))
    result = await _judge(check, shell)
    await recorder.record(CheckCompleted(result))
    return result


async def _judge(check: Check, shell: Shell) -> CheckResult:
    command = ShellCommand(
        line=forgive_cut_off_stages(check.command),
        # A file cannot ask for longer, but a program that builds a check can.
        timeout_secs=min(check.timeout_secs, LONGEST_SECS),
        cwd=check.cwd,
        env=check.env,
        network=check.network,
        find=check.output_contains,
    )
    started = time.monotonic()
    try:
        finished = await shell.run(command)
    except TrueupError as error:
        elapsed_ms = round((time.monotonic() - started) * 1000)
        reason = f"refused by policy: {error}" if error.kind is Kind.REFUSED else f"could not run: {error}"
        return check.could_not_run(str(error), reason, elapsed_ms)
    # Reading counts from a megabyte of hostile output takes a while; the loop must not wait for it.
    return await asyncio.to_thread(check.judge, finished)
