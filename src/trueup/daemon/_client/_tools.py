"""Functions as tools: described by their annotations, run when the daemon asks for them."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from trueup.core.errors import InputError, TrueupError

from .._errors import Code, RpcError
from .._ground import ToolRequest
from .._jsonrpc import Request, encode_error, encode_result
from .._proposals import ToolSpec
from ._errors import ConnectionLostError, ToolError
from ._link import Send, decoded

Function = Callable[..., Any]

# What a function that blocks is run in. Those that wait for others most often wait for the network.
MOST_THREADS = 32

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLAIN = (str, int, float, bool, type(None))


class Tool:
    """A function that can be called by name, with arguments of the types that it is annotated with."""

    def __init__(self, function: Function, name: str | None, description: str | None) -> None:
        name = str(name or getattr(function, "__name__", ""))
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        self._arguments = _arguments_of(function, name)
        about = (inspect.getdoc(function) or "") if description is None else description
        self.spec = ToolSpec(name, about, _schema_of(self._arguments, name))

    async def run(self, parameters: dict[str, Any], pool: ThreadPoolExecutor) -> Any:
        """What the function gives."""
        try:
            arguments = msgspec.convert(parameters, self._arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"tool '{self.spec.name}': {error}", terminal=True) from None
        given = {name: getattr(arguments, name) for name in self._arguments.__struct_fields__}
        if self._is_async:
            return await self._function(**given)
        context = contextvars.copy_context()
        result = await asyncio.get_running_loop().run_in_executor(pool, context.run, self._call, given)
        return await result if inspect.isawaitable(result) else result

    def _call(self, given: dict[str, Any]) -> Any:
        try:
            return self._function(**given)
        except StopIteration:
            # No future takes this one, and whoever waits would do so for ever.
            raise ToolError("StopIteration") from None


class ToolBox:
    """The tools of a client, and the calls that are under way. Any number of them go on at the same time."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._unannounced: dict[str, ToolSpec] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}
        # Starts a thread when one is needed, and not before.
        self._pool = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="trueup-tool")

    def add(self, tool: Tool) -> None:
        """Have a tool; one of the same name is replaced."""
        self._tools[tool.spec.name] = tool
        self._unannounced[tool.spec.name] = tool.spec

    def take_unannounced(self) -> list[ToolSpec]:
        """What the daemon has not been told of; it is told now."""
        specs = list(self._unannounced.values())
        self._unannounced.clear()
        return specs

    def begin(self, request: Request, send: Send) -> None:
        """Run a tool, and answer when it is done."""
        key = str(request.id)
        task = asyncio.create_task(self._answer(request, send))
        self._calls[key] = task
        task.add_done_callback(lambda _: self._calls.pop(key, None))

    def cancel(self, request_id: str) -> None:
        """Stop a call that nobody waits for any more; a function in a thread goes on, but is not heard."""
        task = self._calls.get(request_id)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Stop everything."""
        for task in tuple(self._calls.values()):
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: Request, send: Send) -> None:
        request_id = None if request.id is UNSET else request.id
        try:
            frame = encode_result(request_id, await self._run(request))
        except asyncio.CancelledError as error:
            if _is_being_cancelled():
                raise
            # Something was cancelled that the tool waited for, and not the call itself.
            frame = encode_error(request_id, _failure(error))
        # Whatever a tool raises is what it answers; the program that it belongs to goes on.
        except Exception as error:  # noqa: BLE001
            frame = encode_error(request_id, _failure(error))
        try:
            await send(frame)
        except ConnectionLostError:
            # Whoever wanted to know cannot be told.
            return

    async def _run(self, request: Request) -> Any:
        if request.method != "tools.execute":
            raise RpcError(Code.UNKNOWN_METHOD, f"unknown method: {request.method}")
        asked: ToolRequest = decoded(request.params, ToolRequest, request.method)
        tool = self._tools.get(asked.tool)
        if tool is None:
            raise ToolError(f"tool '{asked.tool}' is not registered", terminal=True)
        return await tool.run(asked.parameters, self._pool)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(error: BaseException) -> RpcError:
    if isinstance(error, RpcError):
        return error
    said = str(error) if isinstance(error, TrueupError) else f"{type(error).__name__}: {error}".rstrip(": ")
    terminal = isinstance(error, ToolError) and error.terminal
    return RpcError(Code.FAILED, said, {"terminal": True} if terminal else None)


def _arguments_of(function: Function, name: str) -> type[Struct]:
    """The parameters of a function, as a type."""
    try:
        signature = inspect.signature(function, eval_str=True)
        fields = [_field(parameter) for parameter in signature.parameters.values()]
        return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    except (TypeError, ValueError, NameError) as error:
        raise InputError(f"tool '{name}' cannot be described: {error}") from None


def _field(parameter: inspect.Parameter) -> tuple[str, Any, Any]:
    if parameter.kind not in _NAMED:
        raise TypeError(f"parameter '{parameter}' has no name to be given by")
    kind = Any if parameter.annotation is parameter.empty else parameter.annotation
    default = parameter.default
    if default is parameter.empty:
        return parameter.name, kind, msgspec.field()
    if isinstance(default, _PLAIN):
        return parameter.name, kind, msgspec.field(default=default)
    return parameter.name, kind, msgspec.field(default_factory=lambda: default)


def _schema_of(arguments: type[Struct], name: str) -> dict[str, Any]:
    try:
        schema = msgspec.json.schema(arguments)
    except (TypeError, NameError) as error:
        raise InputError(f"tool '{name}' cannot be described: {error}") from None
    others = schema["$defs"]
    own: dict[str, Any] = others.pop(schema["$ref"].rpartition("/")[2])
    return own | ({"$defs": others} if others else {})
