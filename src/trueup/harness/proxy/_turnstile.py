"""How many calls of models are let through: so many at once, and none that may not be made any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from trueup.core.errors import TrueupError

# Raises where no further call may be made, by how many are under way.
Admit = Callable[[int], None]


class Turnstile:
    """Lets one call after the other through; one too many waits for those under way, which may turn out to be free."""

    def __init__(
        self,
        at_once: int,
        admit: Admit | None,
        settled: Callable[[], Awaitable[None]],
        on_objection: Callable[[Exception], None],
    ) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._admit = admit
        self._settled = settled
        self._on_objection = on_objection
        self._under_way = 0
        self._one_ended = asyncio.Event()

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """With a call that may be made, or one after which nothing more may, which has been objected to."""
        async with self._places:
            await self._until_decided()
            self._under_way += 1
            try:
                yield
            finally:
                self._under_way -= 1
                self._one_ended.set()

    async def _until_decided(self) -> None:
        # What the last answer used must be known before the next question is let through.
        await self._settled()
        while not self._is_decided():
            self._one_ended.clear()
            await self._one_ended.wait()
            await self._settled()

    def _is_decided(self) -> bool:
        objection = self._objection_to(0)
        if objection is not None:
            self._on_objection(objection)
            return True
        return self._objection_to(self._under_way) is None

    def _objection_to(self, under_way: int) -> TrueupError | None:
        if self._admit is None:
            return None
        try:
            self._admit(under_way)
        except TrueupError as error:
            return error
        return None
