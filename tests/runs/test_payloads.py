"""Whatever a program says can be recorded, however large and however odd, and is kept once."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.core.errors import InputError
from trueup.runs import EventRecord, Started, Turn, encode_json

LARGE = "".join(f"line {number} of a long output\n" for number in range(2000))


async def recorded(store, *data: dict) -> list[dict]:
    run = await store.start(Started("x"))
    await store.append(run.run_id, [EventRecord("said", each) for each in data])
    verified = await store.verify(run.run_id)
    assert verified.ok, verified.problem
    return [each.record.data for each in await store.trace(run.run_id, types={"said"})]


async def test_a_large_text_is_kept_once_and_compressed(store, sql):
    data = [{"n": number, "output": LARGE, "more": [{"again": LARGE}]} for number in range(20)]
    assert await recorded(store, *data) == data
    [(size, kept)] = sql("SELECT size, length(content) FROM payloads")
    assert size == len(json.dumps(LARGE))
    assert kept < size / 3
    [(largest,)] = sql("SELECT max(length(body)) FROM records")
    assert largest < 200


async def test_two_runs_share_what_both_said(store, sql):
    for _ in range(2):
        run = await store.start(Started(LARGE))
        await store.append(run.run_id, [Turn(tool="cat", output=LARGE)])
        [turn] = await store.trace(run.run_id, types={"turn"})
        assert (turn.record.output, turn.record.index) == (LARGE, 0)
    assert sql("SELECT count(*) FROM payloads") == [(1,)]


async def test_many_small_values_that_are_large_together_are_taken_out_too(store, sql):
    data = {"files": [f"src/module_{number}.py" for number in range(3000)], "output": LARGE}
    assert await recorded(store, data) == [data]
    assert sql("SELECT count(*) FROM payloads") == [(2,)]
    assert sql("SELECT body FROM records WHERE type = 'said'") == [("null",)]


async def test_small_texts_stay_where_they_are(store, sql):
    await recorded(store, {"output": "x" * 16_000})
    assert sql("SELECT count(*) FROM payloads") == [(0,)]


async def test_text_that_looks_like_a_reference_is_only_text(store, sql):
    await recorded(store, {"secret": LARGE})
    [(digest,)] = sql("SELECT hash FROM payloads")
    forged = {"places": [[["data", "secret"], digest]], "$payload": digest, "x": "y" * 20_000}
    assert await recorded(store, forged) == [forged]


async def test_names_of_files_that_are_no_text_come_back_as_they_were(store):
    name = os.fsdecode(b"caf\xe9.txt")
    data = {"path": name, name: [name], "large": name * 3000}
    assert await recorded(store, data) == [data]


async def test_an_intent_that_no_column_can_hold_is_shown_with_escapes(store):
    run = await store.start(Started("a\0b\udcff", agent_id="\udcff"))
    assert (run.intent, run.agent_id) == ("a\\x00b\\udcff", "\\udcff")
    assert (await store.trace(run.run_id))[0].record.intent == "a\0b\udcff"
    assert [each.run_id for each in await store.list(agent_id="\udcff")] == [run.run_id]
    assert (await store.verify(run.run_id)).ok


async def test_an_event_may_have_an_odd_type(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [EventRecord("odd\0\udcff")])
    assert (await store.latest(run.run_id, "odd\0\udcff"))[run.run_id].record.type == "odd\0\udcff"


async def test_control_characters_survive(store):
    data = {"text": "".join(map(chr, range(0x20))) + "\x7f\u2028\U0001f600"}
    assert await recorded(store, data) == [data]


async def test_numbers_that_json_does_not_have_are_visible(store):
    data = {"nan": math.nan, "all": [math.inf, {"less": -math.inf}], "huge": 10**300, "beyond": 1 << 50_000, "n": None}
    [kept] = await recorded(store, data)
    assert kept["nan"] == "NaN"
    assert kept["all"] == ["Infinity", {"less": "-Infinity"}]
    assert kept["huge"] == 10**300
    assert kept["beyond"] == hex(1 << 50_000)
    assert kept["n"] is None


async def test_a_path_is_kept_as_its_name(store):
    assert await recorded(store, {"path": Path("/a/b")}) == [{"path": "/a/b"}]


async def test_what_is_no_data_is_refused_before_anything_is_written(store):
    run = await store.start(Started("x"))
    deep: dict = {}
    for _ in range(100_000):
        deep = {"deeper": deep}
    for record in (EventRecord("x", {"it": object()}), EventRecord("x", deep), Turn(cli_outcome="exited")):
        with pytest.raises(InputError, match="cannot be recorded"):
            await store.append(run.run_id, [Turn(), record])
    assert (await store.get(run.run_id)).record_count == 1


# What programs say: any character, and the surrogates by which Python writes bytes that are none.
CHARACTERS = st.characters(codec="utf-8") | st.sampled_from([chr(code) for code in range(0xDC80, 0xDD00)])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_data_is_written_as_json_that_reads_back_the_same(value):
    assert json.loads(encode_json(value)) == value


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(large=st.text(CHARACTERS, min_size=1, max_size=30), depth=st.integers(0, 4), times=st.integers(1, 3))
async def test_any_large_text_at_any_place_comes_back(store, large, depth, times):
    value: object = [large * 17_000] * times
    for level in range(depth):
        value = {f"level {level}": value} if level % 2 else [value, "small"]
    assert await recorded(store, {"value": value}) == [{"value": value}]
