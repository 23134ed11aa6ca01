"""Programs that talk to a daemon: `async with connect() as client`.

A `Link` is JSON-RPC over one socket, in both directions. A `Client` says what can be asked over it, with the types that
the daemon decodes and encodes by. What the daemon asks back is answered by the functions that were made tools; what it
tells is put where somebody waits for it.

A link that was lost stays lost: whatever waits raises a `ConnectionLostError`, and whoever wants to go on connects again
and resumes the run.
"""

from ._client import Client
from ._connect import URL_VARIABLE, connect
from ._errors import ActionError, ConnectionLostError, ToolError
from ._runs import Run, TraceEvent

__all__ = [
    "URL_VARIABLE",
    "ActionError",
    "Client",
    "ConnectionLostError",
    "Run",
    "ToolError",
    "TraceEvent",
    "connect",
]
