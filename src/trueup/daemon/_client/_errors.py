"""What a program that talks to a daemon can run into. What the daemon itself refuses is an `RpcError`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError

from .._errors import Code, RpcError
from .._proposals import ActionResult

_KINDS = {
    Code.INVALID_PARAMS: Kind.INPUT,
    Code.AUTH_REQUIRED: Kind.AUTH,
    Code.APPROVAL_DENIED: Kind.REFUSED,
    Code.DEADLINE_EXCEEDED: Kind.TIMEOUT,
    Code.BUSY: Kind.OVERLOADED,
    Code.FRAME_TOO_LARGE: Kind.INPUT_TOO_LARGE,
}


class ConnectionLostError(TrueupError):
    """The daemon is gone, or hung up. What was asked may have happened all the same."""

    kind = Kind.NETWORK

    def __init__(self, url: str, why: str) -> None:
        said = f"the connection to the daemon at {url} was lost" + (f": {why}" if why else "")
        super().__init__(f"{said}; connect again, and go on with an open run by client.resume(run_id)")


class ToolError(TrueupError):
    """Raised by a tool that could not do what it was asked; where it is `terminal`, nobody tries again."""

    def __init__(self, message: str, *, terminal: bool = False) -> None:
        super().__init__(message)
        self.terminal = terminal


class ActionError(TrueupError):
    """An action that was refused, failed or was skipped; `result` says what became of it."""

    def __init__(self, tool: str, result: ActionResult) -> None:
        kind = Kind.REFUSED if result.status == "rejected" else Kind.OTHER
        super().__init__(f"tool '{tool}' {result.status}: {result.error or 'no reason was given'}", kind=kind)
        self.result = result


class ErrorBody(Struct, frozen=True):
    """An error as it comes over the wire."""

    code: int = int(Code.FAILED)
    message: str = "the daemon gave no reason"
    data: Any = None


def as_error(body: ErrorBody) -> RpcError:
    """An error of the daemon's, as one of this program. A code that only a newer daemon knows is a plain failure."""
    known = body.code in Code._value2member_map_
    error = RpcError(Code(body.code) if known else Code.FAILED, body.message, body.data)
    error.kind = _kind(error)
    return error


def _kind(error: RpcError) -> Kind:
    named = error.data.get("kind") if isinstance(error.data, dict) else None
    if isinstance(named, str) and named in Kind._value2member_map_:
        return Kind(named)
    return _KINDS.get(error.code, Kind.PROTOCOL)
