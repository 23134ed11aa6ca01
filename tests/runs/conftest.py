"""A store of its own for each test, on every database that runs can be kept in, and the database under it."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from postgres_server import database, schema, shared_server
from trueup.runs import RunStore
from trueup.runs._database import _ADVISORY_LOCK

_numbers = itertools.count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever needs a database is tested on both; what asks for a `file` is about SQLite alone."""
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", ["sqlite"] if "file" in metafunc.fixturenames else ["sqlite", "postgresql"])


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database of this worker's own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    base = tmp_path_factory.getbasetemp()
    with shared_server((base.parent if worker else base) / "postgresql") as server:
        yield database(server, f"worker_{worker or 'alone'}_{os.getpid()}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "trueup.db"


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path}/data/trueup.db"
    else:
        with schema(request.getfixturevalue("postgresql"), f"test_{next(_numbers)}") as address:
            yield address


@pytest.fixture
async def store(url):
    async with await RunStore.open(url) as store:
        yield store


@pytest.fixture
def sql(url) -> Callable[..., list[tuple]]:
    """Somebody with the database in their hands, past trueup."""

    def execute(statement: str, *values: object) -> list[tuple]:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
                return connection.execute(statement, values).fetchall()
        with closing(psycopg.connect(url)) as connection, connection:
            done = connection.execute(statement.replace("?", "%s"), values or None)
            return done.fetchall() if done.description else []

    return execute


@pytest.fixture
def held(url) -> Callable[[], AbstractContextManager[None]]:
    """Another process in the middle of a write."""

    @contextmanager
    def hold() -> Iterator[None]:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                yield
                holder.execute("ROLLBACK")
        else:
            with closing(psycopg.connect(url)) as holder:
                holder.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
                yield
                holder.rollback()

    return hold
