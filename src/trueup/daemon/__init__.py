"""The wire: any program connects, declares its tools, submits what it wants to do, and leaves a trace.

A `Daemon` is what connections share: the store, the runs that go on, the tokens. A `Connection` is one client, whatever
it came by: an iterator of frames in, a function that sends frames out. It has its own tools, policies and state; runs
belong to the daemon, are written by the connection that owns them, and outlive it by a grace in which `runs.resume`
takes them over. `listen` puts a WebSocket before it, and `connect` is for programs at the other end.

The messages of a connection are taken in order. A method is finished before the next message is looked at, except for
those that wait for the client itself or read much: they begin in their turn, and what follows does not wait for them
(`_method.py`). So `tools.register` and a `proposal.submit` that needs the tools can be sent back to back, and the
answers to a proposal's callbacks are heard while it goes on. A client that does not take its answers is not read from;
one that asks for too much at once is refused.

What is recorded on disk is the business of `runs`, what a session does that of `coder`, what is allowed that of
`policy`; the proposals themselves are worked out in `_proposals`, which knows no wire.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._connection import Connection
from ._daemon import Daemon
from ._errors import Code, RpcError
from ._method import Call, Level, Method, all_methods, method
from ._methods._discover import describe
from ._serve import DEFAULT_PORT, Listening, ServeOptions, listen, serve, token_folder
from ._tokens import Tokens, keep_tokens

if TYPE_CHECKING:
    from ._client import ActionError, Client, ConnectionLostError, Run, ToolError, TraceEvent, connect
    from ._front import Admit, Pages
    from ._methods._runs import RequestedToolCall, RunTurn, TokenUsage
    from ._proposals import (
        ActionResult,
        AssertionAction,
        Proposal,
        ProposalResult,
        StateReadAction,
        StateWriteAction,
        ToolCallAction,
        Verification,
    )
    from ._proposals._model import Expectation, Key, KeyAndValue
    from .coding import CoderStart

# Loaded when they are wanted: a daemon needs no client, and must be up at once.
_HOMES = {
    "ActionError": "_client",
    "ActionResult": "_proposals",
    "Admit": "_front",
    "AssertionAction": "_proposals",
    "Client": "_client",
    "CoderStart": "coding",
    "ConnectionLostError": "_client",
    "Expectation": "_proposals._model",
    "Key": "_proposals._model",
    "KeyAndValue": "_proposals._model",
    "Pages": "_front",
    "Proposal": "_proposals",
    "ProposalResult": "_proposals",
    "RequestedToolCall": "_methods._runs",
    "Run": "_client",
    "RunTurn": "_methods._runs",
    "StateReadAction": "_proposals",
    "StateWriteAction": "_proposals",
    "TokenUsage": "_methods._runs",
    "ToolCallAction": "_proposals",
    "ToolError": "_client",
    "TraceEvent": "_client",
    "Verification": "_proposals",
    "connect": "_client",
}

__all__ = [
    "DEFAULT_PORT",
    "ActionError",
    "ActionResult",
    "Admit",
    "AssertionAction",
    "Call",
    "Client",
    "Code",
    "CoderStart",
    "Connection",
    "ConnectionLostError",
    "Daemon",
    "Expectation",
    "Key",
    "KeyAndValue",
    "Level",
    "Listening",
    "Method",
    "Pages",
    "Proposal",
    "ProposalResult",
    "RequestedToolCall",
    "RpcError",
    "Run",
    "RunTurn",
    "ServeOptions",
    "StateReadAction",
    "StateWriteAction",
    "TokenUsage",
    "Tokens",
    "ToolCallAction",
    "ToolError",
    "TraceEvent",
    "Verification",
    "all_methods",
    "connect",
    "describe",
    "keep_tokens",
    "listen",
    "method",
    "serve",
    "token_folder",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
