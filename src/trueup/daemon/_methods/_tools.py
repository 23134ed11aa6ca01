"""The tools of a client: what it can do when it is asked."""

from __future__ import annotations

from msgspec import Struct

from trueup.core.errors import InputError

from .._errors import Code, RpcError
from .._method import Call, method
from .._proposals import ToolInfo, ToolSpec

# Clients tell by it what a daemon brings from what was registered here.
SOURCE = "user_defined"


@method("tools.register")
async def register(call: Call, params: list[ToolSpec]) -> int:
    """Register tools, all or none; how many. A name that is registered again is replaced."""
    try:
        return call.connection.tools.register(params, source=SOURCE)
    except InputError as error:
        raise RpcError(Code.INVALID_PARAMS, f"invalid params: {error}") from None


class Nothing(Struct, frozen=True):
    """No parameters."""


class ListedTools(Struct, frozen=True):
    """Tools, by name."""

    tools: list[ToolInfo]
    count: int


@method("tools.list")
async def list_tools(call: Call, params: Nothing) -> ListedTools:
    """List the tools of this connection."""
    tools = call.connection.tools.list()
    return ListedTools(tools, len(tools))


class OneTool(Struct, frozen=True):
    """A tool by its name."""

    name: str


class ToolUnregistered(Struct, frozen=True):
    """How many tools were removed; none is no error."""

    unregistered: str
    removed: int


@method("tools.unregister")
async def unregister(call: Call, params: OneTool) -> ToolUnregistered:
    """Forget a tool."""
    return ToolUnregistered(params.name, int(call.connection.tools.unregister(params.name)))
