"""`trueup serve`"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import click
import msgspec

from trueup.core.text import visible
from trueup.daemon import DEFAULT_PORT, Daemon, Listening, Pages, ServeOptions, serve

from ._database import named_database
from ._main import tell
from ._shared import json_option


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of 127.0.0.1 to listen at; 0 takes a free one.",
)
@click.option("--no-auth", is_flag=True, help="Let in every program of this machine, as if it were you.")
@click.option("--database-url", metavar="URL", help="Where runs are kept: sqlite:///PATH or postgresql://….")
@click.option(
    "--otlp-endpoint", metavar="URL", help="Also send what is recorded to this collector, as OpenTelemetry traces."
)
@json_option
def command(port: int, no_auth: bool, database_url: str | None, otlp_endpoint: str | None, as_json: bool) -> None:
    """Serve tools, policies, proposals, runs and sessions: to programs by JSON-RPC over a WebSocket, to you as pages.

    Prints where it listens, where the tokens are that let a program in, and a link that lets a browser in once. One
    token is for programs; the other is for you alone: with it, contracts are confirmed and merges approved. Ends on SIGTERM or Ctrl-C: what was begun is
    written down, and runs that are open end as `incomplete`.

    \b
    Examples:
      trueup serve
      trueup serve --port 0 --no-auth --json
      trueup serve --database-url postgresql://trueup@localhost/runs
    """
    options = ServeOptions(port=port, auth=not no_auth, database_url=database_url, otlp_endpoint=otlp_endpoint)

    def told(where: Listening) -> None:
        # One line, and at once: whoever started this may wait for it at the other end of a pipe.
        click.echo(msgspec.json.encode(where) if as_json else visible(_text(where)))

    _run(serve(options, told, warned=tell, pages=_pages))
    tell(f"stopped; what was recorded is in {named_database(database_url)}")


def _pages(daemon: Daemon) -> Pages:
    # Here, because nobody waits for templates before the daemon is up.
    from trueup.web import pages

    return pages(daemon)


def _text(where: Listening) -> str:
    if where.token_file is None:
        return f"listening at {where.url}, for every program of this machine (--no-auth)\npages: {where.page}"
    lines = [f"listening at {where.url}", f"token for programs: {where.token_file}"]
    lines += [f"token for you: {where.human_token_file}", f"pages, for the one who opens this first: {where.page}"]
    return "\n".join(lines)


def _run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        # Only quicker, and not there for every platform.
        return None
    return uvloop.new_event_loop
