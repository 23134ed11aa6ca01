"""Questions to the database. All of it blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, or_, select, tuple_

from trueup.core.errors import InfrastructureError, InputError, TrueupError

from ._encoding import clean, decode, payload_hashes, unpack, whole
from ._records import KINDS, RunInfo, StoredRecord
from ._tables import payloads, records, runs
from ._writes import chunks, run_info

LONGEST_ID = 64

# Where a run stands among the others: when it started, and its id.
Place = tuple[str, str]


def get(connection: Connection, run_id: str) -> RunInfo | None:
    """One run by its whole id."""
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings().first()
    return None if row is None else run_info(row)


def find(connection: Connection, prefix: str, kind: str | None) -> RunInfo:
    """The run that somebody means by the beginning of its id."""
    if len(prefix) > LONGEST_ID:
        raise InputError(f"an id has no more than {LONGEST_ID} characters, and this has {len(prefix)}")
    prefix = clean(prefix)
    exact = get(connection, prefix)
    if exact is not None and kind in (None, exact.kind):
        return exact
    matches = runs.c.run_id.startswith(prefix, autoescape=True)
    query = select(runs).where(matches).order_by(runs.c.run_id.desc()).limit(6)
    if kind is not None:
        query = query.where(runs.c.kind == kind)
    found = [run_info(row) for row in connection.execute(query).mappings()] if prefix else []
    if len(found) == 1:
        return found[0]
    noun = kind or "run"
    if not found:
        listing = "code list --all" if kind == "session" else "runs list"
        raise InputError(f"there is no {noun} {prefix!r}; `trueup {listing}` shows those that there are")
    some = ", ".join(run.run_id for run in found[:5]) + (", …" if len(found) > 5 else "")
    raise InputError(f"{prefix!r} could be several {noun}s: {some}; type more of it")


def list_runs(
    connection: Connection,
    kind: str | None,
    agent_id: str | None,
    status: str | None,
    before: Place | None,
    limit: int | None,
) -> list[RunInfo]:
    """Runs, newest first."""
    query = select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(limit)
    for name, value in (("kind", kind), ("agent_id", agent_id), ("status", status)):
        if value is not None:
            query = query.where(runs.c[name] == clean(value))
    if before is not None:
        place = [clean(each) for each in before]
        # The first part alone is found by an index.
        query = query.where(runs.c.started_at <= place[0], tuple_(runs.c.started_at, runs.c.run_id) < tuple_(*place))
    return [run_info(row) for row in connection.execute(query).mappings()]


def kinds_and_agents(connection: Connection, most: int) -> tuple[list[str], dict[str, str]]:
    """Which kinds of runs there are, and which agents, by id, with their names, among the newest `most` runs."""
    newest = select(runs.c.kind, runs.c.agent_id, runs.c.agent_name).order_by(runs.c.started_at.desc()).limit(most)
    found = connection.execute(select(newest.subquery()).distinct()).all()
    names = {agent_id: name or agent_id for _, agent_id, name in found if agent_id is not None}
    return sorted({kind for kind, _, _ in found}), dict(sorted(names.items()))


def counts(connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """How many records each of these runs has."""
    found: dict[str, int] = {}
    for some in chunks(run_ids):
        rows = connection.execute(select(runs.c.run_id, runs.c.record_count).where(runs.c.run_id.in_(some)))
        found.update((run_id, count) for run_id, count in rows)
    return found


def trace(
    connection: Connection, run_id: str, after: int, limit: int | None, types: Collection[str] | None
) -> list[StoredRecord]:
    """Records of a run after a place in it, with their payloads."""
    query = select(records).where(records.c.run_id == run_id, records.c.seq > after).order_by(records.c.seq)
    if types is not None:
        query = query.where(_is_one_of([clean(each) for each in types]))
    return _restore_all(connection, connection.execute(query.limit(limit)).mappings().all())


def _is_one_of(wanted: list[str]) -> ColumnElement[bool]:
    of_type = records.c.type.in_(wanted)
    # Events alone are found by an index, however many turns there are between them.
    return of_type if KINDS.isdisjoint(wanted) else or_(records.c.kind.in_(wanted), of_type)


def latest(connection: Connection, run_ids: Sequence[str], event_type: str) -> dict[str, StoredRecord]:
    """The newest event of a type in each run that has one."""
    newest: dict[str, StoredRecord] = {}
    for some in chunks(run_ids):
        last = (
            select(records.c.run_id, func.max(records.c.seq).label("seq"))
            .where(records.c.run_id.in_(some), records.c.type == clean(event_type))
            .group_by(records.c.run_id)
            .subquery()
        )
        same = and_(records.c.run_id == last.c.run_id, records.c.seq == last.c.seq)
        rows = connection.execute(select(records).join(last, same)).mappings().all()
        newest |= dict(zip((row["run_id"] for row in rows), _restore_all(connection, rows), strict=True))
    return newest


def _restore_all(connection: Connection, rows: Sequence[RowMapping]) -> list[StoredRecord]:
    packed = packed_payloads(connection, rows)
    return [restore(row, packed) for row in rows]


def restore(row: RowMapping, packed: dict[str, bytes]) -> StoredRecord:
    """A record from its row; an `InfrastructureError` where that cannot be done any more."""
    with explained(row["run_id"], row["seq"]):
        contents = {digest: unpack(digest, packed.get(digest)) for digest in payload_hashes(row["places"])}
        record = decode(whole(row["body"], row["places"], contents), row["turn_index"])
    return StoredRecord(row["seq"], row["at"], record, row["hash"], row["previous_hash"])


@contextmanager
def explained(run_id: str, seq: int) -> Iterator[None]:
    """Say which record it is that cannot be read."""
    try:
        yield
    except (TrueupError, ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
        raise InfrastructureError(
            f"record {seq} of run {run_id} cannot be read: {error}; `trueup runs verify {run_id}` says what is whole"
        ) from None


def packed_payloads(connection: Connection, rows: Sequence[RowMapping]) -> dict[str, bytes]:
    """What the database has of the payloads that these records need."""
    wanted = sorted({digest for row in rows for digest in payload_hashes(row["places"])})
    packed: dict[str, bytes] = {}
    for some in chunks(wanted):
        query = select(payloads.c.hash, payloads.c.content).where(payloads.c.hash.in_(some))
        packed.update((row.hash, row.content) for row in connection.execute(query))
    return packed
