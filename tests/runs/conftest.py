"""A store of its own for each test, and the database file under it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from trueup.runs import RunStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "trueup.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
async def store(url):
    async with await RunStore.open(url) as store:
        yield store


@pytest.fixture
def sql(file):
    """Somebody with the database in their hands, past trueup."""

    def execute(statement: str, *values: object) -> list[tuple]:
        with closing(sqlite3.connect(file)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    return execute
