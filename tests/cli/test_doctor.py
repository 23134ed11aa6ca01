"""What `trueup doctor` finds beside the machine itself: agents, the database, the port. The rest is in housekeeping."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from daemon_clients import serving
from trueup.cli._doctor_parts import look_at_agents, look_at_database, look_at_port
from trueup.runs import RunStore
from trueup.testing import ScriptedAgent


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("TRUEUP_DATABASE_URL", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    """A folder on the PATH for agents."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@asynccontextmanager
async def answering(answer: bytes):
    """A port at which some program says this to everybody, and nothing more where it is empty."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()
        else:
            await reader.read()
            writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_agents_are_told_with_their_version_and_login_and_the_others_in_one_line(programs, trueup):
    ScriptedAgent(speak="claude").install(programs / "claude")
    ScriptedAgent(speak="codex").install(programs / "codex")
    finished = await trueup("doctor", "--json")
    assert finished.exit_code == 0, finished.stdout.text
    told = {each["name"]: each for each in json.loads(finished.stdout.text)}
    claude, codex, agents = told["agent claude-code"], told["agent codex"], told["agents"]
    assert re.fullmatch(r"[0-9.]+, whether it is logged in shows when it runs", codex["detail"])
    assert codex["ok"]
    assert (claude["ok"], claude["required"]) == (False, False)
    assert re.fullmatch(r"[0-9.]+, not logged in", claude["detail"])
    assert "run `claude`" in claude["fix"]
    assert agents["detail"].startswith("2 of 17 that trueup knows; not installed: opencode, gemini, ")
    assert not [name for name, each in told.items() if not each["ok"] and not each["fix"]]


async def test_an_agent_with_a_key_is_logged_in(programs, monkeypatch):
    ScriptedAgent(speak="claude").install(programs / "claude")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    summary, claude = await look_at_agents()
    assert (summary.ok, claude.ok) == (True, True)
    assert claude.detail.endswith(", logged in")


async def test_an_agent_that_never_answers_is_told_in_time_and_ended(programs, tmp_path):
    (programs / "codex").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 4000\n")
    (programs / "codex").chmod(0o755)
    async with asyncio.timeout(60):
        codex = next(each for each in await look_at_agents(1.0) if each.name == "agent codex")
    assert (codex.ok, codex.detail) == (False, "no answer within 1 s")
    assert "trueup harness probe codex" in codex.fix
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


async def test_a_database_is_opened_and_written_to_and_one_that_is_not_there_is_not_made(tmp_path):
    file = tmp_path / "data" / "trueup" / "trueup.db"
    (database,) = await look_at_database()
    assert (database.ok, database.detail) == (True, f"{file} is not there yet, and is made when it is needed")
    assert not file.exists()
    async with await RunStore.open():
        pass
    (database,) = await look_at_database()
    assert (database.ok, database.detail) == (True, f"{file} opens, is up to date and can be written to")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///{folder}/spoiled.db", "{folder}/spoiled.db: this is no database"),
        ("postgresql://ada:secret@127.0.0.1:1/runs", "the database cannot be reached"),
        ("nonsense", "'nonsense' is no database"),
    ],
)
async def test_a_database_that_cannot_be_used_is_told_with_how_to_name_another(monkeypatch, tmp_path, url, said):
    (tmp_path / "spoiled.db").write_text("spoiled " * 1000)
    monkeypatch.setenv("TRUEUP_DATABASE_URL", url.format(folder=tmp_path))
    (database,) = await look_at_database()
    assert (database.ok, database.required) == (False, True)
    assert said.format(folder=tmp_path) in database.detail
    assert "secret" not in database.detail
    assert "name another database: TRUEUP_DATABASE_URL=sqlite:///PATH" in database.fix


async def test_a_database_that_another_process_does_not_let_go_of_is_told(tmp_path):
    async with await RunStore.open():
        pass
    with closing(sqlite3.connect(tmp_path / "data" / "trueup" / "trueup.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        (database,) = await look_at_database()
    assert not database.ok
    assert database.detail.endswith("cannot be written to: database is locked")


async def test_a_port_is_free_or_our_daemon_or_anothers(tmp_path):
    async with serving("--no-auth", cwd=tmp_path) as served:
        port = served.where["port"]
        ours = (await look_at_port(port))[0]
    assert ours.ok
    assert ours.detail.startswith("the daemon of trueup ")
    free = (await look_at_port(port))[0]
    assert (free.ok, free.detail) == (True, "free for `trueup serve`")
    for answer in (b"HTTP/1.0 200 OK\r\n\r\n[1]", b"220 mail\r\n"):
        async with answering(answer) as port:
            other = (await look_at_port(port))[0]
        assert (other.ok, other.required, other.detail) == (False, False, "another program listens there")
        assert "--port 0" in other.fix


async def test_a_port_that_takes_everything_and_says_nothing_is_told_in_time():
    async with answering(b"") as port, asyncio.timeout(60):
        silent = (await look_at_port(port, 0.2))[0]
    assert (silent.ok, silent.detail) == (False, "no answer within 0.2 s")
