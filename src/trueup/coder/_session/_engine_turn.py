"""One turn of an engine: within its limits, tried again where the failure is a passing one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from trueup.core.errors import TrueupError
from trueup.core.protocols import Launcher
from trueup.core.usage import Usage
from trueup.harness import Engine, EngineError, Task, Work

from ._failures import Failure, failure_of
from ._meter import Meter, Unmetered
from ._request import Limits
from ._states import FailureReason
from ._story import Story
from .events import EngineEnded, ErrorHappened

if TYPE_CHECKING:
    from trueup.harness.proxy import Proxy

LONGEST_PAUSE_SECS = 60


async def engine_turn(
    engine: Engine, task: Task, launcher: Launcher, meter: Meter, story: Story, proxy: Proxy | None = None
) -> EngineEnded:
    """Let the engine work. Whatever ends it, what it left is there to be looked at."""
    started = time.monotonic()
    turn = _Turn(engine, task, launcher, meter, story.request.limits, proxy)
    work, failure = await turn.within(story.engine_secs)
    if proxy is not None:
        # Of a call that was cut off with the engine it is known only now what it used.
        await proxy.cut_off()
    return EngineEnded(
        number=len(story.attempts) + 1,
        exit_code=work.exit_code if work else None,
        duration_secs=time.monotonic() - started,
        output_tail=work.output_tail if work else "",
        usage=turn.usage(work),
        turns=meter.turns,
        reason=failure.reason if failure else None,
        message=failure.message if failure else "",
        by_engine=failure.by_engine if failure else False,
    )


class _Turn:
    """One engine at work."""

    def __init__(
        self, engine: Engine, task: Task, launcher: Launcher, meter: Meter, limits: Limits, proxy: Proxy | None
    ) -> None:
        self._engine = engine
        self._task = task
        self._launcher = launcher
        self._meter = meter
        self._limits = limits
        self._proxy = proxy
        self._used_by_earlier_tries: Usage | None = None

    def usage(self, work: Work | None) -> Usage:
        """What is booked: what the wire saw where there is one, else what the engine says, in the end or call by call."""
        if self._proxy is not None or work is None or work.usage is None:
            return self._meter.usage
        return work.usage if self._used_by_earlier_tries is None else self._used_by_earlier_tries + work.usage

    async def within(self, secs_before: float) -> tuple[Work | None, Failure | None]:
        """The work, or why there is none, within the time that is left."""
        limit = self._limits.engine_secs
        clock = asyncio.timeout(None if limit is None else limit - secs_before)
        try:
            async with clock:
                return await self._until_exhausted(), None
        except TimeoutError:
            if not clock.expired():
                raise
            what = f"the engine's {limit:g} s are used up, and it was ended"
            return None, Failure(FailureReason.BUDGET_EXHAUSTED, what)
        except TrueupError as error:
            return None, failure_of(error)

    async def _until_exhausted(self) -> Work:
        """The work; cut off once the proxy serves nothing more, since an engine would only try again and again."""
        if self._proxy is None:
            return await self._with_retries()
        work = asyncio.ensure_future(self._with_retries())
        end = asyncio.ensure_future(self._proxy.exhausted.wait())
        try:
            await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
            await self._proxy.settled()
            if self._proxy.objection is not None:
                raise self._proxy.objection
            return await work
        finally:
            for each in (work, end):
                each.cancel()
            await asyncio.gather(work, end, return_exceptions=True)

    async def _with_retries(self) -> Work:
        for number in range(self._limits.retries):
            try:
                return await self._work()
            except EngineError as error:
                if not error.transient:
                    raise
                self._used_by_earlier_tries = self._meter.usage if self._meter.turns else None
                await self._meter.record(ErrorHappened(f"{error}; it is tried again", str(error.kind)))
                await asyncio.sleep(min(self._limits.retry_secs * 2**number, LONGEST_PAUSE_SECS))
        return await self._work()

    async def _work(self) -> Work:
        self._meter.admit()
        recorder = self._meter if self._proxy is None else Unmetered(self._meter)
        return await self._engine.work(self._task, self._launcher, recorder)
