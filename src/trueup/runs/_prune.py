"""Removing runs that nobody needs any more, and what only they needed. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, delete, func, select

from trueup.core.errors import InfrastructureError

from ._database import Database
from ._encoding import clean, payload_hashes
from ._records import Pruned, RunInfo
from ._search import forget
from ._tables import payloads, records, runs
from ._writes import chunks, run_info

PAGE = 10_000


def removable(connection: Connection, before: str | None, keep: int, kind: str | None) -> list[RunInfo]:
    """Runs that ended before a time, the oldest first, without the newest that are to be kept.

    A run that is open is never among them, and so neither is a session that can be resumed.
    """
    query = select(runs).where(runs.c.status != "in_progress")
    if kind is not None:
        query = query.where(runs.c.kind == clean(kind))
    newest_first = query.order_by(runs.c.ended_at.desc(), runs.c.run_id.desc())
    ended = [run_info(row) for row in connection.execute(newest_first).mappings()][keep:]
    return [run for run in reversed(ended) if before is None or (run.ended_at or "") < before]


def prune(database: Database, before: str | None, keep: int, kind: str | None) -> Pruned:
    """Remove them, each as a whole, then the payloads that no other run has, and give the space back."""
    with database.reading() as connection:
        wanted = removable(connection, before, keep, kind)
    gone = [run for run in wanted if _remove(database, run.run_id)]
    count = sum(run.record_count for run in gone)
    freed = _remove_unused_payloads(database)
    return Pruned(gone, count, freed, kept_space=_give_back(database) if gone or freed else None)


def _remove(database: Database, run_id: str) -> bool:
    with database.writing() as connection:
        # Somebody else may have been faster.
        status = connection.scalar(select(runs.c.status).where(runs.c.run_id == run_id))
        if status in (None, "in_progress"):
            return False
        forget(connection, run_id)
        connection.execute(delete(records).where(records.c.run_id == run_id))
        connection.execute(delete(runs).where(runs.c.run_id == run_id))
    return True


def _remove_unused_payloads(database: Database) -> int:
    with database.writing() as connection:
        if not connection.scalar(select(func.count()).select_from(payloads)):
            return 0
        unused = set(connection.scalars(select(payloads.c.hash)))
        for places in _all_places(connection):
            unused.difference_update(payload_hashes(places))
        for some in chunks(sorted(unused)):
            connection.execute(delete(payloads).where(payloads.c.hash.in_(some)))
    return len(unused)


def _all_places(connection: Connection) -> Iterator[str]:
    query = select(records.c.places).where(records.c.places.is_not(None)).execution_options(yield_per=PAGE)
    yield from connection.scalars(query)


def _give_back(database: Database) -> str | None:
    """Make the file smaller, or let PostgreSQL use the space again. Neither can be part of a transaction.

    What was removed is removed, also where this fails (the file is written anew, and the disk may be full): why it did.
    """
    optimize = "INSERT INTO search_words (search_words) VALUES ('optimize')"
    in_file = (optimize, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
    try:
        database.maintain(*in_file if database.is_sqlite else ("VACUUM runs, records, payloads, searchable",))
    except InfrastructureError as error:
        return str(error)
    return None
