"""`trueup mcp`"""

from __future__ import annotations

import click

from trueup.core.errors import InputError

from ._shared import run_async


@click.command()
def command() -> None:
    """Serve trueup's tools to an interactive agent, over MCP on stdin and stdout.

    The agent starts this by itself, once it is told to. What its tools can show, outside of trueup's sandbox, each of
    them says; agreeing to a contract and approving a change stay with you.

    \b
    Examples:
      claude mcp add trueup -- trueup mcp
      codex mcp add trueup -- trueup mcp
    """
    try:
        from trueup.mcp import serve
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise InputError("the MCP SDK is not installed; pip install 'trueup[mcp]'") from None
    run_async(serve())
