"""goose, on what it once printed, and what must be known about it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import Mode, Status, ToolCall, ToolKind, UsageReported, find_harness
from trueup.harness.agents._goose import Goose
from trueup.testing import EventLog


def test_the_usage_of_a_run_is_told_at_its_end():
    events, outcome = heard("goose", "ok")
    assert outcome.usage == Usage(2400, 100, cache_read_tokens=400, cache_write_tokens=0)
    assert of_kind(events, UsageReported) == [UsageReported(outcome.usage)]
    assert of_kind(events, ToolCall)[0].tool_kind is ToolKind.SHELL


def test_in_a_session_that_goes_on_the_part_of_this_run_is_unknown():
    events, outcome = heard("goose", "resume", resume="trueup-x")
    assert (outcome.ok, outcome.text, outcome.session_id) == (True, "DONE", "trueup-x")
    assert outcome.usage == Usage(incomplete=True)
    assert of_kind(events, UsageReported) == []


@pytest.mark.parametrize(
    ("recording", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("refused", Kind.NETWORK),
        ("garbage", Kind.PROTOCOL),
    ],
)
@pytest.mark.parametrize("resume", [None, "trueup-x"])
def test_a_failure_that_is_told_as_an_answer_has_its_kind(recording, kind, resume):
    _, outcome = heard("goose", recording, exit_code=0, resume=resume)
    assert (outcome.ok, outcome.failure_kind, outcome.text) == (False, kind, "")


def test_a_model_that_speaks_of_an_error_has_answered():
    conversation = listening("goose")
    for line in lines_of("goose", "ok"):
        conversation.feed(line.replace('"text":"DONE"', '"text":"Ran into this error: none"'))
    assert conversation.outcome(ended()).ok


def test_a_limit_of_turns_is_no_success():
    conversation = listening("goose", turns=1)
    said = "I've reached the maximum number of actions I can do without user input. Would you like me to continue?"
    message = {"role": "assistant", "content": [{"type": "text", "text": said}], "metadata": {}}
    conversation.feed(json.dumps({"type": "message", "message": message}))
    conversation.feed('{"type":"complete","total_tokens":10,"input_tokens":9,"output_tokens":1}')
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.OTHER)
    assert "go on with its session" in outcome.error


def test_an_answer_in_pieces_is_one():
    conversation = listening("goose")
    for piece in ("one ", "two"):
        metadata = {"inference": {"provider": "openai"}}
        message = {"role": "assistant", "content": [{"type": "text", "text": piece}], "metadata": metadata}
        conversation.feed(json.dumps({"type": "message", "message": message}))
    conversation.feed('{"type":"complete","input_tokens":9,"output_tokens":1}')
    assert conversation.outcome(ended()).text == "one two"


def test_the_name_of_a_session_is_ours_and_new_each_time():
    first, second = (Goose().invoke(request(), asks=False) for _ in range(2))
    names = [next(word for word in put.argv if word.startswith("--name=trueup-")) for put in (first, second)]
    assert names[0] != names[1]
    assert "--name=trueup-x" in Goose().invoke(request(resume="trueup-x"), asks=False).argv


def test_nothing_keeps_it_to_a_mode_and_so_none_is_promised():
    with pytest.raises(InputError, match="nothing would keep it to mode 'read_only', it has only full"):
        Goose().invoke(request(mode=Mode.READ_ONLY), asks=False)


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:4000/openai/v1", "OPENAI_API_KEY": "dummy"},
            {
                "GOOSE_PROVIDER": "openai",
                "OPENAI_HOST": "http://127.0.0.1:4000",
                "OPENAI_BASE_PATH": "openai/v1/chat/completions",
            },
        ),
        (
            {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/anthropic", "ANTHROPIC_API_KEY": "dummy"},
            {"GOOSE_PROVIDER": "anthropic", "ANTHROPIC_HOST": "http://127.0.0.1:4000/anthropic"},
        ),
    ],
)
def test_it_is_led_to_the_proxy_by_its_own_variables(env, told):
    put = Goose().invoke(request(env=env, model="some"), asks=False)
    assert told.items() <= dict(put.env).items()
    assert put.env["GOOSE_MODEL"] == "some"


def test_a_session_is_known_by_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / "goose/sessions/sessions.db"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE sessions (id TEXT, name TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP)")
        database.execute("INSERT INTO sessions VALUES ('1', 'trueup-x', '/old/worktree', '2026-01-01')")
    environ = {"HOME": "/nonexistent", "XDG_DATA_HOME": str(tmp_path)}
    assert Goose().began_in("trueup-x", environ) == "/old/worktree"
    assert Goose().began_in("other", environ) is None


async def test_a_session_of_another_worktree_is_not_gone_on_with(tmp_path):
    """It would write into the old one, and exit with 0."""
    old, new = tmp_path / "old", tmp_path / "new"
    file = tmp_path / ".local/share/goose/sessions/sessions.db"
    for folder in (old, new, file.parent):
        folder.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE sessions (id TEXT, name TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP)")
        database.execute("INSERT INTO sessions VALUES ('1', 'trueup-x', ?, '2026-01-01')", (str(old),))
    harness = find_harness("goose", {"HOME": str(tmp_path), "PATH": str(tmp_path)}, tmp_path)
    asked = request(cwd=str(new), resume="trueup-x")
    # Nobody starts anything: there is no launcher.
    result = await harness.run(asked, None, EventLog())
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.SESSION_NOT_FOUND)
    assert f"began in {old}" in result.error
