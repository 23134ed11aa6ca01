"""`trueup runs` as a user calls it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from trueup.core.process import Command, Process
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, RunStore, Started, Turn

TRUEUP = str(Path(sys.executable).with_name("trueup"))


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "trueup"


@pytest.fixture
async def store():
    async with await RunStore.open() as store:
        yield store


@pytest.fixture
async def run_id(store) -> str:
    run = await store.start(Started("mend add()", agent_id="a1"), kind="code")
    await store.append(
        run.run_id,
        [
            Turn(prompt="go on", tool="drive_cli", output={"stdout": "x" * 50_000}),
            Turn(prompt="rm -rf /", tool="drive_cli", policy_rejected={"rule": "no-destructive", "param": "prompt"}),
            ModelTurn(assistant_text="I \x1b[31mdid it", model_id="m-1"),
            CheckRecord({"name": "suite", "passed": False, "reason": "exit 1"}),
            EventRecord("state_changed", {"to": "running"}),
        ],
    )
    await store.end(run.run_id, Ended("completed", "merged"))
    return run.run_id


async def test_runs_are_listed_newest_first(trueup, store, run_id):
    later = await store.start(Started("another"))
    listed = (await trueup("runs", "list")).stdout.text.splitlines()
    assert [line.split()[0] for line in listed] == [later.run_id, run_id]
    assert "code  completed      3 turns  mend add()" in listed[1]
    found = json.loads((await trueup("runs", "list", "--kind", "code", "--json")).stdout.text)
    assert [(each["run_id"], each["status"], each["turn_count"]) for each in found] == [(run_id, "completed", 3)]


async def test_no_runs_are_no_error(trueup):
    assert (await trueup("runs", "list")).stdout.text == "no runs\n"
    assert (await trueup("runs", "list", "--json")).stdout.text == "[]\n"


async def test_a_run_is_shown_one_line_a_record(trueup, run_id):
    shown = await trueup("runs", "show", run_id[:10])
    lines = [line.split("Z  ", 1)[1] for line in shown.stdout.text.splitlines()]
    assert lines[1:] == [
        "started: mend add()",
        "turn 0: drive_cli go on",
        "turn 1: drive_cli (refused by no-destructive) rm -rf /",
        "model turn 2: m-1: I \\x1b[31mdid it",
        "check: suite: red exit 1",
        'state_changed: {"to": "running"}',
        "ended: completed merged",
    ]


async def test_whole_records_are_shown_on_request_and_to_programs(trueup, run_id):
    full = await trueup("runs", "show", run_id, "--full")
    assert "x" * 50_000 in full.stdout.text
    data = json.loads((await trueup("runs", "show", run_id, "--json")).stdout.text)
    assert data["run"]["run_id"] == run_id
    assert [each["record"]["kind"] for each in data["records"]][:3] == ["started", "turn", "turn"]
    assert data["records"][1]["record"]["output"] == {"stdout": "x" * 50_000}
    assert data["records"][2]["previous_hash"] == data["records"][1]["hash"]


async def test_names_that_are_no_text_are_shown(trueup, store):
    run = await store.start(Started(os.fsdecode(b"caf\xe9")))
    assert "caf\\udce9" in (await trueup("runs", "show", run.run_id)).stdout.text
    data = json.loads((await trueup("runs", "show", run.run_id, "--json")).stdout.text)
    assert data["records"][0]["record"]["intent"] == os.fsdecode(b"caf\xe9")


async def test_a_run_that_is_not_there_is_bad_input(trueup, run_id):
    for verb in ("show", "tail", "verify"):
        finished = await trueup("runs", verb, "zzz")
        assert finished.exit_code == 2
        assert "there is no run 'zzz'" in finished.stderr.text


async def test_a_whole_run_is_verified_and_a_changed_one_is_not(trueup, run_id, data_folder):
    whole = await trueup("runs", "verify", run_id)
    assert (whole.exit_code, whole.stdout.text) == (0, f"{run_id}: whole, 7 records\n")
    with closing(sqlite3.connect(data_folder / "trueup.db")) as connection, connection:
        connection.execute("UPDATE records SET body = replace(body, 'rm -rf /', 'ls') WHERE seq = 2")
    broken = await trueup("runs", "verify", run_id, "--json")
    assert broken.exit_code == 1
    found = json.loads(broken.stdout.text)
    assert (found["ok"], found["seq"]) == (False, 2)
    assert "record 2 was altered" in (await trueup("runs", "verify", run_id)).stdout.text


async def test_a_live_run_is_followed_to_its_end(store, data_folder):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(prompt="early")])
    seen = []
    async with Process(Command(argv=(TRUEUP, "runs", "tail", run.run_id, "--json"), timeout_secs=60)) as process:
        async for line in process.lines():
            seen.append(json.loads(line))
            if len(seen) == 2:
                await store.append(run.run_id, [Turn(prompt="late")])
            if len(seen) == 3:
                await store.end(run.run_id, Ended("completed"))
        finished = await process.wait()
    assert finished.exit_code == 0
    assert [each["seq"] for each in seen] == [0, 1, 2, 3]
    assert [each["record"]["kind"] for each in seen] == ["started", "turn", "turn", "ended"]
    assert seen[2]["record"]["prompt"] == "late"


async def test_a_tail_can_begin_near_the_end(trueup, run_id):
    last = (await trueup("runs", "tail", run_id, "-n", "2")).stdout.text.splitlines()
    assert [line.split("Z  ", 1)[1] for line in last] == ['state_changed: {"to": "running"}', "ended: completed merged"]


async def test_following_is_interrupted_by_ctrl_c(store):
    run = await store.start(Started("x"))
    async with Process(Command(argv=(TRUEUP, "runs", "tail", run.run_id), timeout_secs=60)) as process:
        async for line in process.lines():
            assert line.endswith("started: x")
            break
        await asyncio.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        finished = await process.wait()
    assert finished.exit_code == 130
    assert "interrupted" in finished.stderr.text


async def test_a_newer_database_is_refused_with_a_sentence(trueup, store, data_folder):
    with closing(sqlite3.connect(data_folder / "trueup.db")) as connection, connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 'later')")
    finished = await trueup("runs", "list")
    assert finished.exit_code == 2
    assert "was made by a newer trueup" in finished.stderr.text


async def test_help_does_not_wait_for_the_database_library(trueup):
    finished = await trueup("--help", PYTHONPROFILEIMPORTTIME="1")
    assert finished.exit_code == 0
    assert "sqlalchemy" not in finished.stderr.text
    assert "click" in finished.stderr.text
