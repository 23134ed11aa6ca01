"""The runs that go on in this daemon: who may write to each, and what becomes of it when they leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trueup.core.errors import TrueupError
from trueup.runs import Appended, Ended, EndStatus, Record, RunInfo, RunStore, Started

from ._errors import Code, RpcError

if TYPE_CHECKING:
    from ._connection import Connection

_log = logging.getLogger("trueup.daemon")

# A client that lost its connection comes back within seconds, or not at all.
GRACE_SECS = 10.0


class LiveRun:
    """A run that goes on, and the client that writes it; none while that one may come back."""

    def __init__(self, run_id: str, agent_id: str, owner: Connection) -> None:
        self.run_id = run_id
        self.agent_id = agent_id
        self.owner: Connection | None = owner
        self.client_id = owner.client_id
        self.cancelled_because: str | None = None
        # Whoever works on it at the moment, so that it can be stopped.
        self.work: set[asyncio.Task[Any]] = set()
        self.waiting: asyncio.Task[None] | None = None


class LiveRuns:
    """Runs are written by their owner only, and outlive its connection by a grace."""

    def __init__(self, store: RunStore, grace_secs: float = GRACE_SECS) -> None:
        self._store = store
        self._grace_secs = grace_secs
        # The name under which this daemon owns its runs in the database, while it lives.
        self.name: str | None = None
        self._runs: dict[str, LiveRun] = {}
        self._ending: set[str] = set()

    def __len__(self) -> int:
        return len(self._runs)

    async def start(self, owner: Connection, started: Started, key: str | None) -> LiveRun | RunInfo:
        """Begin a run, or find the one of the same key; what has ended or is written elsewhere is only described."""
        info = await self._store.start(started, idempotency_key=key, owner=self.name)
        known = self._runs.get(info.run_id)
        if known is None:
            if info.client_id != owner.client_id or info.ended:
                return info
            known = LiveRun(info.run_id, info.agent_id or "", owner)
            self._runs[info.run_id] = known
        if known.owner is None:
            self._hand_over(known, owner)
        self._own(known, owner)
        return known

    def _own(self, run: LiveRun, owner: Connection) -> None:
        if run.owner is owner:
            owner.open_runs[run.run_id] = run

    def _hand_over(self, run: LiveRun, owner: Connection) -> None:
        if run.waiting is not None:
            run.waiting.cancel()
            run.waiting = None
        run.owner, run.client_id = owner, owner.client_id

    async def resume(self, run_id: str, owner: Connection) -> tuple[LiveRun, str]:
        """Go on with a run whose client is gone; also the id of that client."""
        run = await self._find(run_id)
        if run.owner is not None and run.owner is not owner:
            raise of_another(run_id)
        before = run.client_id
        self._hand_over(run, owner)
        self._own(run, owner)
        return run, before

    async def append(self, run_id: str, records: list[Record], owner: Connection) -> Appended:
        """Add records to a run of this client's; dropped where it is unknown or has ended."""
        run = self._runs.get(run_id)
        if run is None:
            info = await self._store.get(run_id)
            if info is not None and not info.ended:
                raise of_another(run_id)
            if info is None:
                return Appended(0, 0, None, "run_not_found")
            return Appended(info.turn_count, 0, None, "run_terminal")
        if run.owner is not owner:
            raise of_another(run_id)
        return await self._store.append(run_id, records, owner=self.name)

    async def record(self, run: LiveRun, records: Sequence[Record]) -> None:
        """Add records to a run on behalf of its owner; nothing where it has ended meanwhile."""
        await self._store.append(run.run_id, records, owner=self.name)

    async def complete(self, run_id: str, ended: Ended, owner: Connection) -> None:
        """End a run of this client's."""
        run = await self._find(run_id)
        if run.owner is not owner:
            raise of_another(run_id)
        await self._end(run, ended)

    async def cancel(self, run_id: str, ended: Ended, by: Connection, *, any_run: bool) -> None:
        """End a run early, with whatever is being done for it."""
        run = await self._find(run_id)
        if run.owner is not by and not any_run:
            raise of_another(run_id)
        await self._end(run, ended)
        run.cancelled_because = ended.summary or "no reason was given"
        for task in tuple(run.work):
            task.cancel()

    def leave(self, owner: Connection) -> None:
        """Let the runs of a client that left wait for it."""
        for run in owner.open_runs.values():
            run.owner = None
            run.waiting = asyncio.create_task(self._end_after_grace(run))
        owner.open_runs.clear()

    async def end_all(self, why: str) -> None:
        """Leave nothing open: the daemon ends."""
        runs = tuple(self._runs.values())
        waiting = [run.waiting for run in runs if run.waiting is not None]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*(self._end(run, _early("incomplete", why)) for run in runs), return_exceptions=True)

    async def _end_after_grace(self, run: LiveRun) -> None:
        await asyncio.sleep(self._grace_secs)
        run.waiting = None
        try:
            await self._end(run, _early("incomplete", "its client left and did not come back"))
        except TrueupError as error:
            _log.error("run %s could not be ended: %s", run.run_id, error)

    async def _end(self, run: LiveRun, ended: Ended) -> None:
        self._ending.add(run.run_id)
        try:
            await self._store.end(run.run_id, ended, owner=self.name)
        finally:
            self._ending.discard(run.run_id)
        self._runs.pop(run.run_id, None)
        if run.owner is not None:
            run.owner.open_runs.pop(run.run_id, None)

    async def _find(self, run_id: str) -> LiveRun:
        run = self._runs.get(run_id)
        if run is None:
            raise await self._explain(run_id)
        if run_id in self._ending:
            raise _ended(run_id, "just now")
        return run

    async def _explain(self, run_id: str) -> RpcError:
        """Why nothing can be done with a run that does not go on here."""
        info = await self._store.get(run_id)
        if info is None:
            said = f"there is no run {run_id}; runs.list shows those that there are"
            return RpcError(Code.RUN_NOT_FOUND, said, {"run_id": run_id})
        if info.ended:
            return _ended(run_id, f"{info.status} at {info.ended_at}")
        return of_another(run_id)


def of_another(run_id: str) -> RpcError:
    """A run is written by its owner only."""
    said = f"run {run_id} belongs to another client; only that one can write to it while it is there"
    return RpcError(Code.RUN_OF_ANOTHER, said, {"run_id": run_id})


def _ended(run_id: str, how: str) -> RpcError:
    return RpcError(Code.RUN_ENDED, f"run {run_id} has ended already: {how}", {"run_id": run_id})


def _early(status: EndStatus, why: str) -> Ended:
    return Ended(status, summary=why, termination=why)
