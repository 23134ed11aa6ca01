"""Finding records by their words. All of it blocks.

Recording does not wait for it: a record is made findable when somebody looks, a thousand at a time. How far that has
come is a number in each run's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, RowMapping, Select, and_, column, func, insert, select, text, update

from trueup.core.errors import InputError

from ._database import Database
from ._encoding import clean, payload_hashes
from ._records import Found, RunInfo
from ._tables import payloads, records, runs, searchable
from ._words import MOST_PACKED, Part, parts, snippet, text_of, words
from ._writes import chunks, run_info

AT_ONCE = 1000
MOST_WORDS = 500


class Wanted(Struct, frozen=True):
    """What somebody looks for, and where. `since` is a time as records have it."""

    question: str
    kind: str | None = None
    agent_id: str | None = None
    status: str | None = None
    since: str | None = None
    limit: int = 20


class _Progress(Struct, frozen=True):
    """Records of one run that become findable."""

    run_id: str
    before: int
    after: int
    rows: list[tuple[int, list[str]]]


def search(connection: Connection, wanted: Wanted) -> list[Found]:
    """Records that have all the words, the latest first."""
    question = list(dict.fromkeys(parts(wanted.question)))
    if sum(len(part.words) for part in question) > MOST_WORDS:
        raise InputError(f"that is too much to look for at once: {MOST_WORDS} words are enough")
    if not question:
        return []
    query = _narrowed(_matching(connection, question), wanted).limit(wanted.limit)
    rows = connection.execute(query).mappings().all()
    packed = _beginnings(connection, rows)
    return [_found(row, question, packed) for row in rows]


def index_some(database: Database) -> int:
    """Make the next records findable; how many they were. What takes long is done before the database is held."""
    with database.reading() as connection:
        progress = _next(connection)
    if not progress:
        return 0
    with database.writing() as connection:
        for each in progress:
            # Whoever was faster did the same, and a run that was pruned meanwhile is gone.
            step = update(runs).where(runs.c.run_id == each.run_id, runs.c.indexed_count == each.before)
            if connection.execute(step.values(indexed_count=each.after)).rowcount:
                _insert(connection, each)
    return sum(each.after - each.before for each in progress)


def forget(connection: Connection, run_id: str) -> None:
    """A run is removed, and not found any more."""
    if connection.dialect.name == "sqlite":
        inside = "SELECT id FROM searchable WHERE run_id = :run_id"
        connection.execute(text(f"DELETE FROM search_words WHERE rowid IN ({inside})"), {"run_id": run_id})  # noqa: S608
    connection.execute(searchable.delete().where(searchable.c.run_id == run_id))


def _matching(connection: Connection, question: Sequence[Part]) -> Select[Any]:
    same = and_(records.c.run_id == searchable.c.run_id, records.c.seq == searchable.c.seq)
    joined = searchable.join(runs, runs.c.run_id == searchable.c.run_id).join(records, same)
    found = select(*_COLUMNS).select_from(joined).order_by(searchable.c.id.desc())
    if connection.dialect.name == "sqlite":
        ids = text("SELECT rowid FROM search_words WHERE search_words MATCH :question").columns(column("rowid"))
        return found.where(searchable.c.id.in_(ids.bindparams(question=_for_sqlite(question))))
    matches = text("searchable.words @@ CAST(:question AS tsquery)")
    return found.where(matches.bindparams(question=_for_postgresql(question)))


# Both tables have a `kind`, and one of them is enough of the run's id.
_COLUMNS = [
    *(each for each in runs.c),
    *(records.c[name].label(f"record_{name}") for name in ("seq", "at", "kind", "type", "body", "places")),
]


def _narrowed(query: Select[Any], wanted: Wanted) -> Select[Any]:
    for name in ("kind", "agent_id", "status"):
        value = getattr(wanted, name)
        if value is not None:
            query = query.where(runs.c[name] == clean(value))
    return query if wanted.since is None else query.where(records.c.at >= wanted.since)


def _for_sqlite(question: Sequence[Part]) -> str:
    """Every part as a string, in which FTS5 knows no operators."""
    return " ".join(f'"{" ".join(part.words)}"{"*" if part.prefix else ""}' for part in question)


def _for_postgresql(question: Sequence[Part]) -> str:
    """Words have letters and digits only, so that none can be an operator."""

    def one(part: Part) -> str:
        *others, last = [f"'{word}'" for word in part.words]
        return " <-> ".join([*others, f"{last}:*" if part.prefix else last])

    return " & ".join(f"({one(part)})" for part in question)


def _found(row: RowMapping, question: Sequence[Part], packed: dict[str, bytes]) -> Found:
    said = text_of(row["record_body"], row["record_places"], packed)
    run: RunInfo = run_info(row)
    kind = row["record_type"] or row["record_kind"]
    return Found(
        run, row["record_seq"], row["record_at"], kind, snippet(f"{row['record_type'] or ''} {said}", question)
    )


def _next(connection: Connection) -> list[_Progress]:
    """As many records as are made findable at once, of the oldest runs first."""
    behind = select(runs.c.run_id, runs.c.indexed_count, runs.c.record_count).where(
        runs.c.indexed_count < runs.c.record_count
    )
    progress: list[_Progress] = []
    room = AT_ONCE
    for run_id, before, count in connection.execute(behind.order_by(runs.c.started_at, runs.c.run_id).limit(AT_ONCE)):
        after = min(count, before + room)
        progress.append(_Progress(run_id, before, after, _read(connection, run_id, before, after)))
        room -= after - before
        if room == 0:
            break
    return progress


def _read(connection: Connection, run_id: str, before: int, after: int) -> list[tuple[int, list[str]]]:
    query = select(*(records.c[name].label(f"record_{name}") for name in ("seq", "type", "body", "places"))).where(
        records.c.run_id == run_id, records.c.seq >= before, records.c.seq < after
    )
    rows = connection.execute(query.order_by(records.c.seq)).mappings().all()
    packed = _beginnings(connection, rows)
    return [
        (
            row["record_seq"],
            words(f"{row['record_type'] or ''} {text_of(row['record_body'], row['record_places'], packed)}"),
        )
        for row in rows
    ]


def _beginnings(connection: Connection, rows: Sequence[RowMapping]) -> dict[str, bytes]:
    """The first bytes of the payloads that these records need: a large one is not read as a whole."""
    wanted = sorted({digest for row in rows for digest in payload_hashes(row["record_places"])})
    found: dict[str, bytes] = {}
    for some in chunks(wanted):
        first = func.substr(payloads.c.content, 1, MOST_PACKED)
        query = select(payloads.c.hash, first).where(payloads.c.hash.in_(some))
        found.update((digest, bytes(content)) for digest, content in connection.execute(query))
    return found


def _insert(connection: Connection, progress: _Progress) -> None:
    rows: list[dict[str, Any]] = [
        {"run_id": progress.run_id, "seq": seq, "words": these} for seq, these in progress.rows
    ]
    if connection.dialect.name == "sqlite":
        _insert_into_sqlite(connection, rows)
    elif rows:
        statement = text("INSERT INTO searchable (run_id, seq, words) VALUES (:run_id, :seq, CAST(:words AS tsvector))")
        connection.execute(statement, [{**row, "words": _as_vector(row["words"])} for row in rows])


def _insert_into_sqlite(connection: Connection, rows: list[dict[str, Any]]) -> None:
    last = connection.scalar(select(func.max(searchable.c.id))) or 0
    numbered = [{**row, "id": last + place, "words": " ".join(row["words"])} for place, row in enumerate(rows, start=1)]
    if numbered:
        some = ("id", "run_id", "seq")
        connection.execute(insert(searchable), [{name: row[name] for name in some} for row in numbered])
        statement = text("INSERT INTO search_words (rowid, words) VALUES (:id, :words)")
        connection.execute(statement, [{"id": row["id"], "words": row["words"]} for row in numbered])


def _as_vector(these: list[str]) -> str:
    return " ".join(f"'{word}':{place}" for place, word in enumerate(these, start=1))
