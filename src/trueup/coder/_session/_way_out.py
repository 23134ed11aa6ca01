"""How an engine reaches its vendor: not at all, as the user does, or through trueup's proxy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.errors import InputError, Kind
from trueup.core.files import remove_tree
from trueup.core.protocols import Event, Launcher
from trueup.core.trust import data_folder
from trueup.harness import CarriedLogin, Engine, LoginFile, Vendor
from trueup.model import estimated_cost

from .._steps import Step
from ._meter import Meter
from ._request import AgentNetwork
from .events import ErrorHappened

if TYPE_CHECKING:
    from trueup.harness.proxy import Cassette, Proxy, Upstream

SOCKET_FOLDER = "/run/trueup/net"
SOCKET = "proxy.sock"
HOSTS_SHOWN = 5


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
        self._told = (0, 0)

    def cassette(self, environ: Mapping[str, str]) -> Cassette:
        """Played where the file is there when the session begins, recorded where it is not."""
        from trueup.harness.proxy import Cassette

        if self._cassette is None:
            places = {str(self._repository): "repository", environ.get("HOME", "/"): "home"}
            make = Cassette.replay if self._file.exists() else Cassette.record
            self._cassette = make(self._file, places)
        return self._cassette

    def news(self) -> list[Event]:
        """What a person should know of the cassette that they were not told yet."""
        if self._cassette is None:
            return []
        misses, withheld = self._cassette.misses[self._told[0] :], self._cassette.withheld - self._told[1]
        self._told = len(self._cassette.misses), self._cassette.withheld
        told: list[Event] = []
        if misses:
            others = f" (and {len(misses) - 1} more)" if len(misses) > 1 else ""
            told.append(ErrorHappened(f"{misses[0]}{others}", Kind.PROTOCOL.value))
        if withheld:
            what = f"cassette {self._file}: answers that were not recorded, since they may hold a secret: {withheld}"
            told.append(ErrorHappened(f"{what}; played again, they will be missing", Kind.OTHER.value))
        return told


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
    key = await asyncio.to_thread(_key, engine.vendor, engine.login, environ)
    async with _carried(engine.login, environ, by_key=key is not None, user_config=user_config) as login:
        if network is AgentNetwork.HOST:
            yield Way(network=True, writable=login, env=_variables(engine.vendor, environ, key))
            return
        async with _socket_folder(folder) as net, _proxy(engine.vendor, key, environ, net, meter, tape) as proxy:
            yield Way(writable={**login, str(net): SOCKET_FOLDER}, proxy=proxy)


class Key(Struct, frozen=True):
    """A key of the person's, and the variable by which agents know one of its kind."""

    secret: str
    variable: str

    def __repr__(self) -> str:
        return f"Key([redacted], {self.variable!r})"


def _key(vendor: Vendor, file: LoginFile | None, environ: Mapping[str, str]) -> Key | None:
    """The person's key: from their environment, or the one that they logged the agent in with."""
    variable = vendor.key_variable(environ)
    if variable is not None:
        return Key(environ[variable], variable)
    stored = None if file is None else file.stored_key(environ)
    return None if stored is None else Key(stored, vendor.key_variables[-1])


def _variables(vendor: Vendor, environ: Mapping[str, str], key: Key | None) -> dict[str, str]:
    """What an agent needs to be told that calls its vendor by itself."""
    return vendor.variables(environ) | ({} if key is None else {key.variable: key.secret})


@asynccontextmanager
async def _carried(
    file: LoginFile | None, environ: Mapping[str, str], *, by_key: bool, user_config: bool
) -> AsyncIterator[Mapping[str, str]]:
    """An engine's own login, if it has one and no key stands in for it, and what the user set up for it if wanted."""
    if file is None or (by_key and not user_config):
        yield {}
        return
    # With a key there is no login in the folder, and so none to be seen.
    name = f"{file.harness}-by-key" if by_key else file.harness
    login = CarriedLogin(file, environ, data_folder(environ) / "agents" / name)
    if not by_key:
        await asyncio.to_thread(login.fetch)
    await asyncio.to_thread(login.configure, as_the_user=user_config)
    try:
        yield {str(login.folder): str(Path(environ.get("HOME", "/"), file.folder))}
    finally:
        if not by_key:
            await asyncio.to_thread(login.give_back)


@asynccontextmanager
async def _socket_folder(folder: Path) -> AsyncIterator[Path]:
    """A folder for the proxy's socket, new for each turn: an agent can leave anything in it."""
    made = await asyncio.to_thread(mkdtemp, prefix="net-", dir=folder)
    try:
        yield Path(made)
    finally:
        with suppress(OSError):
            await asyncio.to_thread(remove_tree, Path(made))


@asynccontextmanager
async def _proxy(
    vendor: Vendor, key: Key | None, environ: Mapping[str, str], net: Path, meter: Meter, tape: Tape | None
) -> AsyncIterator[Proxy]:
    from trueup.harness.proxy import Allowed, Proxy

    # A login is renewed at other hosts than the API's.
    allowed = [] if key else [Allowed(host) for host in vendor.login_hosts]
    cassette = None if tape is None else await asyncio.to_thread(tape.cassette, environ)
    with _short(net) as folder_at:
        async with Proxy(
            [_upstream(vendor, key, environ)],
            meter,
            socket=folder_at / SOCKET,
            allowed=allowed,
            admit=meter.admit,
            price=estimated_cost,
            cassette=cassette,
            # Where the person reaches the vendor through a proxy of theirs, so does this one.
            trust_env=True,
        ) as proxy:
            yield proxy
    for event in (*_turned_away(proxy), *(tape.news() if tape is not None else ())):
        await meter.record(event)


def _turned_away(proxy: Proxy) -> list[Event]:
    """What the agent wanted to reach and nobody allowed."""
    if not proxy.refused:
        return []
    most = [f"{host} ({count} times)" if count > 1 else host for host, count in proxy.refused.most_common(HOSTS_SHOWN)]
    others = len(proxy.refused) - len(most)
    more = [f"{others} more"] if others else []
    return [Step(f"not on the list of hosts, and so not reached by the engine: {', '.join([*most, *more])}")]


def _upstream(vendor: Vendor, key: Key | None, environ: Mapping[str, str]) -> Upstream:
    from trueup.harness.proxy import Upstream

    secret, base_url = key.secret if key else None, vendor.base_url(environ, by_key=key is not None)
    known = {"anthropic": Upstream.anthropic, "openai": Upstream.openai, "gemini": Upstream.gemini}
    if not vendor.base_url_variables:
        why = f"{vendor.name} is called at its own address alone, so trueup's proxy cannot stand between"
        raise InputError(f"{why}: choose `--agent-network host`, which is not metered")
    if vendor.name not in known:
        variables = (vendor.base_url_variables[0], vendor.key_variables[0])
        return Upstream(name=vendor.name, base_url=base_url, key=secret, variables=variables)
    upstream = known[vendor.name](secret, base_url)
    if key is None or upstream.variables is None:
        return upstream
    # A token is sent in another header than a key, and an agent that has one knows how to use it.
    header = "Authorization" if key.variable.endswith("_TOKEN") else upstream.key_header
    return replace(upstream, key_header=header, variables=(upstream.variables[0], key.variable))


@contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """A folder by a path that is short enough for a socket, however deep it lies."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
