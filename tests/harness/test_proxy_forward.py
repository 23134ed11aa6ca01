"""The way from inside of a sandbox to the proxy's socket."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

from checkouts import Checkout
from proxied import REAL_KEY, message, streamed, turns, vendor
from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Process
from trueup.harness.proxy import Proxy, Upstream, reachable
from trueup.testing import EventLog
from trueup.workspace import NO_SANDBOX, Layers, Mirror, Profile, Repository, Workspace, find_backend

CLIENT = """
import json, os, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
asked = urllib.request.Request(url, b'{"model": "m-1"}', headers)
sys.stdout.write(urllib.request.urlopen(asked).read().decode())
"""

# First straight to where the vendor listens on the host's loopback, then to anywhere by way of the proxy.
STRAY = """
import os, urllib.error, urllib.request
try:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(os.environ["VENDOR"])
except urllib.error.URLError as error:
    print(type(error.reason).__name__)
try:
    urllib.request.urlopen("http://example.org/")
except urllib.error.HTTPError as error:
    print(error.code)
"""


class Here:
    """A `Launcher` that starts programs where the test runs."""

    @asynccontextmanager
    async def launch(self, command):
        env = {**os.environ, **(command.env or {})}
        async with Process(Command(argv=command.argv, env=env, stdin=command.stdin)) as process:
            yield process


@pytest.fixture
async def scene(tmp_path):
    """A proxy on a socket before a vendor that streams, and what it told."""
    log = EventLog()
    (tmp_path / "s").mkdir()
    async with vendor(lambda request: streamed(request, message("hello ", "there"))) as url:
        async with Proxy([Upstream.anthropic(REAL_KEY, url)], log, socket=tmp_path / "s" / "p") as proxy:
            proxy.vendor = url
            yield proxy, log


async def test_calls_through_the_forwarder_arrive_whole(scene):
    proxy, log = scene
    async with reachable(Here(), proxy.socket) as port, aiohttp.ClientSession() as session:
        url = f"{proxy.url('anthropic', port)}/v1/messages"

        async def one():
            async with session.post(url, json={}, headers={"x-api-key": proxy.key}) as answer:
                return await answer.read()

        assert set(await asyncio.gather(*(one() for _ in range(50)))) == {b"".join(message("hello ", "there"))}
    await proxy.settled()
    assert len(turns(log)) == 50


async def test_the_forwarder_carries_much_both_ways_and_knows_the_end(tmp_path):
    async def echo(reader, writer):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
        writer.write(b"the end")
        writer.close()

    server = await asyncio.start_unix_server(echo, tmp_path / "e")
    async with reachable(Here(), tmp_path / "e") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        data = os.urandom(1 << 20) * 8
        reading = asyncio.ensure_future(reader.read())
        writer.write(data)
        writer.write_eof()
        assert await reading == data + b"the end"
        writer.close()
    server.close()


async def test_without_a_proxy_behind_it_a_connection_is_closed_and_the_next_one_tried(tmp_path):
    async with reachable(Here(), tmp_path / "none") as port:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()


async def test_a_port_that_is_taken_is_an_error_that_says_so(tmp_path):
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    with pytest.raises(InfrastructureError, match="could not be opened.*in use"):
        async with reachable(Here(), tmp_path / "s", port):
            pass
    taken.close()


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Makes an agent's workspace, in a sandbox or without one."""
    monkeypatch.setenv("PATH", f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin")

    @asynccontextmanager
    async def made(backend):
        user = Checkout(tmp_path / "user")
        user.commit("the base", **{"a.txt": "a"})
        repo = await Repository.open(user.root)
        mirror = await Mirror.open(repo, tmp_path / "store" / "mirror")
        workspace = await Workspace.create(Layers(repo, mirror, tmp_path / "store", backend), user.head)
        yield workspace
        await workspace.discard()

    return made


@pytest.mark.parametrize("kind", ["sandboxed", "plain"])
async def test_a_program_in_a_workspace_reaches_the_model(scene, workspace, kind):
    proxy, log = scene
    folder = proxy.socket.parent
    profile = Profile(writable={str(folder): "/run/trueup/proxy"})
    backend = await find_backend() if kind == "sandboxed" else NO_SANDBOX
    async with workspace(backend) as made, made.open(profile) as shell:
        async with reachable(shell, f"{shell.seen_at(folder)}/p") as port:
            told = await output(shell, Command(argv=("python3", "-c", CLIENT), env=proxy.environment(port)))
    assert told == b"".join(message("hello ", "there")).decode()
    assert turns(log)[0].assistant_text == "hello there"


async def test_a_program_in_a_sandbox_reaches_nothing_else(scene, workspace):
    proxy, _ = scene
    folder = proxy.socket.parent
    async with workspace(await find_backend()) as made:
        async with made.open(Profile(writable={str(folder): "/run/trueup/proxy"})) as shell:
            async with reachable(shell, "/run/trueup/proxy/p") as port:
                env = {**proxy.environment(port), "VENDOR": proxy.vendor}
                told = await output(shell, Command(argv=("python3", "-c", STRAY), env=env))
    assert told.splitlines() == ["ConnectionRefusedError", "403"]


async def output(shell, command):
    async with shell.launch(command) as process:
        return (await process.wait()).stdout.text
