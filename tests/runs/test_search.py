"""Records are found by their words, the same ones on every database."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.core.errors import InputError
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, RunStore, Started, Turn
from trueup.runs._words import MOST_CHARACTERS, parts, snippet, words


@pytest.fixture
async def run_id(store) -> str:
    run = await store.start(Started("mend the Zebra parser", agent_id="ada"), kind="code")
    await store.append(
        run.run_id,
        [
            Turn(prompt="run the giraffe suite", tool="drive_cli", parameters={"cwd": "/home/otter"}),
            Turn(tool="shell", output={"stdout": "E   AssertionError: heron != stork\n"}),
            ModelTurn(assistant_text="The weasel was at fault.", model_id="claude-x"),
            CheckRecord({"name": "unit_tests", "passed": False, "output_tail": "FAILED tests/test_marmot.py"}),
            EventRecord("diff_ready", {"path": "src/lynx.py", "lines": 4711}),
        ],
    )
    await store.end(run.run_id, Ended("completed", "puffin"))
    return run.run_id


async def seqs(store, question, **narrowed) -> list[int]:
    return [each.seq for each in await store.search(question, **narrowed)]


ANSWERS = [
    ("zebra", [0]),
    ("GIRAFFE Suite", [1]),
    ("drive_cli", [1]),
    ("otter", [1]),
    ("assertionerror heron", [2]),
    ("weasel", [3]),
    ("test_marmot.py", [4]),
    ("diff_ready", [5]),
    ("4711", [5]),
    ("puffin", [6]),
    ("the", [3, 1, 0]),
    ("mar*", [4]),
    ("mar", []),
    ('"was at fault"', [3]),
    ('"fault at was"', []),
    ("fault at was", [3]),
    ("weasel zebra", []),
    ("assistant_text", []),
    ("", []),
    ('"" * ( )', []),
]


async def test_words_are_found_where_they_were_said(store, run_id):
    for question, found in ANSWERS:
        assert (question, await seqs(store, question)) == (question, found)


async def test_a_search_is_narrowed(store, run_id):
    other = await store.start(Started("another zebra", agent_id="bob"))
    assert await seqs(store, "zebra") == [0, 0]
    assert [each.run.run_id for each in await store.search("zebra")] == [other.run_id, run_id]
    for narrowed, found in (
        ({"kind": "code"}, run_id),
        ({"agent_id": "bob"}, other.run_id),
        ({"status": "in_progress"}, other.run_id),
        ({"limit": 1}, other.run_id),
        ({"since": (await store.get(other.run_id)).started_at}, other.run_id),
    ):
        assert [each.run.run_id for each in await store.search("zebra", **narrowed)] == [found], narrowed
    assert await store.search("zebra", since="9999") == []


async def test_what_is_found_is_shown_in_its_surroundings(store, run_id):
    [found] = await store.search("weasel")
    assert (found.kind, found.run.intent, found.snippet) == ("model_turn", "mend the Zebra parser", found.snippet)
    assert "The «weasel» was at fault." in found.snippet


async def test_what_is_recorded_later_is_found_later(store, url):
    run = await store.start(Started("x"))
    assert await seqs(store, "okapi") == []
    await store.append(run.run_id, [Turn(prompt="okapi")] * 2500)
    async with await RunStore.open(url) as other:
        found = await asyncio.gather(store.search("okapi", limit=5000), other.search("okapi", limit=5000))
    assert [each.seq for each in found[0]] == list(range(2500, 0, -1))
    assert [len(each) for each in found] == [2500, 2500]
    assert await store.index() == 0


async def test_a_large_output_is_found_by_its_beginning(store):
    run = await store.start(Started("x"))
    lines = "".join(f"line {number}\tof\u00e9 output\n" for number in range(40_000))
    await store.append(run.run_id, [Turn(output=f"first\nwombat\n{lines}\nlast quokka")])
    assert len(lines) > MOST_CHARACTERS
    assert await seqs(store, "wombat") == [1]
    assert await seqs(store, "ofé") == [1]
    assert await seqs(store, "quokka") == []


async def test_odd_text_is_found_too(store):
    run = await store.start(Started("caf\udce9 straße"))
    await store.append(run.run_id, [EventRecord("x", {"a": "\0NUL\0", "b": "日本語 text", "c": "w" * 5000})])
    assert await seqs(store, "STRASSE") == [0]
    assert await seqs(store, "nul") == [1]
    assert await seqs(store, "日本語") == [1]
    assert await seqs(store, "w" * 5000) == [1]


HOSTILE = [
    "'; DROP TABLE runs; --",
    '" OR rowid > 0 --',
    "NEAR(a b)",
    "words:x",
    "a AND OR NOT",
    "-zebra",
    "zebra^2 {x} :*",
    "!! & | <-> ()",
    '"unclosed',
    "%s ? :question",
    "\\",
    "\0zebra",
    "\udcff",
    "x" * 100_000,
    "a " * 3000,
]


async def test_no_question_is_an_error(store, run_id):
    for question in HOSTILE:
        assert isinstance(await store.search(question), list)
    assert await seqs(store, "zebra") == [0]


async def test_a_question_of_any_length_is_answered_soon(store, run_id):
    async with asyncio.timeout(5):
        assert len(await store.search("zebra " * 100_000)) == 1
    with pytest.raises(InputError, match="500 words are enough"):
        await store.search(" ".join(f"w{number}" for number in range(501)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=40))
async def test_whatever_is_asked_is_answered(store, run_id, question):
    await store.search(question)


@given(st.text())
def test_words_have_letters_and_digits_only(text):
    assert all(each.isalnum() or not each.isascii() for each in words(text))
    for part in parts(text):
        snippet(text, [part])
