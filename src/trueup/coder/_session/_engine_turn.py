"""One turn of an engine: within its limits, tried again where the failure is a passing one."""

from __future__ import annotations

import asyncio
import time

from trueup.core.errors import TrueupError
from trueup.core.protocols import Launcher, Recorder
from trueup.harness import Engine, EngineError, Task, Work

from ._failures import Failure, failure_of
from ._meter import Meter
from ._request import Limits
from ._states import FailureReason
from ._story import Story
from .events import EngineEnded, ErrorHappened

LONGEST_PAUSE_SECS = 60


async def engine_turn(engine: Engine, task: Task, launcher: Launcher, recorder: Recorder, story: Story) -> EngineEnded:
    """Let the engine work. Whatever ends it, what it left is there to be looked at."""
    limits = story.request.limits
    meter = Meter(recorder, limits, story.used, story.turns)
    started = time.monotonic()
    work, failure = await _work_within(limits, story.engine_secs, engine, task, launcher, meter)
    return EngineEnded(
        number=len(story.attempts) + 1,
        exit_code=work.exit_code if work else None,
        duration_secs=time.monotonic() - started,
        output_tail=work.output_tail if work else "",
        usage=work.usage if work and work.usage else meter.usage,
        turns=meter.turns,
        reason=failure.reason if failure else None,
        message=failure.message if failure else "",
        by_engine=failure.by_engine if failure else False,
    )


async def _work_within(
    limits: Limits, secs_before: float, engine: Engine, task: Task, launcher: Launcher, meter: Meter
) -> tuple[Work | None, Failure | None]:
    left = None if limits.engine_secs is None else limits.engine_secs - secs_before
    clock = asyncio.timeout(left)
    try:
        async with clock:
            return await _work_with_retries(limits, engine, task, launcher, meter), None
    except TimeoutError:
        if not clock.expired():
            raise
        what = f"the engine's {limits.engine_secs:g} s are used up, and it was ended"
        return None, Failure(FailureReason.BUDGET_EXHAUSTED, what)
    except TrueupError as error:
        return None, failure_of(error)


async def _work_with_retries(limits: Limits, engine: Engine, task: Task, launcher: Launcher, meter: Meter) -> Work:
    for number in range(limits.retries):
        try:
            return await engine.work(task, launcher, meter)
        except EngineError as error:
            if not error.transient:
                raise
            await meter.record(ErrorHappened(f"{error}; it is tried again", str(error.kind)))
            await asyncio.sleep(min(limits.retry_secs * 2**number, LONGEST_PAUSE_SECS))
    return await engine.work(task, launcher, meter)
