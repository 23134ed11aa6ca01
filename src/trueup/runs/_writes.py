"""What can be written, and how many writes share one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, bindparam, insert, select, update

from trueup.core.errors import InputError

from ._chain import link, root
from ._database import Database
from ._encoding import Encoded, Payload, clean, encode, numbered
from ._ids import check_id, new_id
from ._records import Appended, CheckRecord, Ended, EventRecord, ModelTurn, Record, RunInfo, Started, StoredRecord, Turn
from ._tables import payloads, records, runs

# SQLite takes 32,766 parameters in a statement.
AT_ONCE = 1000


class Write(Protocol):
    """Something to write. `prepare` and `apply` may refuse it with an error that is its own alone."""

    @property
    def run_id(self) -> str | None: ...
    @property
    def key(self) -> str | None: ...

    def prepare(self) -> Sequence[Encoded]:
        """Everything that takes long, before the database is held."""
        ...

    def apply(self, encoded: Sequence[Encoded], batch: Batch) -> Any:
        """Add to the batch, all or nothing, and say what the writer is told when it is on disk."""
        ...


class Start(Struct, frozen=True):
    """Begin a run, or find the one that was begun by the same key."""

    started: Started
    at: str
    run_kind: str
    run_id: str | None = None
    key: str | None = None
    owner: str | None = None

    def prepare(self) -> Sequence[Encoded]:
        if self.run_id is not None:
            check_id(self.run_id)
        return [encode(self.started)]

    def apply(self, encoded: Sequence[Encoded], batch: Batch) -> RunInfo:
        if self.key is not None and self.key in batch.by_key:
            return batch.runs[batch.by_key[self.key]]
        run = describe(self.run_id or batch.unused_id(), self.run_kind, self.started, self.at)
        if run.run_id in batch.runs:
            raise InputError(f"there is already a run {run.run_id}: choose another id, or let trueup choose")
        return batch.begin(run, self.key, self.owner, encoded)


class Append(Struct, frozen=True):
    """Add records to a run that goes on."""

    run_id: str
    records: tuple[Record, ...]
    at: str
    owner: str | None = None
    key: None = None

    def prepare(self) -> Sequence[Encoded]:
        for record in self.records:
            if not isinstance(record, Turn | ModelTurn | CheckRecord | EventRecord):
                raise TypeError(f"{type(record).__name__} cannot be appended: a run is started and ended once")
        return [encode(record) for record in self.records]

    def apply(self, encoded: Sequence[Encoded], batch: Batch) -> Appended:
        run = batch.runs.get(self.run_id)
        if run is None:
            return Appended(0, 0, None, "run_not_found")
        if run.ended:
            return Appended(run.turn_count, 0, None, "run_terminal")
        batch.check_owner(self.run_id, self.owner)
        batch.add(run, encoded, self.at)
        return Appended(run.turn_count, len(encoded), run.record_count if encoded else None, at=self.at)


class End(Struct, frozen=True):
    """End a run, once."""

    run_id: str
    ended: Ended
    at: str
    owner: str | None = None
    key: None = None

    def prepare(self) -> Sequence[Encoded]:
        return [encode(self.ended)]

    def apply(self, encoded: Sequence[Encoded], batch: Batch) -> RunInfo:
        run = batch.runs.get(self.run_id)
        if run is None:
            raise InputError(f"there is no run {self.run_id}; `trueup runs list` shows those that there are")
        if run.ended:
            raise InputError(f"run {self.run_id} has ended already: {run.status} at {run.ended_at}")
        batch.check_owner(self.run_id, self.owner)
        closed = msgspec.structs.replace(
            run, status=self.ended.status, ended_at=self.at, summary=clean(self.ended.summary)
        )
        return batch.add(closed, encoded, self.at)


def describe(run_id: str, kind: str, started: Started, at: str) -> RunInfo:
    """A run's row when it begins; `verify` compares it with the `started` record."""
    return RunInfo(
        run_id=run_id,
        kind=kind,
        intent=clean(started.intent),
        agent_id=_clean_or_none(started.agent_id),
        agent_name=_clean_or_none(started.agent_name),
        client_id=_clean_or_none(started.client_id),
        outcome_description=_clean_or_none(started.outcome_description),
        started_at=at,
        ended_at=None,
        status="in_progress",
        summary="",
        turn_count=0,
        record_count=0,
        head_hash=root(kind),
    )


def _clean_or_none(text: str | None) -> str | None:
    return None if text is None else clean(text)


class Batch:
    """The runs that a transaction is about, as they will be, and the rows that get them there.

    `written` has the new records of those runs that somebody follows.
    """

    def __init__(self, connection: Connection, writes: Iterable[Write], followed: Callable[[str], bool]) -> None:
        self._connection = connection
        self._followed = followed
        self._keys: dict[str, str | None] = {}
        self._owners: dict[str, str | None] = {}
        self._changed: dict[str, None] = {}
        self._records: list[dict[str, Any]] = []
        self.runs: dict[str, RunInfo] = {}
        self.by_key: dict[str, str] = {}
        self.written: dict[str, list[StoredRecord]] = {}
        known = list(writes)
        self._load(runs.c.run_id, {each.run_id for each in known if each.run_id is not None})
        self._load(runs.c.idempotency, {each.key for each in known if each.key is not None})

    def _load(self, column: Any, values: set[str]) -> None:
        for some in chunks(sorted(values)):
            for row in self._connection.execute(select(runs).where(column.in_(some))).mappings():
                self.runs[row["run_id"]] = run_info(row)
                self._owners[row["run_id"]] = row["owner"]
                if row["idempotency"] is not None:
                    self.by_key[row["idempotency"]] = row["run_id"]

    def unused_id(self) -> str:
        """An id that nobody has."""
        while True:
            run_id = new_id()
            taken = self._connection.scalar(select(runs.c.run_id).where(runs.c.run_id == run_id))
            if taken is None and run_id not in self.runs:
                return run_id

    def check_owner(self, run_id: str, writer: str | None) -> None:
        """A run that has an owner is written by nobody else."""
        owner = self._owners[run_id]
        if owner is not None and owner != writer:
            raise InputError(f"run {run_id} belongs to another: only {owner}, which started it, writes to it")

    def begin(self, run: RunInfo, key: str | None, owner: str | None, encoded: Sequence[Encoded]) -> RunInfo:
        """Add a run with its first record."""
        self._keys[run.run_id] = key
        self._owners[run.run_id] = owner
        if key is not None:
            self.by_key[key] = run.run_id
        return self.add(run, encoded, run.started_at)

    def add(self, run: RunInfo, encoded: Sequence[Encoded], at: str) -> RunInfo:
        """Number the records, chain them to the run's last one, and give the run as it then is."""
        head, seq, index = run.head_hash, run.record_count, run.turn_count
        told = self.written.setdefault(run.run_id, []) if self._followed(run.run_id) else None
        for each in encoded:
            turn_index = index if each.numbered else None
            following = link(head, run.run_id, seq, at, each.kind, each.type, turn_index, each.places, each.body)
            self._records.append(
                {
                    "run_id": run.run_id,
                    "seq": seq,
                    "at": at,
                    "kind": each.kind,
                    "type": each.type,
                    "turn_index": turn_index,
                    "body": each.body,
                    "places": each.places,
                    "previous_hash": head,
                    "hash": following,
                }
            )
            if told is not None:
                told.append(StoredRecord(seq, at, numbered(each.record, turn_index), following, head))
            head, seq, index = following, seq + 1, index + each.numbered
        self.runs[run.run_id] = msgspec.structs.replace(run, head_hash=head, record_count=seq, turn_count=index)
        self._changed[run.run_id] = None
        return self.runs[run.run_id]

    def flush(self, contents: dict[str, Payload], packed: dict[str, dict[str, Any]]) -> None:
        """Send it all to the database."""
        begun = [self._beginning(each) for each in self._keys]
        going_on = [self._progress(each) for each in self._changed if each not in self._keys]
        missing = unknown_payloads(self._connection, contents)
        # Removed since it was looked for: `prune` found nobody who needed it.
        new = [packed.get(digest) or payload_row(contents[digest]) for digest in missing]
        for statement, rows in (
            (insert(runs), begun),
            (insert(payloads), new),
            (insert(records), self._records),
            (_PROGRESS, going_on),
        ):
            if rows:
                self._connection.execute(statement, rows)

    def _beginning(self, run_id: str) -> dict[str, Any]:
        row = msgspec.structs.asdict(self.runs[run_id])
        return {**row, "idempotency": self._keys[run_id], "owner": self._owners[run_id], "indexed_count": 0}

    def _progress(self, run_id: str) -> dict[str, Any]:
        row = msgspec.structs.asdict(self.runs[run_id])
        return {"this_run": run_id, **{name: row[name] for name in _CHANGING}}


_CHANGING = ("ended_at", "status", "summary", "turn_count", "record_count", "head_hash")
_PROGRESS = (
    update(runs).where(runs.c.run_id == bindparam("this_run")).values({name: bindparam(name) for name in _CHANGING})
)


def pack(database: Database, contents: dict[str, Payload]) -> dict[str, dict[str, Any]]:
    """Compress those payloads that are not there yet, before the database is held."""
    if not contents:
        return {}
    with database.reading() as connection:
        missing = unknown_payloads(connection, contents)
    return {digest: payload_row(contents[digest]) for digest in missing}


def payload_row(payload: Payload) -> dict[str, Any]:
    """A payload as the database keeps it."""
    return {"hash": payload.hash, "size": len(payload.content), "content": payload.packed()}


def unknown_payloads(connection: Connection, hashes: Iterable[str]) -> list[str]:
    """Those that the database does not have."""
    wanted = list(hashes)
    known: set[str] = set()
    for some in chunks(wanted):
        known.update(connection.scalars(select(payloads.c.hash).where(payloads.c.hash.in_(some))))
    return [digest for digest in wanted if digest not in known]


def chunks(values: Sequence[str]) -> Iterable[Sequence[str]]:
    """As many at once as a statement takes."""
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))


def run_info(row: Any) -> RunInfo:
    """A row of `runs` as people know it."""
    return RunInfo(**{name: row[name] for name in RunInfo.__struct_fields__})
