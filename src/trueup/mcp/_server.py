"""The tools as the official SDK serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from trueup import __version__
from trueup.core.errors import TrueupError
from trueup.daemon.coding import Coding
from trueup.runs import RunStore

from ._desk import Desk, Ending

INSTRUCTIONS = """\
trueup finds out whether work is done by running commands, never by reading claims.

What an answer is worth: contract_check judges a working tree in a pristine checkout, with the base's own tests, where
your processes do not reach. But you run as the user, outside of trueup's sandbox: whatever the user can change, you
can, trueup and its settings included. A verdict from here is evidence for you; it is not proof to anybody else. Proof
comes from a session (session_start), in which an agent works confined and a person agrees to the contract and approves
the change. Agreeing and approving have no tool: tell the user to run `trueup code approve ID`.
"""


async def serve(database_url: str | None = None) -> None:
    """Serve one agent on stdin and stdout, until it leaves."""
    async with _desk(database_url) as desk:
        await _server(desk).run_stdio_async()


@asynccontextmanager
async def _desk(database_url: str | None) -> AsyncIterator[Desk]:
    async with await RunStore.open(database_url) as store, Coding(store, database_url) as coding:
        desk = Desk(store, coding)
        try:
            yield desk
        finally:
            await desk.leave()


@contextmanager
def _told() -> Iterator[None]:
    """What went wrong goes to the agent as the answer of its tool."""
    try:
        yield
    except TrueupError as error:
        raise ToolError(str(error)) from error


def _server(desk: Desk) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("trueup", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")

    @server.tool()
    async def contract_derive(intent: str, repo: str) -> dict[str, Any]:
        """Propose an outcome contract: the commands that define done for an intent in a repository.

        It is a proposal. Its notes say which checks show little; whether they gate anything at all is found out by
        contract_check, which runs them on the untouched base first.
        """
        with _told():
            return await desk.derive_contract(intent, repo)

    @server.tool()
    async def contract_check(
        repo: str, contract: dict[str, Any] | None = None, base: str | None = None
    ) -> dict[str, Any]:
        """Find out whether the working tree of a repository is done, by running the contract's checks.

        Without a contract, that of the base's trueup.yaml is meant; `base` is the commit that the change starts from.
        Checks run on the base and on the change, in pristine sandboxed checkouts with the base's tests and
        configuration. The outcome is `verified`, `refused` or `unproven`, with reasons and findings. You work outside
        of the sandbox, and may have chosen the contract yourself: it is evidence for you, not proof to others.
        """
        with _told():
            return await desk.check(repo, contract, base)

    @server.tool()
    async def session_start(
        intent: str, repo: str, contract: dict[str, Any] | None = None, engine: str | None = None
    ) -> dict[str, Any]:
        """Begin a verified-work session: an engine works confined, trueup verifies, a person approves.

        It stops at the proposed contract. Nobody works before the user has agreed with `trueup code approve ID`, and
        nothing is merged before they approve the verified change in the same way.
        """
        with _told():
            return await desk.start_session(intent, repo, contract, engine)

    @server.tool()
    async def session_status(session_id: str) -> dict[str, Any]:
        """Tell how a session stands: its state, contract, attempts, verdict, and what it needs from the user."""
        with _told():
            return await desk.session(session_id)

    @server.tool()
    async def run_record(
        intent: str = "",
        run_id: str = "",
        turns: list[dict[str, Any]] | None = None,
        end: Ending | None = None,
        summary: str = "",
    ) -> dict[str, Any]:
        """Record your own work durably: begin a run (leave run_id empty), add turns to it, end it.

        A turn is {prompt?, tool?, parameters?, output?}. What is recorded is what you say, numbered and chained so
        that later changes are found; that it happened is not shown by it. The user reads it with `trueup runs show`.
        """
        with _told():
            return await desk.record(intent, run_id, turns or [], end, summary)

    return server
