"""What the connections of a daemon share: the store, the runs that go on, the tokens."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from trueup.runs import RunStore

from ._callbacks import Send
from ._connection import Connection
from ._live_runs import GRACE_SECS, LiveRuns
from ._subscriptions import SLOW_SECS
from ._tokens import HUMAN_TOKEN_FILE, Tokens

if TYPE_CHECKING:
    from trueup.policy import AnyPolicy, PolicyGate

    from .coding import Coding

# A client that shows no token takes up a place.
TOKEN_WITHIN_SECS = 10.0


class Daemon:
    """Hosts connections and runs: `async with Daemon(store) as daemon`. Without tokens everybody is let in."""

    def __init__(
        self,
        store: RunStore,
        *,
        tokens: Tokens | None = None,
        token_folder: Path | None = None,
        policies: Sequence[AnyPolicy] = (),
        database_url: str | None = None,
        grace_secs: float = GRACE_SECS,
        slow_secs: float = SLOW_SECS,
        token_within_secs: float = TOKEN_WITHIN_SECS,
    ) -> None:
        self.store = store
        self.tokens = tokens
        self.policies = policies
        self.slow_secs = slow_secs
        self.token_within_secs = token_within_secs
        # Set by whoever shows pages.
        self.page_link: Callable[[], str | None] = lambda: None
        self.id = secrets.token_hex(8)
        self.runs = LiveRuns(store, grace_secs)
        self._owning = store.owning()
        self._token_folder = token_folder
        self._database_url = database_url
        self._connections: set[Connection] = set()
        self._connected = 0

    @property
    def human_token_file(self) -> str:
        """Where a human finds what shows that they are one."""
        return HUMAN_TOKEN_FILE if self._token_folder is None else str(self._token_folder / HUMAN_TOKEN_FILE)

    @cached_property
    def gate(self) -> PolicyGate:
        """The limits of the repository, counted over all clients: a client cannot have more by coming twice."""
        from trueup.policy import Policies, PolicyGate, RateLimitTool

        return PolicyGate(Policies(each for each in self.policies if isinstance(each, RateLimitTool)))

    @cached_property
    def coding(self) -> Coding:
        """The sessions of the user's coder, and those who work on them for clients of this daemon."""
        from .coding import Coding

        return Coding(self.store, self._database_url)

    @property
    def connections(self) -> int:
        """How many clients there are."""
        return len(self._connections)

    async def __aenter__(self) -> Self:
        await self.store.abandon_orphans()
        self.runs.name = await self._owning.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if "coding" in vars(self):
                await self.coding.__aexit__(kind, error, trace)
            await self.runs.end_all("the daemon was stopped")
        finally:
            await self._owning.__aexit__(kind, error, trace)

    def connect(self, send: Send) -> Connection:
        """A client that just came; `serve` it."""
        self._connected += 1
        connection = Connection(self, f"{self.id}-{self._connected}", send)
        self._connections.add(connection)
        return connection

    def leave(self, connection: Connection) -> None:
        """A client that went."""
        self._connections.discard(connection)
        self.runs.leave(connection)
        if "coding" in vars(self):
            self.coding.watchers.remove(connection)
