"""Who may write to a run: a name with a lock that the system takes back when its process dies. All of it blocks.

On SQLite the lock is on a file beside the database, on PostgreSQL it is an advisory lock of a connection, so that it
holds over machines.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from trueup.core.errors import InfrastructureError

from ._database import Database
from ._tables import runs


class Lock(Protocol):
    """What makes a name alive."""

    def keep(self) -> None:
        """Take it again where it was lost."""
        ...

    def release(self) -> None:
        """Give it up."""
        ...


def take(database: Database) -> tuple[str, Lock]:
    """A new name, held by this process."""
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return name, _FileLock(_file(database, name)) if database.is_sqlite else _ServerLock(database, _number(name))


def is_alive(database: Database, name: str) -> bool:
    """Whether a process holds the name."""
    if database.is_sqlite:
        return _file_is_held(_file(database, name))
    with database.reading() as connection:
        return not connection.scalar(select(func.pg_try_advisory_xact_lock(_number(name))))


def orphans(connection: Connection, kind: str | None) -> dict[str, list[str]]:
    """Open runs by their owner, alive or not."""
    query = select(runs.c.owner, runs.c.run_id).where(runs.c.owner.is_not(None), runs.c.status == "in_progress")
    found: dict[str, list[str]] = {}
    for owner, run_id in connection.execute(query if kind is None else query.where(runs.c.kind == kind)):
        found.setdefault(owner, []).append(run_id)
    return found


def _file(database: Database, name: str) -> Path:
    return Path(f"{database.where}-owners") / name


class _FileLock:
    """Held as long as the file is open."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            file.parent.mkdir(mode=0o700, exist_ok=True)
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise InfrastructureError(
                f"{file}: the lock of an owner of runs cannot be made: {error.strerror}"
            ) from None

    def keep(self) -> None:
        """Nothing but this process can lose it."""

    def release(self) -> None:
        self._file.unlink(missing_ok=True)
        os.close(self._descriptor)


class _ServerLock:
    """Held as long as the connection is: a server that is restarted forgets it."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._number = number
        self._connection = database.hold(number)

    def keep(self) -> None:
        try:
            self._connection.exec_driver_sql("SELECT 1")
        except SQLAlchemyError:
            self.release()
            self._connection = self._database.hold(self._number)

    def release(self) -> None:
        # Not back to the pool, where the lock would live on.
        with suppress(SQLAlchemyError):
            self._connection.invalidate()
        self._connection.close()


def _file_is_held(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        # Its process died; nobody takes this name again.
        file.unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
