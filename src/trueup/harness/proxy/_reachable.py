"""Making the proxy reachable from where an agent works: a network of its own, with nothing in it but loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, Process
from trueup.core.protocols import Launcher

START_SECS = 30.0


@asynccontextmanager
async def reachable(launcher: Launcher, socket_path: str | Path, port: int = 0) -> AsyncIterator[int]:
    """Have `127.0.0.1:PORT` lead to the proxy's socket where `launcher` starts programs; gives the port.

    `socket_path` is where the socket is seen there. With port 0, one that is free.
    """
    source = await asyncio.to_thread(Path(__file__).with_name("_forward.py").read_text)
    argv = ("python3", "-I", "-S", "-c", source, str(port), str(socket_path))
    async with launcher.launch(Command(argv=argv)) as process:
        yield await _accepting(process)


async def _accepting(process: Process) -> int:
    """The port on which the forwarder accepts."""
    try:
        async with asyncio.timeout(START_SECS):
            said = await anext(process.lines(), "")
    except TimeoutError:
        raise InfrastructureError(f"the way to the proxy was not open after {START_SECS:g} s") from None
    word, _, port = said.partition(" ")
    if word != "ready":
        finished = await process.wait()
        why = finished.stderr.tail(300).strip().rpartition("\n")[2] or f"exit {finished.exit_code}"
        raise InfrastructureError(f"the way to the proxy could not be opened: {why}")
    return int(port)
