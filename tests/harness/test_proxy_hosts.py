"""The rest of the world: hosts that are allowed, by tunnel and by plain HTTP, and everything that is not."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest
from aiohttp import web

from proxied import client, vendor
from trueup.core.errors import InputError
from trueup.harness.proxy import Allowed, Proxy
from trueup.testing import EventLog


def proxy_to(*allowed: Allowed) -> Proxy:
    return Proxy([], EventLog(), port=0, allowed=allowed)


@pytest.fixture
async def echo():
    """A server that gives back what it gets, in capitals, until it has got it all."""
    talks = set()

    async def talk(reader, writer):
        talks.add(asyncio.current_task())
        try:
            while piece := await reader.read(1 << 16):
                writer.write(piece.upper())
                await writer.drain()
            writer.write(b" THE END")
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await asyncio.wait_for(asyncio.gather(*talks), 5)


async def connect(proxy, target, *, more=b""):
    """Ask for a tunnel; the streams, and the head of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode() + more)
    head = await reader.readuntil(b"\r\n\r\n")
    return reader, writer, head.decode()


async def test_a_tunnel_to_an_allowed_host_carries_bytes_both_ways_to_the_end(echo):
    async with proxy_to(Allowed("localhost", (echo,), private=True)) as proxy:
        reader, writer, head = await connect(proxy, f"localhost:{echo}")
        assert head.startswith("HTTP/1.1 200 ")
        writer.write(b"hello" * 100_000)
        writer.write_eof()
        assert await reader.read() == b"HELLO" * 100_000 + b" THE END"
        writer.close()


async def test_what_a_client_sends_before_it_is_let_in_is_not_lost(echo):
    async with proxy_to(Allowed("localhost", (echo,), private=True)) as proxy:
        reader, writer, _ = await connect(proxy, f"localhost:{echo}", more=b"early ")
        writer.write(b"late")
        writer.write_eof()
        assert await reader.read() == b"EARLY LATE THE END"
        writer.close()


async def test_a_head_that_comes_byte_by_byte_is_understood(echo):
    async with proxy_to(Allowed("localhost", (echo,), private=True)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        for byte in f"CONNECT localhost:{echo} HTTP/1.1\r\n\r\n".encode():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()


@pytest.mark.parametrize(
    ("target", "status", "why"),
    [
        ("example.org:443", 403, "not on the list of allowed hosts"),
        ("localhost:22", 403, "not on the list"),
        ("169.254.169.254:80", 403, "not on the list"),
        ("nonsense", 400, "no HOST:PORT"),
        ("localhost:443", 403, "an address of this machine"),
        ("127.0.0.1:443", 403, "an address of this machine"),
        ("[::1]:443", 403, "an address of this machine"),
        ("metadata.internal:443", 502, "could not be looked up"),
    ],
)
async def test_a_tunnel_to_anywhere_else_is_refused_with_a_sentence(target, status, why):
    open_names = [Allowed("localhost"), Allowed("127.0.0.1"), Allowed("::1"), Allowed("metadata.internal")]
    async with proxy_to(*open_names) as proxy:
        reader, writer, head = await connect(proxy, target)
        assert head.split()[1] == str(status)
        assert why in (await reader.read()).decode()
        writer.close()
        assert proxy.refused == ({target: 1} if status == 403 else {})


async def test_a_tunnel_to_a_port_where_nobody_listens_is_a_502(echo):
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    async with proxy_to(Allowed("localhost", (port,), private=True)) as proxy:
        _, writer, head = await connect(proxy, f"localhost:{port}")
        assert head.split()[1] == "502"
        writer.close()


async def test_plain_http_goes_to_allowed_hosts_only():
    async def told(request):
        return web.Response(text=f"{request.headers['Host']} {request.path_qs} {await request.text()}")

    async with vendor(told) as url, client() as session:
        port = int(url.rpartition(":")[2])
        async with proxy_to(Allowed("localhost", (port,), private=True)) as proxy:
            through = f"http://127.0.0.1:{proxy.port}"
            async with session.post(f"http://localhost:{port}/a%20b?c=d", data="body", proxy=through) as answer:
                assert await answer.text() == f"localhost:{port} /a%20b?c=d body"
            async with session.get(f"{url}/a", proxy=through) as answer:
                assert answer.status == 403
                assert "not on the list" in await answer.text()


async def test_leaving_closes_tunnels(echo):
    async with proxy_to(Allowed("localhost", (echo,), private=True)) as proxy:
        reader, writer, _ = await connect(proxy, f"localhost:{echo}")
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


@pytest.mark.parametrize(
    ("address", "public", "private"),
    [
        ("93.184.216.34", True, True),
        ("2606:2800:220:1::1", True, True),
        ("10.0.0.1", False, True),
        ("192.168.1.1", False, True),
        ("100.64.0.1", False, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("fd00::1", False, True),
        ("::ffff:10.0.0.1", False, True),
        ("64:ff9b::7f00:1", False, True),
        ("2002:7f00:1::", False, True),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("fe80::1", False, False),
        ("fd00:ec2::254", False, False),
        ("100.100.100.200", False, False),
        ("0.0.0.0", False, False),
        ("224.0.0.1", False, False),
    ],
)
def test_only_public_addresses_count_unless_the_person_says_so(address, public, private):
    assert Allowed("h").permits(ip_address(address)) is public
    assert Allowed("h", private=True).permits(ip_address(address)) is private


@pytest.mark.parametrize(
    ("rule", "host", "port", "covered"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("PyPI.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "files.pypi.org", 443, False),
        ("*.pypi.org", "files.pypi.org", 443, True),
        ("*.pypi.org", "pypi.org", 443, False),
        ("*.pypi.org", "evilpypi.org", 443, False),
        ("pypi.org:8443", "pypi.org", 8443, True),
        ("pypi.org:8443", "pypi.org", 443, False),
    ],
)
def test_a_rule_covers_what_it_names_and_no_more(rule, host, port, covered):
    assert Allowed.parse(rule).covers(host, port) is covered


@pytest.mark.parametrize("text", ["", "*", "https://pypi.org", "pypi.org:https"])
def test_a_rule_that_names_no_host_is_refused(text):
    with pytest.raises(InputError, match="names no host"):
        Allowed.parse(text)
