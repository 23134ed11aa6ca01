"""How the database came to have its tables: numbered steps that are only ever added to."""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, inspect, select

from trueup.core.errors import InputError

from ._ids import now
from ._tables import schema_version

_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}

# Never edit a step that was released: databases that took it will not take it again.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            run_id VARCHAR(64) NOT NULL PRIMARY KEY,
            kind VARCHAR(64) NOT NULL,
            intent TEXT NOT NULL,
            agent_id TEXT,
            agent_name TEXT,
            client_id TEXT,
            outcome_description TEXT,
            started_at VARCHAR(27) NOT NULL,
            ended_at VARCHAR(27),
            status VARCHAR(16) NOT NULL,
            summary TEXT NOT NULL,
            turn_count BIGINT NOT NULL,
            record_count BIGINT NOT NULL,
            head_hash VARCHAR(64) NOT NULL,
            idempotency TEXT UNIQUE
        )""",
        "CREATE INDEX runs_by_time ON runs (started_at)",
        """CREATE TABLE payloads (
            hash VARCHAR(64) NOT NULL PRIMARY KEY,
            size BIGINT NOT NULL,
            content {bytes} NOT NULL
        )""",
        """CREATE TABLE records (
            run_id VARCHAR(64) NOT NULL REFERENCES runs (run_id),
            seq BIGINT NOT NULL,
            at VARCHAR(27) NOT NULL,
            kind VARCHAR(16) NOT NULL,
            type TEXT,
            turn_index BIGINT,
            body TEXT NOT NULL,
            places TEXT,
            previous_hash VARCHAR(64) NOT NULL,
            hash VARCHAR(64) NOT NULL,
            PRIMARY KEY (run_id, seq)
        )""",
        # Turns and checks have no type, and do not pay for it.
        "CREATE INDEX records_by_type ON records (run_id, type, seq) WHERE type IS NOT NULL",
    ),
)


def is_current(connection: Connection, where: str) -> bool:
    """Whether nothing is to be done. A database of a newer trueup is refused."""
    if not inspect(connection).has_table(schema_version.name):
        return False
    version = connection.scalar(select(func.max(schema_version.c.version))) or 0
    if version > len(MIGRATIONS):
        raise InputError(
            f"{where}: was made by a newer trueup (schema {version}; this one knows {len(MIGRATIONS)}): "
            "upgrade trueup, or use another database"
        )
    return bool(version == len(MIGRATIONS))


def migrate(connection: Connection, where: str) -> None:
    """Take the steps that are missing. Whoever calls this holds the database alone, and commits."""
    if is_current(connection, where):
        return
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at VARCHAR(27))"
    )
    taken = connection.scalar(select(func.max(schema_version.c.version))) or 0
    for version, step in enumerate(MIGRATIONS[taken:], start=taken + 1):
        for statement in step:
            connection.exec_driver_sql(statement.format(bytes=_BYTES[connection.dialect.name]))
        connection.execute(insert(schema_version), {"version": version, "applied_at": now()})
