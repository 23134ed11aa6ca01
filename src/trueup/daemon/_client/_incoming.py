"""What the daemon says of its own accord: tools to run, and news of what is followed."""

from __future__ import annotations

from typing import Any

from .._jsonrpc import Request
from ._errors import ConnectionLostError
from ._following import Inboxes
from ._link import Send, decoded
from ._tools import ToolBox


class Incoming:
    """The `Hearer` of a client."""

    def __init__(self) -> None:
        self.toolbox = ToolBox()
        self.inboxes = Inboxes()

    def asked(self, request: Request, send: Send) -> None:
        """Answer."""
        self.toolbox.begin(request, send)

    def told(self, notice: Request) -> None:
        """Let whoever is concerned know."""
        if notice.method == "tools.cancel":
            cancelled = decoded(notice.params, dict[str, Any], notice.method)
            self.toolbox.cancel(str(cancelled.get("request_id")))
        else:
            self.inboxes.deliver(notice)

    def lost(self, error: ConnectionLostError) -> None:
        """End what cannot go on without a daemon."""
        self.toolbox.close()
        self.inboxes.lose(error)
