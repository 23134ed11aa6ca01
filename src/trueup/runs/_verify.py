"""Is a run as it was written? All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from sqlalchemy import Connection, RowMapping, select

from trueup.core.errors import InfrastructureError, InputError

from ._chain import link, root
from ._encoding import clean
from ._reads import get, packed_payloads, restore
from ._records import Ended, RunInfo, Started, StoredRecord, Verification
from ._tables import records
from ._writes import describe

PAGE = 1000


class _BrokenError(Exception):
    """A record that is not as it was written."""

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(problem)
        self.seq = seq


def verify(connection: Connection, run_id: str) -> Verification:
    """Follow the chain from the first record to the head that the run's row remembers."""
    run = get(connection, run_id)
    if run is None:
        raise InputError(f"there is no run {run_id}; `trueup runs list` shows those that there are")
    chain = _Chain(run)
    try:
        for rows in _pages(connection, run_id):
            packed = packed_payloads(connection, rows)
            for row in rows:
                chain.follow(row, packed)
        chain.compare_with_row()
    except _BrokenError as broken:
        return Verification(ok=False, records=chain.count, problem=str(broken), seq=broken.seq)
    return Verification(ok=True, records=chain.count)


def _pages(connection: Connection, run_id: str) -> Iterator[Sequence[RowMapping]]:
    after = None
    while True:
        query = select(records).where(records.c.run_id == run_id).order_by(records.c.seq).limit(PAGE)
        rows = connection.execute(query if after is None else query.where(records.c.seq > after)).mappings().all()
        if not rows:
            return
        yield rows
        after = rows[-1]["seq"]


class _Chain:
    """A run's records as far as they have been found to be whole."""

    def __init__(self, run: RunInfo) -> None:
        self._run = run
        self._head = root(run.kind)
        self._turns = 0
        self._first: StoredRecord | None = None
        self._last: StoredRecord | None = None
        self.count = 0

    def follow(self, row: RowMapping, packed: dict[str, bytes]) -> None:
        """Take the next record, if it is the one that was written there."""
        self._check_link(row)
        try:
            self._last = restore(row, packed)
        except InfrastructureError as error:
            raise _BrokenError(row["seq"], str(error).split("; `")[0]) from None
        self._first = self._first or self._last
        self._head = row["hash"]
        self._turns += row["turn_index"] is not None
        self.count += 1

    def _check_link(self, row: RowMapping) -> None:
        seq = row["seq"]
        if seq != self.count:
            raise _BrokenError(self.count, f"record {self.count} is missing: record {seq} comes in its place")
        if row["previous_hash"] != self._head:
            before = f"record {seq - 1}" if seq else "the beginning of this run"
            what = "something was altered, removed, inserted or moved"
            raise _BrokenError(seq, f"record {seq} does not follow {before}: {what}")
        fields = ("run_id", "seq", "at", "kind", "type", "turn_index", "places", "body")
        if link(self._head, *(row[name] for name in fields)) != row["hash"]:
            raise _BrokenError(seq, f"record {seq} was altered: its content does not give its hash")

    def compare_with_row(self) -> None:
        """What the run's row says must be what its records say."""
        run, count = self._run, self.count
        if count < run.record_count:
            raise _BrokenError(count, f"record {count} is missing: {count} records are left of {run.record_count}")
        if count > run.record_count:
            extra = run.record_count
            raise _BrokenError(extra, f"record {extra} was added: the run had only {extra} records")
        if self._head != run.head_hash:
            raise _BrokenError(count - 1, f"record {count - 1} is not the last one that was written")
        told = self._told()
        for name in RunInfo.__struct_fields__:
            if getattr(run, name) != getattr(told, name):
                said = getattr(told, name)
                raise _BrokenError(count - 1, f"the run's {name} was altered: its records say {said!r}")

    def _told(self) -> RunInfo:
        """The run's row as its records have it."""
        if self._first is None or self._last is None or not isinstance(self._first.record, Started):
            raise _BrokenError(0, "record 0 does not say what was started")
        told = msgspec.structs.replace(
            describe(self._run.run_id, self._run.kind, self._first.record, self._first.at),
            turn_count=self._turns,
            record_count=self.count,
            head_hash=self._head,
        )
        if not isinstance(self._last.record, Ended):
            return told
        ended = self._last.record
        return msgspec.structs.replace(told, status=ended.status, ended_at=self._last.at, summary=clean(ended.summary))
