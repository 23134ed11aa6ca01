"""The database underneath: how it is opened, and what a transaction means there. All of it blocks."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.settings import user_settings
from trueup.core.trust import data_folder

from ._migrations import is_current, migrate

BUSY_SECS = 30
# Any number that no other program is likely to lock.
_ADVISORY_LOCK = 0x7472_7565_7570
_WRITES = "trueup_writes"
# SQLite has no other way to read.
_SNAPSHOT = {"postgresql": {"isolation_level": "REPEATABLE READ"}}


class Database:
    """Where runs are kept. Transactions that write are one at a time, over all processes."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self.where = where

    @classmethod
    def open(cls, url: str | None) -> Database:
        """Open it, made or brought up to date where necessary. Without an address, the one that the user set."""
        parsed = _parse(url or user_settings().database_url or None)
        database = cls(_engine(parsed), _named(parsed))
        try:
            database._bring_up_to_date()
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of this machine."""
        return _is_sqlite(self._engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view, undisturbed by writers."""
        with self._explained(), self._engine.connect() as plain:
            connection = plain.execution_options(**_SNAPSHOT.get(plain.dialect.name, {}))
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Alone from the first statement on; on disk when the block has ended."""
        with self._explained(), self._engine.connect() as plain:
            connection = plain.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def maintain(self, *statements: str) -> None:
        """Execute what cannot be part of a transaction."""
        with self._explained(), self._engine.connect() as plain:
            driver: Any = plain.execution_options(isolation_level="AUTOCOMMIT").connection.driver_connection
            try:
                for statement in statements:
                    driver.execute(statement)
            except self._engine.dialect.loaded_dbapi.Error as error:
                # Past SQLAlchemy, and so not one of its errors.
                raise InfrastructureError(f"{self.where}: {_explain(error)}") from error

    def hold(self, number: int) -> Connection:
        """A connection that holds an advisory lock of PostgreSQL until it is closed for good."""
        with self._explained():
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.scalar(select(func.pg_advisory_lock(number)))
            return connection

    def _bring_up_to_date(self) -> None:
        with self.reading() as connection:
            if is_current(connection, self.where):
                return
        with self.writing() as connection:
            migrate(connection, self.where)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise InfrastructureError(f"{self.where}: {_explain(error)}") from error


# What a part of a driver's message means for the person who meets it.
_MEANINGS = {
    "locked": f"another process has held the database for {BUSY_SECS} s; try again when it is done",
    "not a database": "this is no database; move the file away, and trueup makes a new one",
    "malformed": "the database is damaged; bring back a copy of it, or move the file away, and trueup makes a new one",
    "is full": "the disk is full; nothing of this was kept",
    "readonly": "the database may only be read, and trueup has to write to it; whose is it?",
    "unable to open": "this cannot be opened as a database; is it a file, in a folder that is there and yours?",
}
_UNREACHABLE = re.compile(r"resolve host|connection.*(failed|refused)", re.DOTALL)


def _explain(error: Exception) -> str:
    reason = str(getattr(error, "orig", None) or error)
    for part, meaning in _MEANINGS.items():
        if part in reason:
            return meaning
    if _UNREACHABLE.search(reason):
        return f"the database cannot be reached ({' '.join(reason.split())}); is the server running, and the address right?"
    return f"the database failed ({reason}); nothing of this was kept"


def _parse(url: str | None) -> URL:
    if url is None:
        return URL.create("sqlite", database=str(data_folder() / "trueup.db"))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Not the whole of it: there may be a password in it.
        start = re.split(r"[:/@]", url)[0]
        cut = "" if start == url else "…"
        raise InputError(f"{start!r}{cut} is no database: use sqlite:///PATH or postgresql://USER@HOST/NAME") from None
    if "@" in (parsed.host or ""):
        raise InputError(f"{parsed.drivername}://…: a password with an @ in it is written with %40 in an address")
    if _is_sqlite(parsed) and parsed.query:
        raise InputError(f"{_named(parsed)}: a database in a file takes no options behind a question mark")
    if parsed.drivername in ("postgresql", "postgres"):
        # The driver that trueup[postgres] brings; SQLAlchemy would look for another one.
        parsed = parsed.set(drivername="postgresql+psycopg")
    if _is_sqlite(parsed) and parsed.database in (None, "", ":memory:"):
        raise InputError(f"{_named(parsed) or 'sqlite://'}: a database in memory keeps nothing; use sqlite:///PATH")
    return parsed


def _named(url: URL) -> str:
    """An address as it may be shown: passwords also stand in options."""
    if _is_sqlite(url):
        return url.database or ""
    return repr(url.set(query={}))


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _engine(url: URL) -> Engine:
    if _is_sqlite(url):
        _make_private_file(Path(url.database or ""))
    try:
        # A server can be restarted under a connection that waits to be used again.
        engine = create_engine(url, pool_pre_ping=not _is_sqlite(url))
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise InputError(f"{_named(url)}: cannot be used ({error}); for PostgreSQL, install trueup[postgres]") from None
    if engine.dialect.name not in ("sqlite", "postgresql"):
        raise InputError(f"{_named(url)}: cannot be used; use sqlite:///PATH or postgresql://USER@HOST/NAME")
    if _is_sqlite(url):
        event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


def _make_private_file(path: Path) -> None:
    """Before SQLite does: what it makes anyone may read, and its other files take after this one.

    A database that is there is never opened here: closing it again would take away the locks that this process's own
    connections hold on it, and SQLite would lose what others are writing. So a new one gets its name when it is closed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            return
        scratch = path.with_name(f".trueup-{secrets.token_hex(8)}")
        os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            # Whoever was faster made the same.
            with suppress(FileExistsError):
                path.hardlink_to(scratch)
        finally:
            scratch.unlink()
    except OSError as error:
        raise InfrastructureError(f"{path}: the database cannot be opened: {error.strerror}") from None


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not begin and commit on its own: `_begin` decides.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECS * 1000}")
    _use_write_ahead_log(connection)
    # A commit that was acknowledged survives the machine, and not only the process.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _use_write_ahead_log(connection: Any) -> None:
    """Of several processes that open a new file at once, SQLite turns some away without waiting."""
    deadline = time.monotonic() + BUSY_SECS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    if connection.dialect.name == "sqlite":
        # Taken at once: a transaction that reads first and writes later can find that somebody was faster.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    elif writes:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
