"""How the typed client finds a daemon, is let in, follows what happens, and loses the connection."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import pytest
from aiohttp import web

from trueup.core.errors import InputError, Kind, TrueupError
from trueup.core.process import Command, run
from trueup.daemon import (
    Code,
    ConnectionLostError,
    Daemon,
    RpcError,
    RunTurn,
    connect,
    keep_tokens,
    listen,
    token_folder,
)
from trueup.runs import Ended

PATIENCE_SECS = 20


@pytest.fixture
async def guarded(store):
    """A daemon that wants a token, those of this user's being what it wants."""
    tokens = keep_tokens(token_folder())
    async with Daemon(store, tokens=tokens, token_folder=token_folder(), grace_secs=5) as daemon:
        async with listen(daemon) as front:
            yield front


async def test_a_daemon_is_found_by_the_environment_and_its_token_by_the_users_folder(guarded, monkeypatch):
    monkeypatch.setenv("TRUEUP_DAEMON_URL", guarded.url)
    async with connect() as client:
        assert await client.state.keys() == []
        with pytest.raises(RpcError, match="approval denied: coder.approve_merge is for a human") as raised:
            await client.sessions.approve("nope")
    assert (raised.value.code, raised.value.kind) == (Code.APPROVAL_DENIED, Kind.REFUSED)


async def test_a_human_may_approve(guarded):
    async with connect(guarded.url, human=True) as client:
        with pytest.raises(RpcError, match="nope") as raised:
            await client.sessions.approve("nope")
    assert raised.value.code is Code.FAILED


async def test_a_token_is_given_as_it_is_or_by_its_file(guarded, tmp_path):
    token = (token_folder() / "auth-token").read_text().strip()
    async with connect(guarded.url, token=token) as client:
        assert await client.state.keys() == []
    kept = tmp_path / "token"
    kept.write_text(token + "\n")
    async with connect(guarded.url, token=kept) as client:
        assert await client.state.keys() == []
    with pytest.raises(InputError, match="nowhere: the token cannot be read"):
        async with connect(guarded.url, token=tmp_path / "nowhere"):
            pass


async def test_a_wrong_token_is_told_with_what_to_do(guarded):
    said = r"did not let this client in: auth failed: token mismatch; `trueup serve` prints where its tokens are"
    with pytest.raises(TrueupError, match=said) as raised:
        async with connect(guarded.url, token="wrong"):
            pass
    assert raised.value.kind is Kind.AUTH


async def test_no_token_is_told_apart_from_a_wrong_one(guarded):
    (token_folder() / "auth-token").unlink()
    with pytest.raises(TrueupError, match="it wants a token, and none was found; `trueup serve`"):
        async with connect(guarded.url):
            pass


async def test_where_nobody_is_the_person_is_told_how_to_start_one():
    with pytest.raises(TrueupError, match="no daemon at ws://127.0.0.1:1/: .*start one with `trueup serve`") as raised:
        async with connect("ws://127.0.0.1:1/"):
            pass
    assert raised.value.kind is Kind.NETWORK


async def test_what_is_no_address_is_refused():
    with pytest.raises(InputError, match="is no address of a daemon"):
        async with connect("not an address"):
            pass


@asynccontextmanager
async def web_server(handler, host="127.0.0.1"):
    application = web.Application()
    application.router.add_get("/", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    try:
        yield f"ws://{host}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_what_answers_but_is_no_daemon_is_told():
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    async with web_server(page) as url:
        with pytest.raises(TrueupError, match="what answers at .* is no daemon: HTTP 200"):
            async with connect(url):
                pass


async def test_the_users_token_is_not_shown_to_another_machine():
    keep_tokens(token_folder())
    shown = []

    async def take(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        shown.append((await socket.receive_json())["params"])
        return socket

    for host in ("127.0.0.1", "127.0.0.2"):
        async with web_server(take, host) as url:
            with pytest.raises(ConnectionLostError):
                async with connect(url):
                    pass
    assert [each["token"] is None for each in shown] == [False, True]


async def test_a_daemon_that_dies_without_a_word_is_missed_at_once():
    async def die(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        request.transport.abort()
        return socket

    async with web_server(die) as url, asyncio.timeout(PATIENCE_SECS):
        with pytest.raises(ConnectionLostError, match="was lost; connect again, and go on") as raised:
            async with connect(url):
                pass
    assert raised.value.kind is Kind.NETWORK


async def test_what_a_daemon_says_before_it_hangs_up_is_the_reason():
    async def complain(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        await socket.send_json({"jsonrpc": "2.0", "id": None, "error": {"code": -32014, "message": "frame too large"}})
        await socket.close()
        return socket

    async with web_server(complain) as url, asyncio.timeout(PATIENCE_SECS):
        with pytest.raises(ConnectionLostError, match="was lost: frame too large; connect again"):
            async with connect(url):
                pass


async def test_nobody_waits_for_the_answer_to_a_frame_that_the_daemon_could_not_read():
    """What this side can just write, nested a thousand deep, the other may not be able to read."""
    unreadable = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "nested too deeply to be read"}}

    async def answer(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            call = message.json()
            known = {"jsonrpc": "2.0", "id": call["id"], "result": _HELLO.get(call["method"])}
            await socket.send_json(unreadable if call["method"] == "state.set" else known)
        return socket

    async with web_server(answer) as url, connect(url, token="t") as client, asyncio.timeout(PATIENCE_SECS):
        with pytest.raises(RpcError, match="nested too deeply to be read") as raised:
            await client.state.set("k", [])
        assert await client.state.get("k") is None, "the connection goes on"
    assert raised.value.code is Code.PARSE


async def test_a_lost_connection_is_one_clear_error_for_all_who_wait(daemon):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncExitStack() as serving, asyncio.timeout(PATIENCE_SECS):
        front = await serving.enter_async_context(listen(daemon))
        async with connect(front.url) as client:
            client.tool(waits)
            with pytest.raises(ConnectionLostError, match="was lost: the daemon ends; connect again") as raised:
                async with client.run("cut") as run:
                    following = asyncio.create_task(anext(client.follow(run.id, cursor=1)))
                    calling = asyncio.create_task(run.call("waits"))
                    await begun.wait()
                    await serving.aclose()
                    await calling
            for waiting in (following, client.state.keys(), run.record_turn(RunTurn())):
                with pytest.raises(ConnectionLostError):
                    await waiting
            await ended.wait()
    assert raised.value.kind is Kind.NETWORK


async def test_a_run_is_gone_on_with_over_another_connection(store):
    async with Daemon(store, grace_secs=5) as daemon, listen(daemon) as front:
        with pytest.raises(ConnectionLostError):
            async with connect(front.url) as client:
                async with client.run("go on", agent_id="ada") as run:
                    await run.record_turn(RunTurn(prompt="before"))
                    await run.record_turn(RunTurn(prompt="x" * (65 << 20)))
        async with connect(front.url) as client:
            async with client.resume(run.id) as again:
                assert (again.id, again.agent_id) == (run.id, "ada")
                assert await again.record_turn(RunTurn(prompt="after")) == 1
            prompts = [getattr(each.record, "prompt", None) async for each in client.runs.trace(run.id)]
    assert prompts == [None, "before", "after", None]
    assert (await store.get(run.id)).status == "completed"


async def test_following_gives_what_there_is_and_then_what_comes(front):
    async with connect(front.url) as writer, connect(front.url) as reader:
        heard = []

        async def follow(run_id, cursor=0):
            heard.extend([event async for event in reader.follow(run_id, cursor=cursor)])

        async with asyncio.timeout(PATIENCE_SECS):
            async with writer.run("be followed") as run:
                await run.record_turn(RunTurn(prompt="early"))
                following = asyncio.create_task(follow(run.id))
                await asyncio.sleep(0.05)
                await run.record_turn(RunTurn(prompt="late"))
            await following
            whole = list(heard)
            heard.clear()
            await follow(run.id, cursor=2)
    assert [event.cursor for event in whole] == [1, 2, 3, 4]
    assert [event.status for event in whole] == ["in_progress"] * 3 + ["completed"]
    assert [event.record.prompt for event in whole[1:3]] == ["early", "late"]
    assert isinstance(whole[-1].record, Ended)
    assert whole[-1].at
    assert heard == whole[2:]


async def test_a_follower_that_leaves_early_can_follow_again(front):
    async with connect(front.url) as client:
        async with client.run("x") as run:
            for _ in range(2):
                async with aclosing(client.follow(run.id)) as events:
                    assert (await anext(events)).cursor == 1
            async with aclosing(client.follow(run.id)) as events, aclosing(client.follow(run.id)) as more:
                await anext(events)
                with pytest.raises(InputError, match="is followed by this client already"):
                    await anext(more)


async def test_a_follower_that_falls_behind_misses_nothing(front):
    """More comes than waits for it here; the rest is asked for again from where it was."""
    turns = 4000
    async with connect(front.url) as client, asyncio.timeout(PATIENCE_SECS):
        async with client.run("much") as run:
            async with aclosing(client.follow(run.id)) as events:
                seen = [(await anext(events)).cursor]
                for _ in range(turns // 500):
                    await run.record_turn(*[RunTurn(prompt="x" * 100)] * 500)
                while len(seen) < turns:
                    seen.append((await anext(events)).cursor)
    assert seen == list(range(1, turns + 1))


async def test_a_follower_that_was_dropped_goes_on_from_its_cursor():
    """A daemon drops a subscriber whose socket stays full; here is one that does so at once."""
    asked = []
    started = {"kind": "started", "intent": "x", "at": "now"}
    turn = {"kind": "turn", "prompt": "p", "at": "now"}
    ended = {"kind": "ended", "status": "completed", "at": "now"}

    async def drop(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)

        async def tell(method, **params):
            about = {"run_id": "r", "agent_id": None}
            await socket.send_json({"jsonrpc": "2.0", "method": method, "params": about | params})

        async for message in socket:
            call = message.json()
            result = _HELLO.get(call["method"])
            if call["method"] == "runs.subscribe":
                asked.append(call["params"]["cursor"])
                found = {0: [started], 2: [turn]}[asked[-1]]
                result = {"run_id": "r", "agent_id": None, "turns_so_far": found, "status": "in_progress", "cursor": 0}
            await socket.send_json({"jsonrpc": "2.0", "id": call["id"], "result": result})
            if call["method"] == "runs.subscribe" and asked[-1] == 0:
                await tell("runs.trace.event", record=turn, cursor=2, status="in_progress")
                await tell("runs.trace.dropped", cursor=2, reason="too slow")
            elif call["method"] == "runs.subscribe":
                await tell("runs.trace.event", record=ended, cursor=4, status="completed")
        return socket

    async with web_server(drop) as url, connect(url, token="t") as client, asyncio.timeout(PATIENCE_SECS):
        seen = [(event.cursor, type(event.record).__name__) async for event in client.follow("r")]
    assert asked == [0, 2]
    assert seen == [(1, "Started"), (2, "Turn"), (3, "Turn"), (4, "Ended")]


_HELLO = {
    "session.auth": {"ok": True, "auth_enabled": True},
    "server.handshake": {
        "protocol_version": 3,
        "server_version": "0",
        "client_protocol_version": 3,
        "capabilities": [],
    },
    "runs.unsubscribe": {"run_id": "r", "unsubscribed": True},
}


async def test_a_run_that_there_is_not_is_told(front):
    async with connect(front.url) as client:
        for reading in (client.follow("nope"), client.runs.trace("nope")):
            with pytest.raises(RpcError, match="there is no run nope") as raised:
                await anext(reading)
            assert raised.value.code is Code.RUN_NOT_FOUND
        with pytest.raises(RpcError, match="there is no run nope"):
            async with client.resume("nope"):
                pass


async def test_a_trace_is_read_to_its_end_over_pages(front):
    async with connect(front.url) as client:
        async with client.run("long") as run:
            await run.record_turn(*[RunTurn()] * 10_000)
        cursors = [event.cursor async for event in client.runs.trace(run.id)]
    assert cursors == list(range(1, 10_003))


async def test_a_daemon_starts_without_the_client_and_its_web_library():
    code = (
        "import sys, trueup.daemon as d; print([m for m in ('aiohttp', 'trueup.daemon._client') if m in sys.modules])"
    )
    finished = await run(Command(argv=(sys.executable, "-c", code), env=dict(os.environ)))
    assert finished.stdout.tail(1000).strip() == "[]"
