"""`trueup pages`"""

from __future__ import annotations

import webbrowser

import click

from trueup.daemon import connect

from ._main import tell
from ._shared import json_option, run_async, show


@click.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of the daemon on this machine; default: where TRUEUP_DAEMON_URL says, else the usual one.",
)
@click.option("--open", "opened", is_flag=True, help="Open it in your browser, too.")
@json_option
def command(port: int | None, opened: bool, as_json: bool) -> None:
    """Print a link to the pages of the daemon that runs; it lets in the browser that opens it first.

    Its name ends in `.localhost`, which keeps the cookie from whatever else listens on this machine. A browser that does
    not know such names finds the page at 127.0.0.1 in its place.

    \b
    Example:
      trueup pages --open
    """
    url = run_async(_link(port))
    show({"url": url}, url, as_json=as_json)
    if opened and not webbrowser.open(url):
        tell("there is no browser that could be opened; open the link by hand")


async def _link(port: int | None) -> str:
    async with connect(f"ws://127.0.0.1:{port}/" if port else None, human=True) as client:
        answer = await client.call("server.page_link")
    link: str = answer["url"]
    return link
