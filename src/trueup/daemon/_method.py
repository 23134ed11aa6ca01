"""The registry of methods: importing a module of `_methods` registers what it defines.

    @method("runs.start")
    async def start(call: Call, params: StartRun) -> RunStarted:
        ...

Both types are msgspec's: they decode the parameters, and describe the method in `rpc.discover`. The messages of one
connection are taken in order. A method is finished before the next message is looked at, so that a client may send
`tools.register` and what needs the tools back to back; one that is registered with `aside=True` begins in its turn too,
and what follows does not wait for it. Whatever waits for the client itself, or for long, must be aside.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable
from enum import IntEnum
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from ._errors import Code, RpcError
from ._jsonrpc import Id

if TYPE_CHECKING:
    from ._connection import Connection
    from ._daemon import Daemon

Handler = Callable[["Call", Any], Awaitable[Any]]

# The modules of `_methods` by the first word of a method. Loaded when they are needed, so that a daemon is up at once.
HOMES = {
    "session": ("_session",),
    "server": ("_session",),
    "tools": ("_tools",),
    "policy": ("_policy",),
    "state": ("_state",),
    "verify": ("_proposal",),
    "proposal": ("_proposal",),
    "runs": ("_runs", "_traces"),
    "coder": ("_coder", "_coder_watch"),
    "rpc": ("_discover",),
}


class Level(IntEnum):
    """What a client has shown: nothing, the token of the daemon, or that of the human who may confirm and approve."""

    NOTHING = 0
    TOKEN = 1
    HUMAN = 2


class Call:
    """One request on its way through a method."""

    __slots__ = ("afterwards", "connection", "id")

    def __init__(self, connection: Connection, request_id: Id) -> None:
        self.connection = connection
        self.id = request_id
        # What must not happen before the answer has gone out.
        self.afterwards: Callable[[], None] | None = None

    @property
    def daemon(self) -> Daemon:
        """What all connections share."""
        return self.connection.daemon


class Method:
    """A method by its name: what it takes and gives, and who may call it."""

    def __init__(self, name: str, handler: Handler, needs: Level, aside: bool) -> None:
        self.name = name
        self.handler = handler
        self.needs = needs
        self.aside = aside

    @property
    def summary(self) -> str:
        """What it is for, in a line."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        """What else there is to know."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[2].strip()

    @cached_property
    def _types(self) -> tuple[Any, Any]:
        hints = typing.get_type_hints(self.handler, include_extras=True)
        result = hints.pop("return")
        _, params = hints.values()
        return params, result

    @property
    def params_type(self) -> Any:
        """What the parameters decode into."""
        return self._types[0]

    @property
    def result_type(self) -> Any:
        """What the result is."""
        return self._types[1]

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.params_type)

    def decode(self, params: Any) -> Any:
        """The parameters, typed; an `RpcError` that says where they are wrong."""
        try:
            if isinstance(params, Raw):
                # A client that has nothing to say may say so.
                return self._decoder.decode(params if bytes(params) != b"null" else b"{}")
            return msgspec.convert({} if params is UNSET or params is None else params, self.params_type)
        except msgspec.ValidationError as error:
            raise RpcError(Code.INVALID_PARAMS, f"invalid params: {error}") from None
        except (ValueError, RecursionError) as error:
            raise RpcError(Code.INVALID_PARAMS, f"invalid params: they cannot be read: {error}") from None


_methods: dict[str, Method] = {}


def method(name: str, *, needs: Level = Level.TOKEN, aside: bool = False) -> Callable[[Handler], Handler]:
    """Register a function as a method of the wire."""

    def register(handler: Handler) -> Handler:
        _methods[name] = Method(name, handler, needs, aside)
        return handler

    return register


def find_method(name: str) -> Method:
    """A method by its name."""
    if name not in _methods:
        _load(HOMES.get(name.partition(".")[0], ()))
    try:
        return _methods[name]
    except KeyError:
        raise RpcError(Code.UNKNOWN_METHOD, f"unknown method: {name}") from None


def all_methods() -> list[Method]:
    """Every method, by name."""
    for homes in HOMES.values():
        _load(homes)
    return [_methods[name] for name in sorted(_methods)]


def _load(homes: tuple[str, ...]) -> None:
    for home in homes:
        import_module(f"trueup.daemon._methods.{home}")
