"""Tunnels to hosts that are allowed: HTTPS goes through them unread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ._door import Streams
from ._hosts import Allowed, addresses_of
from ._refusal import Refusal

CONNECT_SECS = 30.0
CHUNK = 64 << 10


async def open_tunnel(target: str, allowed: Sequence[Allowed]) -> Streams:
    """Connect to a `HOST:PORT` that is allowed, at an address that was checked."""
    host, port = parse_target(target)
    tried: list[str] = []
    for address in await addresses_of(host, port, allowed):
        try:
            async with asyncio.timeout(CONNECT_SECS):
                return await asyncio.open_connection(address, port)
        except (OSError, TimeoutError) as error:
            tried.append(f"{address}: {error or 'no answer'}")
    raise Refusal(502, "host_unreachable", f"{host}:{port} cannot be reached ({'; '.join(tried)})", final=False)


def parse_target(target: str) -> tuple[str, int]:
    """The host and port of a CONNECT."""
    host, colon, port = target.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise Refusal(400, "bad_target", f"{target!r} is no HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


async def pump_both(here: Streams, there: Streams) -> None:
    """Carry bytes both ways until both sides are done, or one is gone."""
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(here[0], there[1]))
            both.create_task(_pump(there[0], here[1]))
    except* OSError:
        pass
    finally:
        # Whatever was to be delivered has been drained, or has nobody left who would take it.
        for _, writer in (here, there):
            writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK):
        sink.write(chunk)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()
