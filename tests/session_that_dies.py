"""A process that works on a session and is ended at one of its events.

Its plan: the request, the event (`kind`, or `state_changed:STATE`) at which to die, and the signal to die of.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from trueup.coder import Absent, CodeRequest, Sessions, Told
from trueup.runs import RunStore


class Dying:
    """A `Listener` that does not live to tell."""

    def __init__(self, at: str, signal: int) -> None:
        self._at = at
        self._signal = signal

    async def hear(self, told: Told) -> None:
        event = msgspec.to_builtins(told.event)
        if self._at in (event["kind"], f"{event['kind']}:{event.get('state')}"):
            os.kill(os.getpid(), self._signal)
            # Ctrl-C arrives when the loop turns; until then nothing more may happen.
            await asyncio.sleep(60)


def work(plan: dict[str, Any]) -> None:
    try:
        asyncio.run(_work(plan))
    except KeyboardInterrupt:
        sys.exit(130)


async def _work(plan: dict[str, Any]) -> None:
    async with await RunStore.open() as store:
        request = msgspec.convert(plan["request"], CodeRequest)
        await Sessions(store).start(request, Absent(yes=True), Dying(plan["at"], plan["signal"]))
