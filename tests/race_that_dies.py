"""A process that runs a race and is ended at one of its events. Its plan is that of `session_that_dies`, with runners and a pick."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from session_that_dies import Dying
from trueup.coder import Absent, Pick, Races, Runner, Sessions
from trueup.runs import RunStore


def work(plan: dict[str, Any]) -> None:
    try:
        asyncio.run(_work(plan))
    except KeyboardInterrupt:
        sys.exit(130)


async def _work(plan: dict[str, Any]) -> None:
    runners = [Runner(engine) for engine in plan["runners"]]
    async with await RunStore.open() as store:
        races = Races(store, Sessions(store))
        dying = Dying(plan["at"], plan["signal"])
        await races.start(plan["request"], runners, Pick(plan["pick"]), Absent(yes=True), dying)
