"""`trueup hook`: what Claude Code tells it, what it answers, and how it is put in place."""

from __future__ import annotations

import json

import pytest

from checkouts import Checkout

GOAL = "python3 -c 'import calc; assert calc.add(2, 3) == 5'"
CONTRACT = f"contract:\n  description: it adds\n  checks:\n  - name: adds\n    command: {GOAL}\n"


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def user(tmp_path) -> Checkout:
    checkout = Checkout(tmp_path / "user")
    checkout.write("calc.py", "def add(a, b):\n    return a - b\n")
    checkout.write("trueup.yaml", CONTRACT)
    checkout.commit("the base")
    return checkout


def told(user: Checkout, **more) -> bytes:
    return json.dumps({"cwd": str(user.root), "session_id": "x", "hook_event_name": "Stop", **more}).encode()


async def test_an_agent_that_is_not_done_is_sent_back_with_the_reason(trueup, user):
    finished = await trueup("hook", "stop", stdin=told(user))
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    answer = json.loads(finished.stdout.text)
    assert answer["decision"] == "block"
    assert "goal 'adds' is still red" in answer["reason"]
    assert "AssertionError" in answer["reason"]


async def test_an_agent_that_is_done_may_stop(trueup, user):
    user.write("calc.py", "def add(a, b):\n    return a + b\n")
    finished = await trueup("hook", "stop", stdin=told(user))
    assert (finished.exit_code, finished.stdout.text) == (0, "")


async def test_an_agent_that_was_sent_back_once_is_let_go(trueup, user):
    finished = await trueup("hook", "stop", stdin=told(user, stop_hook_active=True))
    assert (finished.exit_code, finished.stdout.text) == (0, "")


@pytest.mark.parametrize("garbage", [b"not json", b"[1]", b'{"cwd": 5}', b'{"stop_hook_active": "yes"}', b"\xff\xfe"])
async def test_garbage_is_told_to_the_person_and_sends_nobody_back(trueup, garbage):
    finished = await trueup("hook", "stop", stdin=garbage)
    assert (finished.exit_code, finished.stdout.text) == (1, "")
    assert finished.stderr.text.startswith("error: stdin is not what a Stop hook is given")


async def test_what_cannot_be_checked_is_not_passed_over(trueup, user, tmp_path):
    finished = await trueup("hook", "stop", stdin=json.dumps({"cwd": str(tmp_path / "gone")}).encode())
    assert finished.exit_code == 0
    answer = json.loads(finished.stdout.text)
    assert answer["decision"] == "block"
    assert "no such folder" in answer["reason"]


async def test_installing_twice_is_installing_once_and_other_hooks_stay(trueup, user):
    file = user.root / ".claude" / "settings.json"
    file.parent.mkdir()
    other = {"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}
    file.write_text(json.dumps({"model": "größer", "hooks": {"Stop": [other], "PreToolUse": [other]}}))
    first = await trueup("hook", "install", "claude-code", "--json", cwd=user.root)
    assert json.loads(first.stdout.text)["installed"] is True
    written = file.read_text()
    settings = json.loads(written)
    assert settings["model"] == "größer"
    assert settings["hooks"]["PreToolUse"] == [other]
    assert settings["hooks"]["Stop"][0] == other
    assert settings["hooks"]["Stop"][1]["hooks"][0]["command"] == "trueup hook stop --guards-only"
    second = await trueup("hook", "install", "claude-code", "--goals", cwd=user.root)
    assert "was there already" in second.stdout.text
    assert file.read_text() == written


async def test_without_settings_they_are_made(trueup, user):
    assert (await trueup("hook", "install", "claude-code", "--goals", cwd=user.root)).exit_code == 0
    settings = json.loads((user.root / ".claude" / "settings.json").read_text())
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"] == "trueup hook stop"


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": null}', "\x00", '"text"']
)
async def test_settings_that_cannot_be_understood_stay_as_they_are(trueup, user, broken):
    file = user.root / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(broken)
    finished = await trueup("hook", "install", "claude-code", cwd=user.root)
    assert finished.exit_code == 2
    assert "nothing was changed" in finished.stderr.text
    assert file.read_text() == broken


async def test_strange_entries_among_the_hooks_do_no_harm(trueup, user):
    file = user.root / ".claude" / "settings.json"
    file.parent.mkdir()
    strange = ["text", {"hooks": "text"}, {"hooks": [5, {"command": 7}]}]
    file.write_text(json.dumps({"hooks": {"Stop": strange}}))
    assert (await trueup("hook", "install", "claude-code", cwd=user.root)).exit_code == 0
    assert json.loads(file.read_text())["hooks"]["Stop"][:3] == strange
