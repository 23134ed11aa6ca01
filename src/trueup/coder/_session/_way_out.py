"""How an engine reaches its vendor: not at all, as the user does, or through trueup's proxy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trueup.core.protocols import Launcher
from trueup.core.trust import data_folder
from trueup.harness import CarriedLogin, Engine, Vendor
from trueup.model import estimated_cost

from ._meter import Meter
from ._request import AgentNetwork

if TYPE_CHECKING:
    from trueup.harness.proxy import Cassette, Proxy

SOCKET_FOLDER = "/run/trueup/net"
SOCKET = "proxy.sock"


class Way(Struct, frozen=True, kw_only=True):
    """What an engine needs to be given for its way out: folders to write to, the host's network, variables."""

    network: bool = False
    writable: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    proxy: Proxy | None = None

    @asynccontextmanager
    async def opened(self, launcher: Launcher) -> AsyncIterator[Mapping[str, str]]:
        """Open it where the engine works; gives the variables by which the engine finds it."""
        if self.proxy is None:
            yield self.env
            return
        from trueup.harness.proxy import reachable

        async with reachable(launcher, f"{SOCKET_FOLDER}/{SOCKET}") as port:
            yield {**self.env, **self.proxy.environment(port)}


class Tape:
    """The cassette of a session, put in anew for each turn of its engine, and running on from where it was."""

    def __init__(self, file: Path, repository: Path) -> None:
        self._file = file
        self._repository = repository
        self._cassette: Cassette | None = None

    def cassette(self, environ: Mapping[str, str]) -> Cassette:
        """Played where the file is there when the session begins, recorded where it is not."""
        from trueup.harness.proxy import Cassette

        if self._cassette is None:
            places = {str(self._repository): "repository", environ.get("HOME", "/"): "home"}
            make = Cassette.replay if self._file.exists() else Cassette.record
            self._cassette = make(self._file, places)
        return self._cassette


def chosen_network(asked: AgentNetwork | None, engine: Engine, *, confined: bool) -> AgentNetwork:
    """What an engine is given where nobody said: none, unless it calls a vendor."""
    if not confined:
        return AgentNetwork.HOST
    return asked or (AgentNetwork.PROXY if engine.vendor is not None else AgentNetwork.NONE)


@asynccontextmanager
async def way_out(
    engine: Engine,
    network: AgentNetwork,
    environ: Mapping[str, str],
    folder: Path,
    meter: Meter,
    tape: Tape | None = None,
    *,
    user_config: bool = False,
) -> AsyncIterator[Way]:
    """The way out of an engine for one turn; in the end its login goes back to the user if it was renewed."""
    if engine.vendor is None or network is AgentNetwork.NONE:
        yield Way(network=network is AgentNetwork.HOST)
        return
    async with _carried(engine, environ, user_config=user_config) as login:
        if network is AgentNetwork.HOST:
            yield Way(network=True, writable=login, env=engine.vendor.variables(environ))
            return
        async with _proxy(engine.vendor, environ, folder, meter, tape) as proxy:
            net = {str(folder / "net"): SOCKET_FOLDER}
            yield Way(writable={**login, **net}, proxy=proxy)


@asynccontextmanager
async def _carried(
    engine: Engine, environ: Mapping[str, str], *, user_config: bool
) -> AsyncIterator[Mapping[str, str]]:
    """The engine's own login, if it has one and no key stands in for it, and what the user set up for it if wanted."""
    vendor, file = engine.vendor, engine.login
    has_key = vendor is not None and vendor.key(environ) is not None
    if file is None or (has_key and not user_config):
        yield {}
        return
    login = CarriedLogin(file, environ, data_folder(environ) / "agents" / file.harness)
    await asyncio.to_thread(login.fetch)
    await asyncio.to_thread(login.configure, as_the_user=user_config)
    try:
        yield {str(login.folder): str(Path(environ.get("HOME", "/"), file.folder))}
    finally:
        await asyncio.to_thread(login.give_back)


@asynccontextmanager
async def _proxy(
    vendor: Vendor, environ: Mapping[str, str], folder: Path, meter: Meter, tape: Tape | None
) -> AsyncIterator[Proxy]:
    from trueup.harness.proxy import Allowed, Proxy, Upstream

    net = folder / "net"
    await asyncio.to_thread(net.mkdir, mode=0o700, exist_ok=True)
    key = vendor.key(environ)
    make = {"anthropic": Upstream.anthropic, "openai": Upstream.openai}[vendor.name]
    upstream = make(key, vendor.base_url(environ))
    # A login is renewed at other hosts than the API's.
    allowed = [] if key else [Allowed(host) for host in vendor.login_hosts]
    cassette = None if tape is None else await asyncio.to_thread(tape.cassette, environ)
    with _short(net) as folder_at:
        socket = folder_at / SOCKET
        async with Proxy(
            [upstream], meter, socket=socket, allowed=allowed, price=estimated_cost, cassette=cassette
        ) as proxy:
            yield proxy


@contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """A folder by a path that is short enough for a socket, however deep it lies."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
