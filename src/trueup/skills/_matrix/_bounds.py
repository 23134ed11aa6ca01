"""How much may be under way at once against one platform, model or judge, and how long to leave it alone."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque

from msgspec import Struct

from trueup.core.errors import Kind

from .._model import ProviderError

# Whoever says so is asked too much; the other transient failures say nothing about how many calls are too many.
TOO_MUCH = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED})
_FEWER = {Kind.NETWORK: 3, Kind.TIMEOUT: 2}


class Patience(Struct, frozen=True, kw_only=True):
    """How often something is tried that may pass, and how long is waited in between.

    Who is asked too much is asked again for some minutes. A network is given less, and what took all of its time and
    may have cost as much is tried just once more.
    """

    attempts: int = 8
    first_wait_secs: float = 1.0
    most_wait_secs: float = 300.0

    def wait_secs(self, setback: int, retry_after: float | None) -> float:
        """What the vendor asked for, else twice as long each time; in part by chance, lest all come back at once."""
        if retry_after is not None:
            return min(max(retry_after, 0.0), self.most_wait_secs)
        longest = self.first_wait_secs * 2.0 ** min(setback - 1, 30)
        return min(longest, self.most_wait_secs) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    def goes_again(self, failure: Kind | None, attempts: int, retry_after: float | None) -> bool:
        """Whether to try once more. Who asks for a longer wait than we have is taken at their word: not now."""
        if failure not in ProviderError.TRANSIENT:
            return False
        most = min(self.attempts, _FEWER.get(failure, self.attempts))
        return attempts < most and (retry_after or 0.0) <= self.most_wait_secs


class Bound:
    """How many may be under way: halved when that is too much, raised by one for as many successes as it lets in.

    It begins at the most there can be. What was under way already at the last halving says nothing new about it.
    """

    def __init__(self, most: int, patience: Patience) -> None:
        self.limit = float(most)
        self.running = 0
        self._most = most
        self._patience = patience
        self._closed_until = 0.0
        self._halved_at = 0.0
        self._setbacks = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        return self.running < int(self.limit) and self.closed_secs <= 0

    @property
    def closed_secs(self) -> float:
        """How long nothing may begin from now on."""
        return self._closed_until - time.monotonic()

    def enter(self) -> None:
        self.running += 1

    def leave(self) -> None:
        self.running -= 1
        self._let_in()

    async def wait_for_room(self) -> None:
        """Wait in turn, and enter."""
        if self.has_room and not self._waiting:
            self.enter()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def succeeded(self, began: float) -> None:
        """Something that began then came through."""
        if began >= self._halved_at:
            self._setbacks = 0
            self.limit = min(float(self._most), self.limit + 1 / self.limit)
            self._let_in()

    def was_too_much(self, began: float, retry_after: float | None) -> None:
        """Something that began then was refused, for there was too much of it."""
        now = time.monotonic()
        if began >= self._halved_at:
            self.limit = float(max(1, self.running // 2))
            self._halved_at = now
            self._setbacks += 1
        elif retry_after is None:
            return
        self._closed_until = max(self._closed_until, now + self._patience.wait_secs(self._setbacks, retry_after))

    def _let_in(self) -> None:
        if self._waiting and self.closed_secs > 0:
            asyncio.get_running_loop().call_later(self.closed_secs, self._let_in)
            return
        while self._waiting and self.has_room:
            turn = self._waiting.popleft()
            if not turn.done():
                self.enter()
                turn.set_result(None)
