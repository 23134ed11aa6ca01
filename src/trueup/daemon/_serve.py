"""A daemon from its first connection to its end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trueup.core.settings import user_settings
from trueup.core.trust import data_folder
from trueup.runs import RunStore, live_export

from ._daemon import Daemon
from ._method import all_methods
from ._retention import remove_old_runs
from ._tokens import HUMAN_TOKEN_FILE, TOKEN_FILE, keep_tokens

if TYPE_CHECKING:
    from trueup.policy import AnyPolicy

    from ._front import Front, Pages

DEFAULT_PORT = 9100


class ServeOptions(Struct, frozen=True, kw_only=True):
    """How a daemon is wanted."""

    port: int = DEFAULT_PORT
    auth: bool = True
    database_url: str | None = None
    otlp_endpoint: str | None = None


class Listening(Struct, frozen=True):
    """Where a daemon is, and where the secrets are that let a client in; None where it needs none.

    `page` is an address that lets a person see its pages, once; None where it has none.
    """

    url: str
    port: int
    token_file: str | None
    human_token_file: str | None
    page: str | None = None


async def serve(
    options: ServeOptions,
    told: Callable[[Listening], None],
    warned: Callable[[str], None],
    pages: Callable[[Daemon], Pages] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until this is cancelled; tell where, once clients can come."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with _opened(options, warned) as (daemon, folder), listen(daemon, options.port, pages) as front:
        told(_where(front, folder))
        # What is only loaded when it is asked for should not be waited for then, nor when the daemon ends.
        threading.Thread(target=all_methods, daemon=True).start()
        await stopped.wait()


def token_folder() -> Path:
    """Where the tokens of this user's daemons are."""
    return data_folder() / "daemon"


@asynccontextmanager
async def _opened(options: ServeOptions, warned: Callable[[str], None]) -> AsyncIterator[tuple[Daemon, Path | None]]:
    """A daemon with its store, before anybody can reach it."""
    folder = token_folder() if options.auth else None
    tokens = None if folder is None else await asyncio.to_thread(keep_tokens, folder)
    policies = await asyncio.to_thread(_repository_policies)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await RunStore.open(options.database_url))
        if options.otlp_endpoint is not None:
            await stack.enter_async_context(live_export(store, options.otlp_endpoint, tell=warned))
        days = user_settings().keep_runs_days
        if days is not None:
            tidying = asyncio.create_task(remove_old_runs(store, days, warned))
            stack.callback(tidying.cancel)
        daemon = Daemon(store, tokens=tokens, token_folder=folder, policies=policies, database_url=options.database_url)
        yield await stack.enter_async_context(daemon), folder


def _repository_policies() -> Sequence[AnyPolicy]:
    """What the repository that the daemon was started in asks of every client."""
    from trueup.policy import policy_file, read_policies

    file = policy_file(Path.cwd())
    return () if file is None else read_policies(file)


@asynccontextmanager
async def listen(daemon: Daemon, port: int = 0, pages: Callable[[Daemon], Pages] | None = None) -> AsyncIterator[Front]:
    """Take connections at a port of this machine, or at any free one, until the block ends."""
    # Here, so that whoever only needs a part of this room does not load a web server.
    from ._front import Front

    async with Front(daemon, None if pages is None else pages(daemon)).listening(port) as front:
        daemon.page_link = lambda: front.page_link
        yield front


def _where(front: Front, folder: Path | None) -> Listening:
    if folder is None:
        return Listening(front.url, front.port, None, None, front.page_link)
    return Listening(front.url, front.port, str(folder / TOKEN_FILE), str(folder / HUMAN_TOKEN_FILE), front.page_link)
