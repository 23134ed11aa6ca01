"""`trueup stats` as a user calls it."""

from __future__ import annotations

import json

import pytest

from coded import MEND
from trueup.runs import RunStore, Started


async def test_sessions_are_counted_by_engine_and_model(user_of_code):
    user = user_of_code
    assert (await user.trueup("stats")).stdout.text == "no sessions\n"
    await user.trueup(*user.words(MEND, "--deliver", "none", "--yes", "--model", "m\x1b[1m1"))
    await user.trueup(*user.words("echo x >other.txt", "--max-iterations", "1", "--yes"))
    shown = await user.trueup("stats")
    head, row, *notes = shown.stdout.text.splitlines()
    assert head.split()[:4] == ["engine", "sessions", "judged", "verified"]
    engine = f"command:bash {user.folder / 'engine.sh'}"
    assert row.startswith(engine)
    rest = row.removeprefix(engine)
    assert rest.split()[:7] == ["2", "2", "1", "(50%)", "9%", "to", "91%"]
    assert "$?" in rest
    assert rest.endswith("verification 1")
    assert notes == ["note: 1 of 1 groups rest on fewer than 10 judged sessions: mind the intervals, not the rates"]
    by_model = await user.trueup("stats", "--by", "model", "--since", "1h")
    assert "(its own)" in by_model.stdout.text
    assert "m\\x1b[1m1" in by_model.stdout.text
    data = json.loads((await user.trueup("stats", "--by", "model,engine", "--json")).stdout.text)
    assert [each["group"]["model"] for each in data["groups"]] == [None, "m\x1b[1m1"]
    assert [each["rate"] for each in data["groups"]] == [0.0, 1.0]
    assert data["groups"][0]["failures"] == {"verification": 1}
    assert "all intervals overlap" in data["notes"][1]


async def test_what_cannot_be_read_is_said_and_left_out(trueup, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with await RunStore.open() as store:
        odd = await store.start(Started("odd", data={"request": 5}), kind="session")
    shown = await trueup("stats")
    assert shown.exit_code == 0, shown.stderr.text
    head, note = shown.stdout.text.splitlines()
    assert head == "no sessions"
    assert note.startswith("note: 1 recorded sessions cannot be read and are not counted; the first of them: run ")
    data = json.loads((await trueup("stats", "--json")).stdout.text)
    assert (data["groups"], odd.run_id in data["notes"][0]) == ([], True)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--by", "colour"], "name engine and model"),
        (["--by", "engine,engine"], "each at most once"),
        (["--by", ""], "name engine and model"),
        (["--since", "soon"], "is no time"),
    ],
)
async def test_bad_input_exits_two(trueup, options, complaint):
    finished = await trueup("stats", *options)
    assert (finished.exit_code, finished.stdout.text) == (2, "")
    assert complaint in finished.stderr.text
