"""The provider without a model answers the command protocol by markers, always the same."""

from __future__ import annotations

import json
import sys

import pytest

from trueup.core.process import Command, run
from trueup.testing.provider import RequestError, reply_to


def ask(**request):
    return reply_to(json.dumps(request).encode())


def respond(instructions, *messages, **more):
    said = [{"role": role, "content": text} for role, text in messages]
    skill = {"name": "s", "path": "/s", "instructions": instructions}
    return ask(op="respond", platform="p", model="m", skill=skill, messages=said, **more)


def judge(criterion, *replies, **more):
    said = [{"role": "user", "content": "hi"}, *({"role": "assistant", "content": reply} for reply in replies)]
    return ask(op="judge", model="m", **{"kind": "boolean", "criterion": criterion, "messages": said, **more})


def mocks(*rules):
    return {"rules": {"rules": [{"match": match, "action": action} for match, action in rules]}}


async def answer(*argv, stdin):
    return await run(Command(argv=argv, stdin=stdin, timeout_secs=30))


async def test_the_program_answers_one_request_and_ends():
    request = {"op": "respond", "skill": {"instructions": "fake-reply: Grüße \N{PARTY POPPER}"}, "messages": []}
    finished = await answer(sys.executable, "-m", "trueup.testing.provider", stdin=json.dumps(request).encode())
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    assert json.loads(finished.stdout.text) == {"message": "Grüße \N{PARTY POPPER}", "done": False, "events": []}


async def test_the_program_tells_what_it_cannot_answer():
    finished = await answer(sys.executable, "-m", "trueup.testing.provider", stdin=b'{"op": "dance"}')
    assert (finished.exit_code, finished.stdout.text) == (1, "")
    assert "unknown op 'dance'; it is one of respond, user, judge" in finished.stderr.text


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (b"this is not json", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"\xff\xfe\xfd", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "unknown op None"),
        (b'{"op": "respond", "mocks": {"rules": {"rules": [{}]}}}', "a match and an action"),
        (b'{"op": "respond", "skill": {"instructions": "fake-done: soon"}}', "fake-done: 'soon' is not a number"),
        (b'{"op": "respond", "skill": {"instructions": "fake-usage: much"}}', "'much' is no NAME=NUMBER"),
    ],
    ids=str,
)
def test_a_request_that_has_no_answer_says_why(request_, says):
    with pytest.raises(RequestError, match=says):
        reply_to(request_)


def test_it_replies_by_the_marker_in_a_comment_or_outside():
    assert respond("Intro\nfake-reply: Hello there\nmore") == {"message": "Hello there", "done": False, "events": []}
    assert respond("<!-- fake-reply: Hello -->\r\n")["message"] == "Hello"
    assert respond("nothing")["message"] == "ok"
    assert ask(op="respond", messages=[]) == {"message": "ok", "done": False, "events": []}


def test_a_numbered_reply_is_for_its_turn_and_those_after_it():
    text = "fake-reply: one\nfake-reply-3: three\nfake-done: 3\n"
    turns = [respond(text, *[("assistant", "…")] * number) for number in range(4)]
    assert [(turn["message"], turn["done"]) for turn in turns] == [
        ("one", False),
        ("one", False),
        ("three", True),
        ("three", True),
    ]


def test_tools_are_told_as_events():
    told = respond("<!-- fake-tool: bash git commit -m x -->\nfake-tool: edit_file\nfake-tools: 2")
    assert told["events"] == [
        {"kind": "tool_call", "name": "bash", "input": {"command": "git commit -m x"}, "index": 0},
        {"kind": "tool_call", "name": "edit_file", "input": {"command": ""}, "index": 1},
        {"kind": "tool_call", "name": "noop", "input": {"command": ""}, "index": 2},
        {"kind": "tool_call", "name": "noop", "input": {"command": ""}, "index": 3},
    ]
    assert "mock_calls" not in told


def test_what_a_reply_used_is_told():
    told = respond("fake-usage: input_tokens=10 output_tokens=5 cost_usd=0.25")
    assert told["usage"] == {"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}


def test_a_file_is_left_in_the_workspace_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_WORKSPACE", str(tmp_path / "cell"))
    respond("<!-- fake-write: notes/today.md Seen by Dr. Smith -->")
    assert (tmp_path / "cell" / "notes" / "today.md").read_text() == "Seen by Dr. Smith\n"
    for name in ("../out.md", "/out.md", "notes", ""):
        with pytest.raises(RequestError, match="fake-write"):
            respond(f"fake-write: {name}")
    monkeypatch.delenv("TRUEUP_WORKSPACE")
    with pytest.raises(RequestError, match="names no folder"):
        respond("fake-write: a.md b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cell"]


def test_mocks_are_applied_and_every_call_is_told_as_it_was_meant():
    text = "fake-reply: Done.\nfake-tool: bash git push origin\nfake-tool: bash rm -rf x\nfake-tool: read a\nfake-tool: bash ls"
    told = respond(
        text,
        mocks=mocks(
            ({"tool": "BASH", "event_regex": r"git push\b"}, {"stub": {"output": "it's done", "exit_code": 2}}),
            ({"event_contains": "rm -rf"}, {"deny": {"message": "blocked"}}),
            ({"input": {"command": {"equals": "a"}}}, {"rewrite": {"input": {"command": "b"}}}),
            ({"event_contains": "git push"}, {"deny": {"message": "too late"}}),
        ),
    )
    assert [(call["tool"], call["input"]["command"], call["action"], call["rule"]) for call in told["mock_calls"]] == [
        ("bash", "git push origin", "stub", 0),
        ("bash", "rm -rf x", "deny", 1),
        ("read", "a", "rewrite", 2),
        ("bash", "ls", "allow", None),
    ]
    assert [(event["input"]["command"], event.get("output")) for event in told["events"]] == [
        ("printf '%s\\n' 'it'\\''s done'; exit 2", "it's done\n"),
        ("rm -rf x", "denied: blocked"),
        ("b", None),
        ("ls", None),
    ]
    assert told["message"].splitlines() == [
        "Done.",
        "[bash] it's done",
        "[bash] denied: blocked",
        '[read] input rewritten to {"command":"b"}',
    ]


def test_a_list_of_stubs_answers_call_by_call_over_the_whole_conversation():
    text = "fake-reply: Seen.\nfake-tool: bash jobctl status\nfake-tool: bash jobctl status"
    rules = mocks(({"event_contains": "jobctl"}, {"stub": [{"output": "queued"}, "failed", {"output": "passed"}]}))
    first = respond(text, mocks=rules)["message"]
    second = respond(text, ("assistant", first), ("user", "and?"), mocks=rules)["message"]
    assert (first, second) == ("Seen.\n[bash] queued\n[bash] failed", "Seen.\n[bash] passed\n[bash] passed")


def test_where_nobody_intercepts_calls_are_told_all_the_same():
    watched = {"rules": None}
    assert respond("fake-tool: bash ls", mocks=watched)["mock_calls"] == [
        {"tool": "bash", "input": {"command": "ls"}, "action": "allow", "rule": None}
    ]
    assert respond("fake-reply: hi", mocks=watched) == {"message": "hi", "done": False, "events": [], "mock_calls": []}


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({}, True),
        ({"tool": "Bash"}, True),
        ({"tool": "sh"}, False),
        ({"event_contains": '"command":"git push"'}, True),
        ({"event_regex": "pushy"}, False),
        ({"input": {"command": "git push"}}, True),
        ({"input": {"command": {"contains": "push", "regex": "^git"}}}, True),
        ({"input": {"command": {"contains": "push", "regex": "^push"}}}, False),
        ({"input": {"path": {"contains": ""}}}, False),
    ],
)
def test_everything_that_a_match_gives_must_hold(match, holds):
    told = respond("fake-tool: bash git push", mocks=mocks((match, {"deny": "no"})))
    assert (told["mock_calls"][0]["action"] == "deny") is holds


def test_a_pattern_that_is_none_is_told_and_matches_nothing():
    with pytest.raises(RequestError, match="not a regular expression"):
        respond("fake-tool: bash ls", mocks=mocks(({"event_regex": "git push("}, {"deny": "no"})))


def test_the_user_says_what_the_persona_says():
    said = ask(op="user", model="m", persona="Be terse.\nsay: Yes, please.", messages=[])
    assert said == {"message": "Yes, please.", "stop": False}
    assert ask(op="user", model="m", persona="Be terse.", messages=[])["message"] == "continue"


@pytest.mark.parametrize(
    ("criterion", "value"),
    [
        ("greets `Dr. Smith` and says `Hello`", True),
        ("mentions `appointment`", False),
        ("is it any good", True),
        ("turns>=2", True),
        ("turns>=3 and `Hello`", False),
        ("an empty `` and an open `quote", True),
    ],
)
def test_a_judge_looks_for_what_is_in_backticks_and_counts_turns(criterion, value):
    assert judge(criterion, "Hello,", "Dr. Smith!")["value"] is value


def test_a_score_is_the_share_of_what_was_found_on_the_scale():
    assert judge("has `a` and `z`", "abc", kind="numeric", min=0, max=10)["value"] == 5
    assert judge("has `a` and `z`", "abc", kind="numeric", min=2, max=4)["value"] == 3
    assert judge("how warm", "abc", kind="numeric", min=1, max=5)["value"] == 5
    assert judge("turns>=2 `a`", "abc", kind="numeric", min=1, max=5)["value"] == 1


def test_a_user_message_is_not_the_assistants():
    assert judge("says `hi`", "no")["value"] is False
