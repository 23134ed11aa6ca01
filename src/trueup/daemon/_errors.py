"""Errors as the wire has them: a code for programs, a sentence for people."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from trueup.core.errors import Kind, TrueupError


class Code(IntEnum):
    """What a client can tell apart without reading the message. Those from -32010 on are trueup's own."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    UNKNOWN_METHOD = -32601
    INVALID_PARAMS = -32602
    FAILED = -32603
    AUTH_REQUIRED = -32001
    APPROVAL_DENIED = -32003
    DEADLINE_EXCEEDED = -32004
    HANDSHAKE_REQUIRED = -32005
    VERSION_MISMATCH = -32006
    CAPABILITY_MISMATCH = -32008
    RUN_NOT_FOUND = -32010
    RUN_ENDED = -32011
    RUN_OF_ANOTHER = -32012
    BUSY = -32013
    FRAME_TOO_LARGE = -32014


class RpcError(TrueupError):
    """A request that is refused or failed, as its sender is told. With `hang_up` the connection ends after that."""

    def __init__(self, code: Code, message: str, data: Any = None, *, hang_up: bool = False) -> None:
        super().__init__(message, kind=Kind.PROTOCOL)
        self.code = code
        self.data = data
        self.hang_up = hang_up


def as_rpc_error(error: Exception) -> RpcError:
    """What the sender of a request is told of whatever went wrong with it."""
    match error:
        case RpcError():
            return error
        case TrueupError():
            code = Code.DEADLINE_EXCEEDED if error.kind is Kind.TIMEOUT else Code.FAILED
            return RpcError(code, str(error), {"kind": error.kind.value})
        case RecursionError():
            return RpcError(Code.FAILED, "nested too deeply to be worked with; send something flatter")
        case UnicodeEncodeError():
            # Outputs keep it; names cannot have it.
            said = f"invalid params: {error.object!a} has half of a surrogate pair, which is no text"
            return RpcError(Code.INVALID_PARAMS, said)
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return RpcError(Code.FAILED, f"{said} (this is a mistake in trueup, please report it)", {"kind": Kind.OTHER.value})
