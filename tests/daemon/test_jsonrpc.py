"""What the dispatcher makes of frames: good, bad, odd."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon_clients import Line, WireError
from frames import FRAMES
from trueup.daemon import Daemon
from trueup.runs import RunStore


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"state.keys"} and more', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"state.keys","params":{"unread":"\xff"}}', -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"state.set","params":{"key":"k","value":NaN}}', -32700),
        ("[" * 100_000, -32700),
        ('{"params":' + "[" * 100_000 + "]" * 100_000 + "}", -32700),
        ("3", -32600),
        ("null", -32600),
        ('"text"', -32600),
        ("{}", -32600),
        ("[]", -32600),
        ('{"id":1,"method":"state.keys"}', -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"state.keys"}', -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"state.keys"}', -32600),
        ('{"jsonrpc":"2.0","id":[1],"method":"state.keys"}', -32600),
        (json.dumps([1] * 1001), -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"frob"}', -32601),
    ],
)
async def test_a_bad_frame_has_an_error_of_its_own_and_ends_nothing(client, frame, code):
    await client.send(frame)
    answer = await client.next_unclaimed()
    assert answer["error"]["code"] == code
    assert answer["jsonrpc"] == "2.0"
    assert await client.call("state.keys") == []


async def test_ids_come_back_as_they_went(client):
    for request_id in (7, "seven", 0, -1, 2.5, 123456789012345678901234567890):
        await client.send({"jsonrpc": "2.0", "id": request_id, "method": "state.keys"})
        assert await client.next_unclaimed() == {"jsonrpc": "2.0", "id": request_id, "result": []}


async def test_a_notification_is_done_and_never_answered(client):
    await client.send({"jsonrpc": "2.0", "method": "state.set", "params": {"key": "k", "value": 1}})
    await client.send({"jsonrpc": "2.0", "method": "frob"})
    await client.send({"jsonrpc": "2.0", "method": "state.set", "params": {"key": 3}})
    assert await client.call("state.get", {"key": "k"}) == 1
    assert client.unclaimed.empty()


async def test_a_batch_is_answered_in_one_frame(client):
    await client.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "state.set", "params": {"key": "k", "value": 5}},
            {"jsonrpc": "2.0", "method": "state.set", "params": {"key": "l", "value": 6}},
            {"jsonrpc": "2.0", "id": "two", "method": "state.keys"},
            {"jsonrpc": "2.0", "id": 3, "method": "runs.list"},
            7,
            [],
            {"jsonrpc": "2.0", "id": 4, "method": "frob"},
        ]
    )
    answers = await client.next_unclaimed()
    assert [(each["id"], each.get("result"), each.get("error", {}).get("code")) for each in answers] == [
        (1, 5, None),
        ("two", ["k", "l"], None),
        (3, {"agent_id": None, "runs": []}, None),
        (None, None, -32600),
        (None, None, -32600),
        (4, None, -32601),
    ]


async def test_a_batch_of_notifications_is_not_answered(client):
    await client.send([{"jsonrpc": "2.0", "method": "state.set", "params": {"key": "k", "value": 5}}])
    assert await client.call("state.get", {"key": "k"}) == 5
    assert client.unclaimed.empty()


async def test_an_unknown_method_is_named(client):
    with pytest.raises(WireError, match=r"^unknown method: runs\.frob$") as raised:
        await client.call("runs.frob")
    assert raised.value.code == -32601


async def test_wrong_parameters_are_named_by_their_place(client):
    with pytest.raises(WireError, match=r"^invalid params: Expected `str`, got `int` - at `\$\.intent`$") as raised:
        await client.call("runs.start", {"intent": 3})
    assert raised.value.code == -32602
    with pytest.raises(WireError, match=r"invalid params: .*missing required field `intent`"):
        await client.call("runs.start")
    with pytest.raises(WireError, match=r"invalid params: .*got `array`"):
        await client.call("runs.start", ["intent"])


async def test_who_has_nothing_to_say_may_say_so(client):
    for params in ({}, None):
        await client.send({"jsonrpc": "2.0", "id": 1, "method": "state.keys", "params": params})
        assert (await client.next_unclaimed())["result"] == []


async def test_what_nobody_asked_for_is_ignored_and_counted(line):
    await line.client.send({"jsonrpc": "2.0", "id": "cb-1", "result": 1})
    await line.client.send({"jsonrpc": "2.0", "id": "cb-99", "error": {"code": 1, "message": "no"}})
    await line.client.send({"jsonrpc": "2.0", "id": 4, "result": None})
    assert await line.client.call("state.keys") == []
    assert line.client.unclaimed.empty()
    assert line.connection.callbacks.counts.ignored == 3


async def test_half_of_a_surrogate_pair_is_kept(client):
    await client.send('{"jsonrpc":"2.0","id":"s","method":"state.set","params":{"key":"k","value":"a\\udcffb"}}')
    await client.next_unclaimed()
    assert await client.call("state.get", {"key": "k"}) == "a\udcffb"
    await client.send('[{"jsonrpc":"2.0","id":"s","method":"state.get","params":{"key":"\\udcff"}}]')
    assert await client.next_unclaimed() == [{"jsonrpc": "2.0", "id": "s", "result": None}]


async def test_what_is_nested_deeply_is_an_answer_and_no_end(client):
    deep = "[" * 900 + "]" * 900
    await client.send('{"jsonrpc":"2.0","id":"d","method":"state.set","params":{"key":"k","value":' + deep + "}}")
    answer = await client.next_unclaimed()
    assert "result" in answer or answer["error"]["code"] in (-32700, -32602, -32603)
    assert await client.call("state.exists", {"key": "other"}) is False


# Half of a surrogate pair is JSON that only the standard library reads: it takes another way through the parser.
HALF_TEXTS = st.text(st.sampled_from("a\0\ud800\udcff"), max_size=3)
HALF_VALUES = HALF_TEXTS | st.lists(HALF_TEXTS, max_size=2) | st.dictionaries(HALF_TEXTS, HALF_TEXTS, max_size=2)
HALF_MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": HALF_TEXTS},
    optional={
        "method": st.sampled_from(["state.set", "tools.register", "runs.start", "runs.get_trace", "runs.cancel"]),
        "params": HALF_VALUES
        | st.dictionaries(st.sampled_from(["key", "value", "intent", "run_id", "agent_id"]), HALF_VALUES),
        "\ud800": HALF_VALUES,
    },
)
HALVES = st.one_of(HALF_MESSAGES, HALF_VALUES, st.lists(HALF_MESSAGES | HALF_VALUES, max_size=3)).map(json.dumps)


def test_whatever_arrives_is_answered_or_ignored_and_the_next_request_is_answered(tmp_path):
    """One daemon for all examples: what one leaves behind must not harm the next."""

    @settings(max_examples=150, deadline=None)
    @given(st.lists(FRAMES | HALVES, min_size=1, max_size=4))
    def check(frames: list[bytes | str]) -> None:
        runner.run(converse(frames))

    async def converse(frames: list[bytes | str]) -> None:
        line = Line(daemon)
        for frame in frames:
            await line.client.send(frame)
        await line.client.call("state.set", {"key": "still", "value": "there"}, request_id="the next")
        assert await line.client.call("state.get", {"key": "still"}, request_id="and after") == "there"
        while not line.client.unclaimed.empty():
            answers = line.client.unclaimed.get_nowait()
            for each in answers if isinstance(answers, list) else [answers]:
                assert each["jsonrpc"] == "2.0"
                assert ("result" in each) != ("error" in each)
                assert "mistake in trueup" not in each.get("error", {}).get("message", "")
        await line.leave()

    async def open_store() -> RunStore:
        return await RunStore.open(f"sqlite:///{tmp_path}/runs.db")

    with asyncio.Runner() as runner:
        store = runner.run(open_store())
        daemon = Daemon(store, grace_secs=0.01)
        runner.run(daemon.__aenter__())
        try:
            check()
        finally:
            runner.run(daemon.__aexit__(None, None, None))
            runner.run(store.aclose())
