"""The database: made once, brought up to date once, and refused where it is not ours."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect

from postgres_server import schema
from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Command, run
from trueup.runs import RunStore, Started, Turn
from trueup.runs._database import Database
from trueup.runs._migrations import MIGRATIONS
from trueup.runs._tables import payloads, records, runs, searchable

OPENER = """
import asyncio, sys, time
from trueup.runs import RunStore, Started

async def main():
    time.sleep(max(0, float(sys.argv[2]) - time.time()))
    async with await RunStore.open(sys.argv[1]) as store:
        await store.start(Started("x"))

asyncio.run(main())
"""


async def test_of_several_that_open_a_new_database_at_once_one_makes_it(url, sql):
    together = str(time.time() + 1.5)
    command = Command(argv=(sys.executable, "-c", OPENER, url, together), timeout_secs=60)
    finished = await asyncio.gather(*(run(command) for _ in range(6)))
    assert [each.exit_code for each in finished] == [0] * 6, "".join(each.stderr.text for each in finished)
    assert sql("SELECT version FROM schema_version") == [(number + 1,) for number in range(len(MIGRATIONS))]
    assert sql("SELECT count(*) FROM runs") == [(6,)]


async def test_several_stores_of_one_process_open_a_new_database_at_once(url):
    stores = await asyncio.gather(*(RunStore.open(url) for _ in range(8)))
    await asyncio.gather(*(store.start(Started("x")) for store in stores))
    assert len(await stores[0].list()) == 8
    for store in stores:
        await store.aclose()


async def test_a_database_that_is_up_to_date_is_left_alone(url, sql):
    for _ in range(2):
        async with await RunStore.open(url):
            pass
    assert sql("SELECT count(*) FROM schema_version") == [(len(MIGRATIONS),)]


async def test_a_database_of_a_newer_trueup_is_refused(url, sql):
    async with await RunStore.open(url):
        pass
    sql("INSERT INTO schema_version VALUES (99, 'later')")
    with pytest.raises(InputError, match=r"made by a newer trueup \(schema 99; this one knows \d+\): upgrade"):
        await RunStore.open(url)


async def test_a_database_of_an_older_trueup_is_brought_up_to_date(url, sql, backend):
    started = '{"kind":"started","intent":"an old zebra"}'
    if backend == "sqlite":
        Path(url.removeprefix("sqlite:///")).parent.mkdir()
    sql("CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at VARCHAR(27))")
    for statement in MIGRATIONS[0]:
        sql(statement.format(bytes="BLOB" if backend == "sqlite" else "BYTEA"))
    sql("INSERT INTO schema_version VALUES (1, 'then')")
    sql(
        "INSERT INTO runs VALUES ('old', 'run', 'an old zebra', NULL, NULL, NULL, NULL, 'then', NULL, 'in_progress', '', 0, 1, 'h', NULL)"
    )
    sql("INSERT INTO records VALUES ('old', 0, 'then', 'started', NULL, NULL, ?, NULL, 'g', 'h')", started)
    async with await RunStore.open(url) as store:
        assert [each.run.run_id for each in await store.search("zebra")] == ["old"]
        assert (await store.append("old", [Turn()])).count == 1


async def test_the_address_is_the_one_that_the_user_set(url, monkeypatch):
    monkeypatch.setenv("TRUEUP_DATABASE_URL", url)
    async with await RunStore.open() as store:
        run = await store.start(Started("x"))
    async with await RunStore.open(url) as store:
        assert [each.run_id for each in await store.list()] == [run.run_id]


async def test_a_server_that_dropped_its_connections_is_found_again(postgresql):
    with schema(postgresql, "dropped") as url:
        async with await RunStore.open(f"{url}&application_name=dropped") as store:
            run = await store.start(Started("x"))
            with closing(psycopg.connect(url, autocommit=True)) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dropped'"
                )
            assert (await store.append(run.run_id, [Turn()])).count == 1
            assert (await store.get(run.run_id)).turn_count == 1


def test_the_migrations_make_the_tables_that_statements_name(url):
    database = Database.open(url)
    try:
        with database.reading() as connection:
            for table in (runs, records, payloads, searchable):
                made = [column["name"] for column in inspect(connection).get_columns(table.name)]
                assert [name for name in made if name != "words"] == [column.name for column in table.columns]
    finally:
        database.close()


def test_what_was_acknowledged_is_synced_to_the_disk(url, file):
    database = Database.open(url)
    try:
        with database.writing() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    finally:
        database.close()


async def test_a_file_that_is_no_database_is_named(file, url):
    file.parent.mkdir()
    file.write_text("my diary\n" * 100)
    with pytest.raises(InfrastructureError, match=r"trueup\.db: this is no database; move the file away"):
        await RunStore.open(url)
    assert file.read_text().startswith("my diary")


async def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=r"file/trueup\.db: the database cannot be opened"):
        await RunStore.open(f"sqlite:///{tmp_path}/file/trueup.db")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "in memory keeps nothing"),
        ("sqlite:///:memory:", "in memory keeps nothing"),
        ("nonsense", "is no database"),
        ("nonsense://x", "cannot be used"),
        ("mysql://x/y", "cannot be used"),
        ("postgresql://u:SECRET@host:port/x", "'postgresql'… is no database"),
        ("postgresql://u:SECRET@[::1/x", "is no database"),
        ("postgres:SECRET@host", "is no database"),
        ("postgresql://u:SEC@RET@127.0.0.1/x", "is written with %40"),
        ("sqlite:////tmp/x.db?mode=ro", "takes no options"),
    ],
)
async def test_an_address_that_cannot_be_used_is_refused(url, words):
    with pytest.raises(InputError, match=words) as caught:
        await RunStore.open(url)
    assert "RET" not in str(caught.value)


async def test_a_password_among_the_options_of_an_address_is_not_shown():
    with pytest.raises(InfrastructureError, match="cannot be reached") as caught:
        await RunStore.open("postgresql://u@127.0.0.1:9/x?password=SECRET")
    assert "SECRET" not in str(caught.value)


async def test_a_damaged_database_is_told_from_others(file, url):
    async with await RunStore.open(url):
        pass
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InfrastructureError, match="the database is damaged"):
        await RunStore.open(url)


async def test_a_folder_is_no_database(file, url):
    file.mkdir(parents=True)
    with pytest.raises(InfrastructureError, match="cannot be opened as a database; is it a file"):
        await RunStore.open(url)


async def test_the_room_is_entered_without_waiting_for_sqlalchemy():
    line = "import sys, trueup.runs; sys.exit('sqlalchemy' in sys.modules)"
    assert (await run(Command(argv=(sys.executable, "-c", line)))).exit_code == 0
