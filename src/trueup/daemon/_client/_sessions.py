"""Coder sessions from a program: begun, agreed to, watched and ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from trueup.coder import Deliver, State
from trueup.contract import Contract
from trueup.core.errors import TrueupError

from .._methods import _coder as wire
from .._methods._coder_watch import SubscribedToSession, SubscribeToSession
from ..coding import CoderStart, SessionRow, SessionView
from ._following import Inboxes

if TYPE_CHECKING:
    from ._client import Client


class Sessions:
    """What can be done with sessions. Only a client that is the human's may confirm and approve."""

    def __init__(self, client: Client, inboxes: Inboxes) -> None:
        self._client = client
        self._inboxes = inboxes

    async def start(self, asked: CoderStart) -> SessionView:
        """Begin a session; it waits for its contract to be agreed to."""
        return await self._client.call("coder.start", asked, SessionView)

    async def get(self, session_id: str) -> SessionView:
        """A session with everything that is known of it."""
        return await self._client.call("coder.get", wire.OneSession(session_id), SessionView)

    async def list(self) -> list[SessionRow]:
        """Every session, newest first."""
        return (await self._client.call("coder.list", {}, wire.SessionList)).sessions

    async def confirm(self, session_id: str, contract: Contract | None = None) -> SessionView:
        """Agree to the contract of a session, or to another one in its place, and let the engine work."""
        asked = wire.ConfirmContract(session_id, contract)
        return await self._client.call("coder.confirm_contract", asked, SessionView)

    async def revise(self, session_id: str, request: str) -> wire.Revised:
        """Have a proposed contract written anew."""
        asked = wire.ReviseContract(session_id, request)
        return await self._client.call("coder.revise_contract", asked, wire.Revised)

    async def approve(self, session_id: str, *, deliver: Deliver | None = None) -> wire.Delivered:
        """Have a verified change delivered."""
        asked = wire.ApproveMerge(session_id, True, deliver)
        return await self._client.call("coder.approve_merge", asked, wire.Delivered)

    async def discard(self, session_id: str) -> wire.Delivered:
        """Have a verified change thrown away."""
        return await self._client.call("coder.approve_merge", wire.ApproveMerge(session_id, False), wire.Delivered)

    async def cancel(self, session_id: str, reason: str | None = None) -> wire.Cancelled:
        """Give a session up, having stopped whoever works on it."""
        return await self._client.call("coder.cancel", wire.CancelSession(session_id, reason), wire.Cancelled)

    async def respond(self, session_id: str, text: str) -> wire.Heard:
        """Say something to a session: what its contract or its change lacks, or a word for the next prompt."""
        return await self._client.call("coder.respond", wire.Respond(session_id, text), wire.Heard)

    async def resume(self, session_id: str) -> SessionView:
        """Go on with a session that was left in the middle."""
        return await self._client.call("coder.resume", wire.OneSession(session_id), SessionView)

    async def diff(self, session_id: str) -> str:
        """The latest change of a session, as a patch."""
        return (await self._client.call("coder.diff", wire.OneSession(session_id), wire.Diff)).diff

    async def events(self, session_id: str, *, from_seq: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Every event of a session, once and in order, until it has ended; as `trueup code --json` prints them."""
        whole_id = (await self.get(session_id)).session_id
        with self._inboxes.open("session_id", whole_id) as inbox:
            try:
                while True:
                    inbox.renew()
                    asked = SubscribeToSession(whole_id, from_seq)
                    found = await self._client.call("coder.subscribe", asked, SubscribedToSession)
                    # What comes after the event that ends a session is only the end of its record.
                    if not found.live and found.events_replayed <= 1:
                        return
                    event: dict[str, Any] | None
                    while (event := await inbox.next(dict[str, Any])) is not None:
                        from_seq = event["seq"] + 1
                        yield event
                        if event["type"] == "state_changed" and State(event["state"]).is_final:
                            return
                    # What is still on its way must not be taken for what the next subscription brings.
                    await self._unsubscribe(whole_id)
            finally:
                with suppress(TrueupError):
                    await self._unsubscribe(whole_id)

    async def _unsubscribe(self, session_id: str) -> None:
        await self._client.call("coder.unsubscribe", wire.OneSession(session_id))
