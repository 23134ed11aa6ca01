"""Who is let in, and as what."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon_clients import Line, WireError
from frames import FRAMES
from trueup.core.errors import InfrastructureError, InputError
from trueup.daemon import Daemon, Level, Tokens, keep_tokens
from trueup.runs import RunStore

TOKEN, HUMAN = "T" * 43, "H" * 43
HELLO = {"client_version": "0.58.0", "protocol_version": 3, "required_capabilities": []}


@pytest.fixture
async def guarded(store):
    async with Daemon(store, tokens=Tokens(TOKEN, HUMAN), grace_secs=0) as daemon:
        yield daemon


@pytest.fixture
async def stranger(guarded, lines) -> Line:
    return lines(guarded)


async def test_a_token_and_a_handshake_let_a_program_in(stranger):
    client = stranger.client
    assert await client.call("session.auth", {"token": TOKEN}) == {"ok": True, "auth_enabled": True}
    hello = await client.call("server.handshake", HELLO)
    assert (hello["protocol_version"], hello["client_protocol_version"]) == (3, 3)
    assert hello["server_version"]
    assert await client.call("state.keys") == []
    assert stranger.connection.level is Level.TOKEN


@pytest.mark.parametrize("method", ["state.keys", "server.handshake", "frob", "runs.list"])
async def test_before_that_everything_is_refused_and_the_connection_closed(stranger, method):
    with pytest.raises(WireError, match="auth required") as raised:
        await stranger.client.call(method, HELLO)
    assert raised.value.code == -32001
    await stranger.client.ended.wait()


async def test_a_notification_does_not_get_past_it_either(stranger):
    await stranger.client.send({"jsonrpc": "2.0", "method": "state.set", "params": {"key": "k", "value": 1}})
    await stranger.client.ended.wait()
    assert stranger.connection.state() == {}


async def test_nor_does_a_batch(stranger):
    await stranger.client.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "state.set", "params": {"key": "k", "value": 1}},
            {"jsonrpc": "2.0", "id": 2, "method": "session.auth", "params": {"token": TOKEN}},
        ]
    )
    (refused,) = await stranger.client.next_unclaimed()
    assert refused["error"]["code"] == -32001
    await stranger.client.ended.wait()


async def test_a_wrong_token_is_refused_a_few_times(stranger):
    started = time.monotonic()
    for wrong in ({"token": TOKEN[:-1]}, {"token": "\udcff"}, {}):
        with pytest.raises(WireError, match="^auth failed: token mismatch$") as raised:
            await stranger.client.call("session.auth", wrong)
        assert raised.value.code == -32603
    await stranger.client.ended.wait()
    assert time.monotonic() - started > 0.5
    assert stranger.connection.level is Level.NOTHING


async def test_a_program_cannot_pass_for_the_human(stranger):
    with pytest.raises(WireError, match="token mismatch"):
        await stranger.client.call("session.auth", {"host_token": TOKEN})
    with pytest.raises(WireError, match="token mismatch"):
        await stranger.client.call("session.auth", {"token": TOKEN, "host_token": TOKEN})
    await stranger.client.call("session.auth", {"token": TOKEN})
    await stranger.client.call("server.handshake", HELLO)
    with pytest.raises(WireError, match="approval denied: coder.approve_merge is for a human.*host-token") as raised:
        await stranger.client.call("coder.approve_merge", {"session_id": "x", "approve": True})
    assert raised.value.code == -32003


async def test_the_human_token_is_worth_more_and_stays_so(stranger):
    await stranger.client.call("session.auth", {"host_token": HUMAN})
    await stranger.client.call("session.auth", {"token": TOKEN, "agent_id": "ann"})
    assert stranger.connection.level is Level.HUMAN
    await stranger.client.call("server.handshake", HELLO)
    assert (await stranger.client.call("runs.start", {"intent": "x"}))["agent_id"] == "ann"


async def test_a_program_cancels_its_own_runs_and_the_human_any(guarded, lines):
    owner, other, human = (lines(guarded).client for _ in range(3))
    for client, shown in ((owner, {"token": TOKEN}), (other, {"token": TOKEN}), (human, {"host_token": HUMAN})):
        await client.call("session.auth", shown)
        await client.call("server.handshake", HELLO)
    run_id = (await owner.call("runs.start", {"intent": "x"}))["run_id"]
    with pytest.raises(WireError, match="belongs to another client"):
        await other.call("runs.cancel", {"run_id": run_id, "reason": "mine now"})
    assert (await human.call("runs.cancel", {"run_id": run_id, "reason": "enough"}))["status"] == "cancelled"


async def test_the_handshake_comes_before_anything_else(stranger):
    client = stranger.client
    await client.call("session.auth", {"token": TOKEN})
    with pytest.raises(WireError, match="handshake required") as raised:
        await client.call("state.keys")
    assert raised.value.code == -32005
    with pytest.raises(WireError, match="the daemon speaks protocol 3, the client 2") as raised:
        await client.call("server.handshake", {**HELLO, "protocol_version": 2})
    assert raised.value.code == -32006
    with pytest.raises(WireError, match="the daemon has no telepathy") as raised:
        await client.call("server.handshake", {**HELLO, "required_capabilities": ["telepathy"]})
    assert raised.value.code == -32008
    await client.call("server.handshake", HELLO)
    assert await client.call("state.keys") == []


async def test_without_auth_nothing_of_this_is_needed(client):
    assert await client.call("session.auth", {"token": "whatever"}) == {"ok": True, "auth_enabled": False}
    with pytest.raises(WireError) as raised:
        await client.call("server.handshake", {**HELLO, "protocol_version": 4})
    assert raised.value.code == -32006
    assert await client.call("state.keys") == []


def test_tokens_are_made_once_and_for_the_user_alone(tmp_path):
    folder = tmp_path / "daemon"
    tokens = keep_tokens(folder)
    assert keep_tokens(folder) == tokens
    assert tokens.token != tokens.human_token
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert sorted(file.name for file in folder.iterdir()) == ["auth-token", "host-token"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(tokens.token) == 43
    assert tokens.is_token(tokens.token)
    assert not tokens.is_token(tokens.human_token)
    assert not tokens.is_human_token("é")


def test_a_token_that_others_could_read_is_none(tmp_path):
    keep_tokens(tmp_path)
    (tmp_path / "auth-token").chmod(0o640)
    with pytest.raises(InputError, match="auth-token: others could read or write this secret; remove it"):
        keep_tokens(tmp_path)


def test_a_token_that_is_none_is_refused(tmp_path):
    keep_tokens(tmp_path)
    (tmp_path / "host-token").write_text("guess me\n")
    with pytest.raises(InputError, match="host-token: this is no token; remove it"):
        keep_tokens(tmp_path)


@pytest.mark.parametrize("plant", [lambda path: path.mkdir(mode=0o700), lambda path: os.mkfifo(path, 0o600)])
def test_what_is_no_file_is_no_token(tmp_path, plant):
    plant(tmp_path / "auth-token")
    with pytest.raises(InputError, match=r"/auth-token: others could read or write this secret; remove it"):
        keep_tokens(tmp_path)


def test_of_many_daemons_that_start_at_once_all_have_the_same_tokens(tmp_path):
    with ThreadPoolExecutor(16) as starting:
        assert len(set(starting.map(keep_tokens, [tmp_path / "daemon"] * 32))) == 1
    assert len([*(tmp_path / "daemon").iterdir()]) == 2


def test_a_link_in_place_of_a_token_is_not_followed(tmp_path):
    secret = tmp_path / "mine"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    (tmp_path / "auth-token").symlink_to(secret)
    with pytest.raises(InfrastructureError, match="auth-token: "):
        keep_tokens(tmp_path)
    os.unlink(tmp_path / "auth-token")
    (tmp_path / "auth-token").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InfrastructureError, match="auth-token: "):
        keep_tokens(tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_whatever_a_stranger_sends_gets_them_nothing(tmp_path):
    """One daemon for all examples: none may leave anything behind."""

    @settings(max_examples=60, deadline=None)
    @given(st.lists(FRAMES, min_size=1, max_size=3))
    def check(frames: list[bytes | str]) -> None:
        runner.run(knock(frames))

    async def knock(frames: list[bytes | str]) -> None:
        line = Line(daemon)
        for frame in frames:
            await line.client.send(frame)
        await line.leave()
        answers = [line.client.unclaimed.get_nowait() for _ in range(line.client.unclaimed.qsize())]
        for answer in (each for some in answers for each in (some if isinstance(some, list) else [some])):
            assert answer["error"]["code"] in (-32001, -32600, -32602, -32603, -32700)
        assert line.connection.level is Level.NOTHING
        assert line.client.told.empty()
        assert not await store.list()

    async def open_store() -> RunStore:
        return await RunStore.open(f"sqlite:///{tmp_path}/runs.db")

    with asyncio.Runner() as runner:
        store = runner.run(open_store())
        daemon = Daemon(store, tokens=Tokens(TOKEN, HUMAN))
        runner.run(daemon.__aenter__())
        try:
            check()
        finally:
            runner.run(daemon.__aexit__(None, None, None))
            runner.run(store.aclose())
