"""`trueup runs search | export | prune` as a user calls them."""

from __future__ import annotations

import json

import pytest

from trueup.runs import Ended, RunStore, Started, Turn


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("TRUEUP_DATABASE_URL", raising=False)


@pytest.fixture
async def store():
    async with await RunStore.open() as store:
        yield store


@pytest.fixture
async def run_id(store) -> str:
    run = await store.start(Started("mend the zebra", agent_id="ada"))
    await store.append(run.run_id, [Turn(prompt="look at the\x1b giraffe", tool="drive_cli", output="a\nb")])
    await store.end(run.run_id, Ended("completed", "merged"))
    return run.run_id


async def test_records_are_found_by_their_words(trueup, run_id):
    found = (await trueup("runs", "search", "giraffe", "--since", "1h", "--status", "completed")).stdout.text
    assert found.startswith(f"{run_id}      1  ")
    assert "turn: look at the\\x1b «giraffe» drive_cli a b" in found
    [data] = json.loads((await trueup("runs", "search", "giraffe", "--json")).stdout.text)
    assert (data["run"]["run_id"], data["seq"], data["kind"]) == (run_id, 1, "turn")
    nothing = await trueup("runs", "search", '"(*')
    assert (nothing.exit_code, nothing.stdout.text) == (0, "nothing found\n")


async def test_a_time_that_is_none_is_refused(trueup):
    finished = await trueup("runs", "search", "x", "--since", "yesterday-ish")
    assert finished.exit_code == 2
    assert "is no time: use 30d, 12h, 45m or 2026-01-31" in finished.stderr.text


async def test_a_run_is_exported(trueup, run_id, tmp_path):
    lines = (await trueup("runs", "export", run_id)).stdout.text.splitlines()
    assert [json.loads(line)["record"]["kind"] for line in lines] == ["started", "turn", "ended"]
    written = await trueup("runs", "export", run_id, "--format", "html", "--output", str(tmp_path / "run.html"))
    assert (written.exit_code, written.stdout.text) == (0, "")
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    spans = json.loads((await trueup("runs", "export", run_id, "--format", "otlp")).stdout.text)
    assert len(spans["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--endpoint", "http://127.0.0.1:9"), "are for --format otlp"),
        (("--format", "otlp", "--endpoint", "nowhere"), "is no collector"),
        (("--format", "otlp", "--endpoint", "http://x", "--output", "y"), "choose one"),
        (("--output", "/nowhere/x.jsonl"), "/nowhere/x.jsonl: cannot be written: No such file or directory"),
    ],
)
async def test_an_export_that_cannot_be_is_refused(trueup, run_id, arguments, words):
    finished = await trueup("runs", "export", run_id, *arguments)
    assert finished.exit_code == 2
    assert words in finished.stderr.text


async def test_runs_are_removed_when_somebody_says_so(trueup, store, run_id):
    going_on = await store.start(Started("x"))
    looked = await trueup("runs", "prune", "--older-than", "0s", "--dry-run")
    assert looked.stdout.text.splitlines()[-1] == "would remove 1 run with 3 records"
    unasked = await trueup("runs", "prune", "--older-than", "0s")
    assert unasked.exit_code == 2
    assert "say --yes" in unasked.stderr.text
    assert (await store.get(run_id)) is not None
    assert (await trueup("runs", "prune", "--keep", "1", "--yes")).stdout.text.startswith("removed 0 runs")
    removed = json.loads((await trueup("runs", "prune", "--older-than", "0s", "--yes", "--json")).stdout.text)
    assert [each["run_id"] for each in removed["runs"]] == [run_id]
    assert [each.run_id for each in await store.list()] == [going_on.run_id]


async def test_a_time_long_ago_is_before_everything(trueup, run_id):
    looked = await trueup("runs", "prune", "--older-than", "0999-01-01", "--dry-run")
    assert looked.stdout.text == "would remove 0 runs with 0 records\n"


async def test_an_export_replaces_a_file_as_a_whole_and_follows_links(trueup, run_id, tmp_path):
    (tmp_path / "kept").write_text("old")
    (tmp_path / "link").symlink_to("kept")
    assert (await trueup("runs", "export", run_id, "--output", str(tmp_path / "link"))).exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert len((tmp_path / "kept").read_text().splitlines()) == 3
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".kept")]


async def test_an_export_to_a_dash_is_printed(trueup, run_id):
    assert len((await trueup("runs", "export", run_id, "--output", "-")).stdout.text.splitlines()) == 3


async def test_what_is_to_go_has_to_be_said(trueup):
    finished = await trueup("runs", "prune", "--yes")
    assert finished.exit_code == 2
    assert "say which runs are to go" in finished.stderr.text


async def test_the_database_is_where_the_user_says(trueup, tmp_path):
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    async with await RunStore.open(elsewhere) as store:
        run = await store.start(Started("over there"))
    assert run.run_id in (await trueup("runs", "list", TRUEUP_DATABASE_URL=elsewhere)).stdout.text
    unreachable = await trueup("runs", "list", TRUEUP_DATABASE_URL="postgresql://secret:word@127.0.0.1:9/x")
    assert unreachable.exit_code == 1
    assert "cannot be reached" in unreachable.stderr.text
    assert "word@" not in unreachable.stderr.text
