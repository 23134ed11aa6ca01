"""`trueup runs` as a user calls it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from trueup.core.process import Command, Process
from trueup.core.usage import Usage
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, RunStore, Started, Turn

TRUEUP = str(Path(sys.executable).with_name("trueup"))


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("TRUEUP_DATABASE_URL", raising=False)
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
    assert re.search(r"code     completed      3 turns      \d\.\d s  mend add\(\)", listed[1])
    assert "in_progress" in listed[0]
    found = json.loads((await trueup("runs", "list", "--kind", "code", "--json")).stdout.text)
    assert [(each["run_id"], each["status"], each["turn_count"]) for each in found] == [(run_id, "completed", 3)]


async def test_no_runs_are_no_error(trueup):
    assert (await trueup("runs", "list")).stdout.text == "no runs\n"
    assert (await trueup("runs", "list", "--json")).stdout.text == "[]\n"


def lines_of(text: str) -> list[list[str]]:
    """The columns of a timeline, without times."""
    return [
        [line[:5].strip(), line[20:36].strip(), line[36:50].strip(), line[50:].strip()] for line in text.splitlines()
    ]


async def test_a_run_is_drawn_one_line_a_record(trueup, run_id):
    shown = await trueup("runs", "show", run_id[:10])
    head, *lines, totals = shown.stdout.text.splitlines()
    assert head.startswith(run_id)
    assert lines_of("\n".join(lines)) == [
        ["0", "started", "a1", "mend add()"],
        ["1", "turn 0", "drive_cli", "go on · [50,013 characters of output]"],
        ["2", "turn 1", "drive_cli", "refused by no-destructive · rm -rf /"],
        ["3", "turn 2", "m-1", "I \\x1b[31mdid it"],
        ["4", "check", "suite", "red · exit 1"],
        ["5", "state_changed", "", '{"to":"running"}'],
        ["6", "ended", "", "completed · merged"],
    ]
    assert totals == "3 turns · 1 refused"


async def test_what_a_run_spent_adds_up(trueup, store):
    run = await store.start(Started("x"))
    spent = [Usage(1000, 20, 0.25), Usage(500, 10, 0.125), None]
    await store.append(run.run_id, [ModelTurn(model_id="m", token_usage=each, duration_ms=61_500.0) for each in spent])
    await store.append(run.run_id, [Turn(tool="check_outcome", output={"passed": False}, verifier_verdict="fail")])
    lines = (await trueup("runs", "show", run.run_id)).stdout.text.splitlines()
    assert lines[2].endswith("1 min 02 s · 1,000 + 20 tokens · $0.2500 in all")
    assert lines[3].endswith("500 + 10 tokens · $0.3750 in all")
    assert lines[4].endswith("1 min 02 s")
    assert "check_outcome  fail · [16 characters of output]" in lines[5]
    assert lines[-1] == "4 turns · 1 failed verdict · 1,500 + 30 tokens · $0.3750 · more that nobody reported"


async def test_a_long_run_is_shown_in_parts(trueup, store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(prompt=str(number)) for number in range(1500)])
    first = (await trueup("runs", "show", run.run_id)).stdout.text.splitlines()
    assert len(first) == 503
    assert first[-2:] == ["499 turns in what is shown", "left out: 1,001 records after: --after 499"]
    last = (await trueup("runs", "show", run.run_id, "--after", "1498", "--limit", "5")).stdout.text.splitlines()
    assert [line[:5].strip() for line in last[1:3]] == ["1499", "1500"]
    assert last[-1] == "left out: 1,499 records before"
    data = json.loads((await trueup("runs", "show", run.run_id, "--json")).stdout.text)
    assert [each["seq"] for each in data["records"]] == list(range(1501))
    part = json.loads((await trueup("runs", "show", run.run_id, "--json", "--after", "9", "--limit", "2")).stdout.text)
    assert [each["seq"] for each in part["records"]] == [10, 11]


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
    for verb in ("show", "tail", "verify", "export"):
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
    assert [each[0] for each in lines_of("\n".join(last))] == ["5", "6"]
    assert last[1].endswith("completed · merged")


async def test_following_is_interrupted_by_ctrl_c(store):
    run = await store.start(Started("x"))
    async with Process(Command(argv=(TRUEUP, "runs", "tail", run.run_id), timeout_secs=60)) as process:
        async for line in process.lines():
            assert line.split()[-2:] == ["started", "x"]
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "--limit", "9" * 23), "is not in the range"),
        (("search", "x", "--limit", "9" * 23), "is not in the range"),
        (("show", "x", "--after", "9" * 23), "is not in the range"),
        (("show", "a" * 60_000), "an id has no more than 64 characters"),
    ],
)
async def test_numbers_and_names_beyond_all_measure_are_bad_input(trueup, arguments, words):
    finished = await trueup("runs", *arguments)
    assert finished.exit_code == 2
    assert words in finished.stderr.text


async def test_a_kind_that_is_no_text_has_no_runs(trueup, run_id):
    finished = await trueup("runs", "list", "--kind", "\udcff")
    assert (finished.exit_code, finished.stdout.text) == (0, "no runs\n")


async def test_records_for_programs_cannot_act_on_a_terminal(trueup, store):
    evil = "\u202eRTL \x9b31m \u2028 日本"
    run_ = await store.start(Started(evil))
    await store.append(run_.run_id, [Turn(output=evil)])
    await store.end(run_.run_id, Ended("completed"))
    whole = (await trueup("runs", "show", run_.run_id, "--json")).stdout.text
    lines = (await trueup("runs", "tail", run_.run_id, "--json")).stdout.text
    assert not set("\u202e\x9b\u2028") & set(whole + lines)
    assert json.loads(whole)["records"][1]["record"]["output"] == evil
    assert json.loads(lines.splitlines()[1])["record"]["output"] == evil
